import type { AgentState } from "../../protocol/agents.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import type { RequestRecord } from "../../protocol/gateway.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { MailboxOpeners } from "../mail/binding.ts";
import { type FoundAgent, isRunning, openRecord } from "../sessions/find.ts";
import { gatewayIdentity } from "../sessions/manifest.ts";
import { judgingFoldersOnce } from "../sessions/trust.ts";
import { type ObserveDeps, observeAgent } from "./agent-reader.ts";
import { askEach } from "./ask-each.ts";
import {
  type AttentionFacts,
  newestRequests,
  requestsLookedAt,
  toAttentionFacts,
  unusableFacts,
} from "./attention-facts.ts";
import { type AgentHealth, type Diagnosis, diagnose, type GatewayCondition } from "./diagnose.ts";
import { claimOf, type GatewayLink, linkedStatus, readGateway } from "./gateway-link.ts";
import { recordedProcessLives } from "./listener-proof.ts";
import { trackedAgentId } from "./projection.ts";

/** One agent as a list shows it. */
export interface AgentSnapshot {
  record: RegistryRecord;
  /** Recorded as running, but its tmux session is no more. */
  gone: boolean;
  /** False when a look at it took too long; nothing is known then but what the record says. */
  answered: boolean;
  state: AgentState | null;
  /** When the turn that runs began; null where none runs, and for one that a person typed. */
  turnSinceUtc: string | null;
  gatewayBaseUrl: string | null;
  /** Requests accepted or running, by the gateway or, without one, by its file; null where it is unknown. */
  queueDepth: number | null;
  /**
   * Unread messages of its inbox, counted to 100; null for an agent without a mailbox or with one out of
   * reach.
   */
  unreadMail: number | null;
  /** What keeps it from working; null when nothing is known to. */
  problem: AgentProblem | null;
  /** Null for an agent that does not run, and for one that did not answer. */
  attention: AttentionFacts | null;
}

/** The first cause, and what can be done; null where waiting is all. */
export type AgentProblem = Pick<Diagnosis, "severity" | "detail"> & { remedy: Remedy | null };

export interface SnapshotDeps extends ObserveDeps {
  sessionAlive: (record: RegistryRecord) => Promise<boolean>;
  openers: MailboxOpeners;
}

/** Unread messages are counted no further. */
export const maxUnread = 100;

const deadlineMs = 1500;

/**
 * A look at each of `records`, in their order. One agent that cannot be read or hangs never hides or delays
 * the others: it has 1.5 s, and 32 are looked at together. Never rejects.
 */
export async function snapshotAgents(
  deps: SnapshotDeps,
  records: readonly RegistryRecord[],
): Promise<AgentSnapshot[]> {
  const looking = { ...deps, files: judgingFoldersOnce(deps.files) };
  return askEach(records, {
    clock: deps.clock,
    eachMs: deadlineMs,
    ask: (record) => snapshotAgent(looking, record),
    late: (record) => ({
      ...emptySnapshot(record),
      answered: false,
      problem: { severity: "fault", detail: `no answer within ${deadlineMs / 1000} s`, remedy: null },
    }),
  });
}

const emptySnapshot = (record: RegistryRecord) => ({
  record,
  gone: false,
  state: null,
  turnSinceUtc: null,
  gatewayBaseUrl: null,
  queueDepth: null,
  unreadMail: null,
  attention: null,
});

/** A look at one agent. Never rejects. */
async function snapshotAgent(deps: SnapshotDeps, record: RegistryRecord): Promise<AgentSnapshot> {
  try {
    return await look(deps, record);
  } catch (error) {
    const detail = messageOf(error);
    if (!(error instanceof ServiceError))
      return {
        ...emptySnapshot(record),
        answered: true,
        problem: { severity: "fault", detail, remedy: null },
      };
    const facts = unusableFacts(record, detail);
    return {
      ...emptySnapshot(record),
      answered: true,
      problem: firstProblem(facts),
      attention: isRunning(record) ? facts : null,
    };
  }
}

/** The first cause that hinders somebody. Pure. */
function firstProblem(health: AgentHealth): AgentProblem | null {
  return diagnose(health).find(({ severity }) => severity !== "notice") ?? null;
}

