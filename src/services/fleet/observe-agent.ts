import type { AgentLiveness, AgentState } from "../../protocol/agents.ts";
import type { Manifest } from "../../protocol/files.ts";
import type { Processes } from "../../system/processes.ts";
import { backendFacts } from "../agent/backends.ts";
import { createTurnDirectories } from "../headless/turn-directory.ts";
import { createTurnReader } from "../headless/turn-reader.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { gatewayIdentity } from "../sessions/gateway-folder.ts";
import type { LaunchTool } from "../sessions/launch-tools.ts";
import { agentPane, type Tmux, type TmuxPane } from "../terminal/tmux-command.ts";
import { type GatewayLink, type GatewayLinkDeps, linkGateway } from "./gateway-link.ts";
import { toAgentState } from "./projection.ts";

export interface ObserveDeps extends GatewayLinkDeps {
  processes: Processes;
  tmuxFor: (socket: string | undefined) => Tmux;
  tools: readonly LaunchTool[];
}

export interface Observed {
  state: AgentState;
  link: GatewayLink;
}

/**
 * One look at an agent: through its healthy gateway, else at tmux and the processes of its pane. Never rejects
 * for what it finds; rejects when tmux cannot be read.
 */
export async function observeAgent(deps: ObserveDeps, agent: FoundAgent): Promise<Observed> {
  const { manifest, manifestPath, sessionRoot } = agent;
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(deps, { sessionRoot, attachIdentity });
  const healthy = link.state === "healthy" ? link : null;
  const isHeadless = backendFacts(manifest.backend).headless;
  const terminal = healthy && !isHeadless ? await healthy.client.call("terminalState", {}) : null;
  const lifecycleState = agent.record?.lifecycle.state ?? null;
  const ended = lifecycleState === "stopped" || lifecycleState === "retired";
  const tmux = deps.tmuxFor(manifest.tmux.socket);
  const panes = await tmux.panes(manifest.tmux_session_name);
  const state = toAgentState({
    record: agent.record,
    manifest,
    manifestPath,
    sessionRoot,
    lifecycleState,
    liveness: ended ? "gone" : await livenessOf(tmux, panes),
    programPresent: await occupies(deps, manifest, panes),
    status: healthy?.status ?? null,
    terminal: terminal?.kind === "ok" ? terminal.body : null,
    ...(isHeadless ? { turns: readTurns(deps, sessionRoot) } : {}),
    diagnostics:
      link.state === "stale"
        ? [{ kind: "gateway_unreachable", message: link.why, details: { pid: String(link.instance.pid) } }]
        : [],
  });
  return { state, link };
}

/** True while the tool's program occupies the agent's own pane; a tool that no profile describes counts as there. */
export async function isProgramPresent(
  deps: Pick<ObserveDeps, "tmuxFor" | "processes" | "tools">,
  manifest: Manifest,
): Promise<boolean> {
  const tmux = deps.tmuxFor(manifest.tmux.socket);
  return occupies(deps, manifest, await tmux.panes(manifest.tmux_session_name));
}

/** A server without a session ends. */
async function livenessOf(tmux: Pick<Tmux, "sessions">, panes: readonly TmuxPane[]): Promise<AgentLiveness> {
  if (panes.length > 0) return "alive";
  return (await tmux.sessions()).length > 0 ? "gone" : "unknown";
}

async function occupies(
  deps: Pick<ObserveDeps, "processes" | "tools">,
  manifest: Manifest,
  panes: readonly TmuxPane[],
): Promise<boolean> {
  const pane = agentPane(panes, manifest.tmux.primary_pane_id ?? null);
  if (!pane || pane.dead) return false;
  // Between two turns there is no program.
  if (backendFacts(manifest.backend).headless) return true;
  const tool = deps.tools.find((one) => one.tool === manifest.tool);
  return tool === undefined || (await deps.processes.tree(pane.panePid)).some(tool.occupies);
}

/** The newest turns of a headless agent, as its directories tell them. */
export function readTurns({ files }: Pick<ObserveDeps, "files">, sessionRoot: string) {
  const reader = createTurnReader({ files, turns: createTurnDirectories({ files, sessionRoot }) });
  const newest = reader.list(2);
  return {
    active: newest.find((turn) => turn.status === "active") ?? null,
    last: newest.find((turn) => turn.status !== "active") ?? null,
  };
}
