import type { AgentLiveness } from "../../protocol/agents.ts";
import type { BudgetState } from "../../protocol/budget.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import {
  type GatewayStatus,
  type RequestRecord,
  type WakesHeld,
  wasInterrupted,
} from "../../protocol/gateway.ts";
import {
  type AwaitingDecision,
  agentQuestion,
  type Parked,
  type TerminalState,
} from "../../protocol/terminal.ts";
import { parseTimestamp } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { readOfflineRequests } from "../status/project.ts";
import { isHeldByDraft, stuckOn } from "../terminal/readiness.ts";
import { tmuxAttachLine } from "../terminal/tmux/screen.ts";
import type { AgentHealth, GatewayCondition, ManifestProblem } from "./diagnose.ts";
import type { GatewayClient } from "./gateway-client.ts";

export interface FailedRequest {
  requestId: string;
  kind: RequestRecord["request_kind"];
  finishedAtUtc: string | null;
  detail: string;
  unknown: boolean;
  evidence: string[];
}

/**
 * What is known of one agent that may need a person. Holds nothing that changes while nothing happens, but
 * for a question that is being drawn: it is found at the next look.
 */
export interface AttentionFacts extends AgentHealth {
  agent: AgentHealth["agent"] & { trackedId: string; generation: string };
  /** How a person sees its terminal; null for one without a session. */
  attachLine: string | null;
  epoch: number | null;
  decision: AwaitingDecision | null;
  /** The end of the screen that shows the decision. */
  screenRows: string[];
  parked: (Parked & { sinceUtc: string }) | null;
  /** A draft in its composer keeps a prompt waiting. */
  draft: { sinceUtc: string } | null;
  failed: FailedRequest[];
  wakesHeld: WakesHeld | null;
  budget: BudgetState | null;
}

/** Of an agent whose manifest cannot be used. Pure. */
export function unusableFacts(record: RegistryRecord, problem: ManifestProblem): AttentionFacts {
  const trackedId = record.agent_id;
  const nothing = { status: null, terminal: null, programPresent: null, requests: [], nowMs: 0 };
  const gateway = { state: "none", why: "" } as const;
  return {
    ...toAttentionFacts({ record, trackedId, session: "unknown", gateway, ...nothing }),
    unusable: problem,
  };
}

/** How many of the newest requests are looked at. */
export const requestsLookedAt = 20;

/** What a look at an agent found, as facts. `status`: of the gateway, or of the disk without one. Pure. */
export function toAttentionFacts(look: {
  record: RegistryRecord;
  trackedId: string;
  session: AgentLiveness;
  sessionFault?: string | null;
  gateway: GatewayCondition;
  status: GatewayStatus | null;
  terminal: TerminalState | null;
  /** False when nobody found the program, null when nobody looked. */
  programPresent: boolean | null;
  /** Newest first. */
  requests: readonly RequestRecord[];
  nowMs: number;
}): AttentionFacts {
  const { record, status, terminal, gateway } = look;
  const session = record.terminal.current_session_name;
  const parked = terminal?.parked;
  const disconnected = gateway.state === "live" && status?.managed_agent_connectivity === "unavailable";
  const asked = agentQuestion(terminal?.awaiting_decision ?? status?.awaiting_decision);
  const decision = asked && isBeingDrawn(asked, look.nowMs) ? null : asked;
  // Where tmux does not answer nobody looked for the program.
  const sought = gateway.state !== "live" && look.session !== "unknown";
  const absent = disconnected || (sought && look.programPresent === false);
  return {
    agent: {
      id: record.agent_id,
      name: record.agent_name,
      trackedId: look.trackedId,
      generation: record.generation_id,
    },
    relaunch: record.lifecycle.relaunchable ? "possible" : "never",
    attachLine: session ? tmuxAttachLine({ session_name: session, socket: record.terminal.socket }) : null,
    unusable: null,
    session: look.session,
    sessionFault: look.sessionFault ?? null,
    programEnded: absent ? { sinceUtc: terminal?.stability.stable_since_utc ?? null } : null,
    gateway,
    epoch: status?.managed_agent_instance_epoch ?? null,
    block: status?.admission_block ?? null,
    unreconciled: status?.managed_agent_recovery === "reconciliation_required",
    queueDepth: status?.queue_depth ?? 0,
    decision,
    screenRows: decision && terminal?.awaiting_decision ? screenRowsOf(terminal) : [],
    parked: terminal && parked ? { ...parked, sinceUtc: terminal.stability.stable_since_utc } : null,
    draft:
      gateway.state === "live" && status?.waiting && terminal && isHeldByDraft(terminal)
        ? { sinceUtc: status.waiting.since_utc }
        : null,
    stuck: terminal && stuckOn(terminal),
    failed: failuresOf(look.requests),
    wakesHeld: gateway.state === "live" ? (status?.wakes_held ?? null) : null,
    budget: gateway.state === "live" ? (status?.budget ?? null) : null,
  };
}

