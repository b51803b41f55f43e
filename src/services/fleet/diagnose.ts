import type { AgentLiveness } from "../../protocol/agents.ts";
import type { AdmissionBlock, PromptRefusalCode } from "../../protocol/gateway.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { assertNever } from "../../system/errors.ts";

/**
 * `silent`: its process lives and does not answer; `dead`: its record names a process that is gone; `none`:
 * no record names one.
 */
export interface GatewayCondition {
  state: "live" | "silent" | "dead" | "none";
  why: string;
  /** The silent process, where it is proved to be this agent's gateway. */
  pid?: number | null;
}

/** Why a manifest cannot be used. */
export interface ManifestProblem {
  /** `refused`: what it says, or its place, is wrong; `unreadable`: nobody could read it now. */
  state: "refused" | "unreadable";
  why: string;
}

/** What decides whether an agent can work. */
export interface AgentHealth {
  agent: { id: string; name: string };
  /** Why the agent cannot be opened at all. */
  unusable: ManifestProblem | null;
  /** `stopped`: somebody ended the agent. */
  session: AgentLiveness | "stopped";
  /** Why `session` is unknown. */
  sessionFault?: string | null;
  /** The tool's program is gone from its pane. */
  programEnded: { sinceUtc: string | null } | null;
  /** `joined`: nobody recorded how it is started; `never`: its record says so. */
  relaunch: "possible" | "joined" | "never";
  gateway: GatewayCondition;
  block: AdmissionBlock | null;
  /** Its queue holds requests for an earlier instance. */
  unreconciled: boolean;
  queueDepth: number;
  stuck: { facts: string[]; since: string } | null;
}

export type Problem =
  | "unusable"
  | "unreadable"
  | "stopped"
  | "session_gone"
  | "program_ended"
  | "session_unknown"
  | "gateway_silent"
  | "gateway_dead"
  | "gateway_missing"
  | "queue_unusable"
  | "queue_closed"
  | "stuck";

/**
 * `damage`: a file or the disk; `fault`: it cannot work; `notice`: it takes no work, and nobody waits for
 * that.
 */
type Severity = "damage" | "fault" | "notice";

export interface Diagnosis {
  problem: Problem;
  severity: Severity;
  /** A clause about the agent, such as "its tmux session is gone". */
  detail: string;
  remedy: Remedy;
}

/**
 * What keeps an agent from work, the first cause first; empty when nothing does. A cause hides what follows
 * from it. In this order:
 *
 * 1. Its manifest is refused: it can only be ended. One that nobody could read says nothing about the agent.
 * 2. It was stopped, its session is gone, or its program has ended: start it again. A live gateway that sees
 *    the program outweighs an absent session.
 * 3. Its tmux server does not answer: that says nothing about one agent, so nothing is ended or removed.
 * 4. A file that it needs or the disk is damaged: the next gateway takes no work either. A program that ended
 *    comes behind that, since it may be the cause.
 * 5. Its gateway is silent, dead or missing. Only a silent one that is proved to be its gateway is ended.
 * 6. Its queue holds requests for an earlier instance.
 * 7. It takes no prompt and nothing moves.
 *
 * Pure.
 */
export function diagnose(health: AgentHealth): Diagnosis[] {
  const absence = diagnoseAbsence(health);
  const queue = diagnoseQueue(health);
  if (absence) {
    const hasDamage = absence.problem === "program_ended" && queue?.severity === "damage";
    return hasDamage ? [queue, absence] : [absence];
  }
  const gateway = diagnoseGateway(health);
  const screen = diagnoseScreen(health);
  const hidesQueue = gateway?.severity === "fault" && gateway.problem !== "gateway_dead";
  const findings =
    queue?.severity === "damage" ? [queue, gateway, screen] : [gateway, hidesQueue ? null : queue, screen];
  return findings.filter((one) => one !== null);
}

/** What can be done after a refused direct prompt; null where the prompt itself is wrong. Pure. */
export function remedyOfRefusal(code: PromptRefusalCode, agent_name: string): Remedy | null {
  switch (code) {
    case "not_ready":
    case "pending_input":
    case "pending_input_unknown":
      return { code: "await_turn", agent_name };
    case "awaiting_decision":
      return { code: "answer_question", agent_name };
    case "blocked_reconciliation":
      return { code: "reconcile_queue", agent_name };
    case "unavailable":
      return { code: "relaunch_agent", agent_name };
    case "tracking_unavailable":
    case "dispatch_failed":
      return { code: "show_screen", agent_name };
    case "missing_current_chat_session":
    case "unsupported_backend":
      return { code: "queue_prompt", agent_name };
    case "invalid_chat_session":
    case "invalid_admission_policy":
    case "invalid_execution":
      return null;
    default:
      return assertNever(code);
  }
}

