import type { AguiTargetFamily } from "../../protocol/agui.ts";
import type { Agent } from "../agent/agent.ts";
import { backendFacts } from "../agent/backends.ts";

const restBacked: readonly string[] = ["cao_rest", "svc_server_rest", "codex_app_server"];

/** How runs reach the agent. `unknown` for a backend that this version does not know. Pure. */
export function targetFamily({ turns, backend }: Pick<Agent, "turns" | "backend">): AguiTargetFamily {
  if (turns) return "headless";
  if (restBacked.includes(backend)) return "http_rest";
  return backendFacts(backend).refusal === null ? "tui" : "unknown";
}