async function look(deps: SnapshotDeps, record: RegistryRecord): Promise<AgentSnapshot> {
  const { liveness, fault } = await deps.sessionAlive(record).then(
    (alive) => ({ liveness: alive ? ("alive" as const) : ("gone" as const), fault: null }),
    (error: unknown) => ({ liveness: "unknown" as const, fault: messageOf(error) }),
  );
  const agent = openRecord(deps.files, record);
  const { manifest, sessionRoot } = agent;
  const running = isRunning(record);
  // A gateway outlives the tmux server of its agent.
  const { attachIdentity } = gatewayIdentity(manifest);
  const read = await readGateway(deps, { sessionRoot, attachIdentity }, { limit: requestsLookedAt });
  const { link, snapshot } = read;
  // A live gateway sees the pane, also where tmux does not answer us.
  const isSeen = liveness === "alive" || (liveness === "unknown" && link.state === "healthy");
  const observed = isSeen ? await observeAgent(deps, agent, read) : null;
  const status = linkedStatus(deps, agent, link);
  const gone = running && liveness === "gone";
  const state = observed?.state ?? null;
  const [unreadMail, attention] = await Promise.all([
    countUnread(deps, agent, link),
    running ? attentionOf() : null,
  ]);
  return {
    record,
    gone,
    answered: true,
    state,
    turnSinceUtc: state?.turn.phase === "active" ? turnStartOf(snapshot?.requests ?? []) : null,
    gatewayBaseUrl: link.state === "healthy" ? link.client.baseUrl : null,
    queueDepth: status.admission_block?.reason.startsWith("database") ? null : status.queue_depth,
    unreadMail,
    problem: attention && firstProblem(attention),
    attention,
  };

  async function attentionOf(): Promise<AttentionFacts> {
    return toAttentionFacts({
      record,
      status,
      trackedId: trackedAgentId(manifest),
      session: liveness,
      sessionFault: fault,
      gateway: conditionOf(deps, link),
      terminal: observed?.terminal ?? null,
      programPresent: state && state.availability !== "unavailable",
      nowMs: deps.clock.nowMs(),
      requests: snapshot
        ? snapshot.requests
        : await newestRequests(deps, agent, link.state === "healthy" ? link.client : null),
    });
  }
}

/** When the turn of the newest prompt began, unless it has ended. `requests`: newest first. Pure. */
export function turnStartOf(requests: readonly RequestRecord[]): string | null {
  for (const { request_kind: kind, evidence } of requests) {
    const step = kind === "interrupt" ? undefined : evidence.findLast(({ step }) => step.startsWith("turn_"));
    if (step) return step.step === "turn_started" ? step.at_utc : null;
  }
  return null;
}

function conditionOf({ processes }: SnapshotDeps, link: GatewayLink): GatewayCondition {
  switch (link.state) {
    case "healthy":
      return { state: "live", why: "" };
    case "absent":
      return { state: "none", why: link.why };
    case "stale":
      return {
        state: recordedProcessLives(processes, claimOf(link.instance)) ? "silent" : "dead",
        why: link.why,
      };
  }
}

/** Through the gateway where one answers, since it has the mailbox open; else in the mailbox itself. */
async function countUnread(
  { openers }: SnapshotDeps,
  agent: FoundAgent,
  link: GatewayLink,
): Promise<number | null> {
  const binding = agent.manifest.launch_plan.mailbox;
  if (!binding) return null;
  if (link.state === "healthy") {
    const body = { box: "inbox", read_state: "unread", limit: maxUnread } as const;
    const response = await link.client.call("mailList", { body });
    return response.kind === "ok" ? response.body.unread_count : null;
  }
  try {
    const opener = openers[binding.transport];
    if (!opener || opener.obstacle(binding) !== null) return null;
    const mailbox = opener.open(binding);
    try {
      const page = await mailbox.list({
        box: "inbox",
        readState: "unread",
        answeredState: "any",
        archived: false,
        limit: maxUnread,
        since: null,
        includeBody: false,
        cursor: null,
        query: null,
      });
      return page.messages.length;
    } finally {
      mailbox.close();
    }
  } catch {
    return null;
  }
}