/** The agent does not run, or nobody can say whether it does. */
function diagnoseAbsence(health: AgentHealth): Diagnosis | null {
  const { agent, unusable, session, programEnded, gateway } = health;
  const { name: agent_name } = agent;
  if (unusable !== null) {
    const detail = `it cannot be opened: ${unusable.why}`;
    return unusable.state === "refused"
      ? { problem: "unusable", severity: "damage", detail, remedy: { code: "stop_agent", agent_name } }
      : { problem: "unreadable", severity: "fault", detail, remedy: { code: "run_doctor" } };
  }
  const remedy = remedyOfAbsence(health);
  if (session === "stopped")
    return { problem: "stopped", severity: "fault", detail: "it was stopped", remedy };
  // The gateway sees the pane.
  if (gateway.state === "live" && !programEnded) return null;
  if (session === "gone")
    return { problem: "session_gone", severity: "fault", detail: "its tmux session is gone", remedy };
  if (programEnded)
    return { problem: "program_ended", severity: "fault", detail: "its program has ended", remedy };
  if (session === "alive") return null;
  return {
    problem: "session_unknown",
    severity: "fault",
    detail: health.sessionFault ?? "its tmux server does not answer",
    remedy: { code: "run_doctor" },
  };
}

function remedyOfAbsence({ agent, relaunch }: Pick<AgentHealth, "agent" | "relaunch">): Remedy {
  const { name: agent_name } = agent;
  switch (relaunch) {
    case "possible":
      return { code: "relaunch_agent", agent_name };
    case "joined":
      return { code: "rejoin_agent", agent_name };
    case "never":
      return { code: "cleanup_agent", agent_name };
    default:
      return assertNever(relaunch);
  }
}

function diagnoseGateway({ agent, gateway, queueDepth }: AgentHealth): Diagnosis | null {
  const { name: agent_name } = agent;
  const attach: Remedy = { code: "attach_gateway", agent_name };
  switch (gateway.state) {
    case "live":
      return null;
    case "silent": {
      const { pid = null } = gateway;
      const detail =
        pid === null ? "its gateway does not answer" : `process ${pid} is its gateway and does not answer`;
      // A busy machine looks the same for a while. The lock of a process that lives keeps a second one out.
      const remedy: Remedy = pid === null ? { code: "run_doctor" } : { code: "replace_gateway", agent_name };
      return { problem: "gateway_silent", severity: "fault", detail, remedy };
    }
    case "dead":
      return { problem: "gateway_dead", severity: "fault", detail: "its gateway has died", remedy: attach };
    case "none": {
      const waiting = queueDepth === 1 ? "1 request waits" : `${queueDepth} requests wait`;
      return queueDepth === 0
        ? {
            problem: "gateway_missing",
            severity: "notice",
            detail: "no gateway serves it: it takes no work",
            remedy: attach,
          }
        : {
            problem: "gateway_missing",
            severity: "fault",
            detail: `${waiting} and no gateway runs`,
            remedy: attach,
          };
    }
    default:
      return assertNever(gateway.state);
  }
}

function diagnoseQueue({ agent, block, gateway, unreconciled }: AgentHealth): Diagnosis | null {
  const { name: agent_name } = agent;
  switch (block?.reason) {
    case undefined:
    case "reconciliation_required":
      break;
    case "agent_unavailable":
    case "gateway_unreachable":
      return null;
    default:
      return {
        problem: "queue_unusable",
        severity: "damage",
        detail: block?.detail ?? "",
        remedy: { code: "run_doctor" },
      };
  }
  if (!unreconciled) return null;
  return {
    problem: "queue_closed",
    severity: "fault",
    detail: "it is a new instance and its queue is closed",
    remedy:
      gateway.state === "live"
        ? { code: "reconcile_queue", agent_name }
        : { code: "attach_and_reconcile", agent_name },
  };
}

function diagnoseScreen({ agent, stuck }: AgentHealth): Diagnosis | null {
  if (!stuck) return null;
  return {
    problem: "stuck",
    severity: "fault",
    detail: `it is stuck: ${stuckText(stuck)}`,
    remedy: { code: "explain_screen", agent_name: agent.name },
  };
}

/** What keeps a stuck agent from taking a prompt, and since when. Pure. */
export function stuckText({ since, facts }: NonNullable<AgentHealth["stuck"]>): string {
  return `it takes no prompt and nothing has moved since ${since}: ${facts.join(", ")}`;
}