/**
 * A dialog is drawn in pieces. Within this time a question without options that can be read may still get
 * them.
 */
const drawingMs = 1000;

/** Read in full it is another question: a person who was shown it before would look at one that is gone. */
function isBeingDrawn({ options, unread, since_utc }: AwaitingDecision, nowMs: number): boolean {
  const sinceMs = since_utc === undefined ? null : parseTimestamp(since_utc);
  return (options.length === 0 || unread !== undefined) && sinceMs !== null && nowMs - sinceMs < drawingMs;
}

function screenRowsOf({ parsed_surface: parsed }: TerminalState): string[] {
  const rows = parsed?.operator_blocked_excerpt?.split("\n") ?? [];
  // The first one may be cut.
  return rows
    .slice(rows.length > 1 ? 1 : 0)
    .map((row) => row.replace(/^[\s│┃|]+|[\s│┃|]+$/gu, ""))
    .filter((row) => /[\p{L}\p{N}]/u.test(row));
}

/**
 * Failed requests after which nobody gave new work: the person who did has seen how the earlier ended. A wake
 * of the mail notifier is repeated by the next one. Interrupts that failed stopped nothing and lost nothing.
 */
function failuresOf(requests: readonly RequestRecord[]): FailedRequest[] {
  return requests.flatMap((request, index) => {
    if (request.state !== "failed" || request.request_kind === "interrupt") return [];
    // The person or agent that ended the turn needs no report of it.
    if (wasInterrupted(request)) return [];
    // A reconciliation answers with the requests that it fails.
    if (request.started_at_utc === null && request.result_json?.["outcome"] !== "unknown") return [];
    const notice = request.request_kind === "mail_notifier_prompt";
    const over = requests
      .slice(0, index)
      .some(
        (later) =>
          (notice || later.request_kind !== "mail_notifier_prompt") &&
          later.accepted_at_utc > (request.finished_at_utc ?? request.accepted_at_utc),
      );
    if (over) return [];
    return [
      {
        requestId: request.request_id,
        kind: request.request_kind,
        finishedAtUtc: request.finished_at_utc,
        detail: request.error_detail ?? "no reason was recorded",
        unknown: request.result_json?.["outcome"] === "unknown",
        evidence: request.evidence.map(({ step, proof }) => `${step}: ${proof}`),
      },
    ];
  });
}

/**
 * The newest requests of an agent, newest first: of its gateway, or of its queue's file where none serves it.
 * Empty when they cannot be read. `client`: null without a gateway.
 */
export async function newestRequests(
  { files }: { files: Pick<Files, "exists"> },
  { sessionRoot }: { sessionRoot: string },
  client: Pick<GatewayClient, "call"> | null,
  options: { timeoutMs?: number } = {},
): Promise<RequestRecord[]> {
  if (client) {
    const response = await client.call("listRequests", { query: { limit: requestsLookedAt }, ...options });
    return response.kind === "ok" ? response.body.requests : [];
  }
  const { queue } = sessionPaths(sessionRoot);
  if (!files.exists(queue)) return [];
  try {
    return readOfflineRequests(queue, { limit: requestsLookedAt }, { why: "no gateway runs for this agent" });
  } catch {
    // The status says why the queue cannot be read.
    return [];
  }
}
