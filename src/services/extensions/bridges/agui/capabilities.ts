import type { AguiCapabilities, AguiTargetFamily } from "../../../../protocol/agui.ts";
import type { GatewayStatus } from "../../../../protocol/gateway.ts";
import type { Agent } from "../../../agent/agent.ts";
import { backendFacts } from "../../../agent/backends.ts";

/** The capabilities of this gateway; a GUI may not expect any other. Pure. Source: spec/mailbox-agui.md C. */
export function toCapabilities(facts: {
  status: GatewayStatus;
  family: AguiTargetFamily;
  tool: string;
}): AguiCapabilities {
  const { status, family, tool } = facts;
  const svc: AguiCapabilities["svc"] = {
    schemaVersion: 1,
    agentLifecycleManagedByGui: false,
    lifecycleBoundary: "a GUI attaches, submits runs and detaches; it neither starts nor stops the agent",
    replaySupport: "current_snapshot_only",
    connectStreamKeepalive: "sse_comment_heartbeat",
    features: {
      httpSse: true,
      guiConnect: true,
      textInputParsing: true,
      stateSnapshots: true,
      taskRunSubmission: family === "headless" || family === "tui",
      stateDeltas: false,
      frontendToolExecution: false,
      generatedGraphics: false,
      openGenerativeUi: false,
      multimodalInput: false,
    },
    gateway: {
      attachIdentity: status.attach_identity,
      backend: status.backend,
      targetTransportFamily: family,
      activeExecution: status.active_execution,
    },
  };
  return {
    capabilities: {
      identity: {
        name: "svc-gateway",
        type: "svc.gateway",
        provider: "svc",
        metadata: { tool, backend: status.backend, attachIdentity: status.attach_identity },
      },
      transport: {
        streaming: true,
        websocket: false,
        httpBinary: false,
        pushNotifications: false,
        resumable: false,
      },
      tools: { supported: false, items: [], parallelCalls: false, clientProvided: false },
      output: { structuredOutput: false, supportedMimeTypes: ["text/plain"] },
      state: { snapshots: true, deltas: false, memory: false, persistentState: true },
      multimodal: {
        input: { image: false, audio: false, video: false, pdf: false, file: false },
        output: { image: false, audio: false },
      },
      execution: { codeExecution: false, sandboxed: false },
      humanInTheLoop: { supported: false, approvals: false, interventions: false, feedback: false },
      custom: { svc },
    },
    svc,
  };
}

const restBacked: readonly string[] = ["cao_rest", "svc_server_rest", "codex_app_server"];

/** How runs reach the agent. `unknown` for a backend that this version does not know. Pure. */
export function targetFamily({ turns, backend }: Pick<Agent, "turns" | "backend">): AguiTargetFamily {
  if (turns) return "headless";
  if (restBacked.includes(backend)) return "http_rest";
  return backendFacts(backend).refusal === null ? "tui" : "unknown";
}
