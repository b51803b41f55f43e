import { Value } from "@sinclair/typebox/value";
import type { GatewayStatus, PromptRefusalCode } from "../../protocol/gateway.ts";
import { ErrorBody } from "../../protocol/wire.ts";
import type { GatewayClient } from "../../services/fleet/gateway-client.ts";
import { isGatewayProcess } from "../../services/fleet/gateway-link.ts";
import type { FoundAgent } from "../../services/sessions/find.ts";
import { isRelaunchable } from "../../services/sessions/record.ts";
import { openSessionFolder } from "../../services/sessions/session-folder.ts";
import { assertNever } from "../../system/errors.ts";
import type { CliContext } from "../command-line/cli-context.ts";

/** What is known of an agent that no healthy gateway serves. */
export interface UnservedAgent {
  /** `gone`: its tmux session does not exist although nobody stopped it. */
  lifecycle: "running" | "stopped" | "gone";
  /** `joined`: its launch arguments are unknown; `never`: its record says so. */
  relaunch: "possible" | "joined" | "never";
  /** Process id of its gateway, which runs and does not answer; null when there is none. */
  silentGateway: number | null;
}

/** The first step that leads to a healthy gateway, and the message for a person. */
export interface RecoveryAdvice {
  step: "attach" | "detach" | "relaunch" | "join" | "cleanup";
  /** Whole sentences with the exact command. */
  advice: string;
}

/** `commandPrefix`: the command line up to the agent. Pure. */
export function chooseRecoveryAdvice(
  agent: UnservedAgent & { name: string; session: string },
  commandPrefix: string,
): RecoveryAdvice {
  const { lifecycle, relaunch, silentGateway: pid } = agent;
  if (lifecycle === "running") {
    const attach = `${commandPrefix} gateway attach`;
    if (pid === null) return { step: "attach", advice: `Start one with: ${attach}` };
    // It holds the queue lock, so a second gateway cannot start.
    const advice = `Process ${pid} is its gateway and does not answer. End it with: ${commandPrefix} gateway detach`;
    return { step: "detach", advice: `${advice}, then start one with: ${attach}` };
  }
  const why = lifecycle === "stopped" ? "The agent was stopped" : `Its tmux session ${agent.session} is gone`;
  switch (relaunch) {
    case "possible":
      return { step: "relaunch", advice: `${why}. Start the agent again with: ${commandPrefix} relaunch` };
    case "joined": {
      const join = `svc-mgr agents self join --agent-name ${agent.name}`;
      const advice = `${why}, and its launch command is not recorded. Start it in a tmux session, and there: ${join}`;
      return { step: "join", advice };
    }
    case "never":
      return {
        step: "cleanup",
        advice: `${why} and cannot be launched again. Remove what it left with: ${commandPrefix} cleanup`,
      };
  }
}

/**
 * Advice after no healthy gateway was found. Asks tmux and the process table, not the gateway, which may be
 * frozen. When they do not answer, the agent counts as running: starting a gateway then reports the reason.
 * Never rejects.
 */
export async function findRecoveryAdvice(target: {
  context: Pick<CliContext, "files" | "processes" | "tmuxFor">;
  agent: FoundAgent;
  commandPrefix: string;
}): Promise<RecoveryAdvice> {
  const { context, agent, commandPrefix } = target;
  const { manifest, record, sessionRoot } = agent;
  const { agent_name: name, tmux_session_name: session } = manifest;
  const tmux = context.tmuxFor(manifest.tmux.socket);
  const state = record?.lifecycle.state;
  const ended = state === "stopped" || state === "retired";
  const lifecycle = ended
    ? "stopped"
    : (await tmux.hasSession(session).catch(() => true))
      ? "running"
      : "gone";
  const never = record?.lifecycle.relaunchable === false;
  const relaunch = !isRelaunchable(manifest) ? "joined" : never ? "never" : "possible";
  const instance = openSessionFolder(context.files, sessionRoot).readCurrentInstance();
  const placed = { sessionRoot, session };
  const silent =
    instance !== null && (await isGatewayProcess({ ...context, tmux }, placed, instance).catch(() => false));
  const silentGateway = silent ? instance.pid : null;
  return chooseRecoveryAdvice({ lifecycle, relaunch, silentGateway, name, session }, commandPrefix);
}

/**
 * The next step after a refused direct prompt, or null. `commandPrefix`: the command line up to the agent.
 * Pure.
 */
export function stepAfterRefusal(code: PromptRefusalCode, commandPrefix: string): string | null {
  switch (code) {
    case "not_ready":
    case "pending_input":
    case "pending_input_unknown":
      return `Let it wait its turn with: ${commandPrefix} prompt. See what waits with: ${commandPrefix} requests list`;
    case "awaiting_decision":
      return `Answer the question with: ${commandPrefix} gateway tui decide`;
    case "blocked_reconciliation":
      return `Open its queue with: ${commandPrefix} gateway reconcile`;
    case "unavailable":
      return `Start it again with: ${commandPrefix} relaunch`;
    case "tracking_unavailable":
    case "dispatch_failed":
      return `See what its terminal shows with: ${commandPrefix} gateway tui state`;
    case "missing_current_chat_session":
    case "unsupported_backend":
      return `Put it into the queue with: ${commandPrefix} prompt`;
    case "invalid_chat_session":
    case "invalid_admission_policy":
    case "invalid_execution":
      return null;
    default:
      return assertNever(code);
  }
}

/**
 * Wraps a client so that a refused request also names the next command. The refusal itself has no code for
 * the reason, so this asks for the gateway's status; only the command line knows how the agent is named on
 * it.
 */
export function adviseRefusals(client: GatewayClient, commandPrefix: string): GatewayClient {
  return {
    ...client,
    async call(name, options) {
      const response = await client.call(name, options);
      if (name !== "submitRequest" || response.kind !== "refused") return response;
      const status = await client.call("status", {});
      const step = status.kind === "ok" ? stepAfterBlocked(status.body, commandPrefix) : null;
      if (step === null || !Value.Check(ErrorBody, response.body)) return response;
      const detail = `${response.detail}. ${step}`;
      return { ...response, detail, body: { ...response.body, detail } };
    },
  };
}

/** The command that opens a blocked queue; null when the queue is open. Pure. */
export function stepAfterBlocked(
  status: Pick<GatewayStatus, "request_admission" | "admission_block">,
  commandPrefix: string,
): string | null {
  const { request_admission: admission, admission_block: block } = status;
  switch (admission) {
    case "open":
      return null;
    case "blocked_reconciliation":
      return stepAfterRefusal("blocked_reconciliation", commandPrefix);
    case "blocked_unavailable":
      // Every other block already names its remedy.
      return block && block.reason !== "agent_unavailable"
        ? null
        : stepAfterRefusal("unavailable", commandPrefix);
    default:
      return assertNever(admission);
  }
}
