import type { AgentState } from "../../protocol/agents.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { MailboxOpeners } from "../mail/binding.ts";
import { type FoundAgent, isRunning } from "../sessions/find.ts";
import { askEach } from "./ask-each.ts";
import { type AttentionFacts, unusableFacts } from "./attention-facts.ts";
import { type Diagnosis, diagnose } from "./diagnose.ts";
import type { KnownAgent } from "./directory.ts";
import { type AgentReading, type FleetReader, isSeen } from "./fleet-reader.ts";
import type { FleetLink } from "./links.ts";

/** One agent as a list shows it. */
export interface AgentSnapshot {
  record: RegistryRecord;
  /** Recorded as running, but its tmux session is no more. */
  gone: boolean;
  /** False when a look at it took too long; nothing is known then but what the record says. */
  answered: boolean;
  /** Null where nothing sees the agent. */
  state: AgentState | null;
  /** When the turn that runs began; null where none runs, and for one that a person typed. */
  turnSinceUtc: string | null;
  gatewayBaseUrl: string | null;
  /** Of its manifest; null where that cannot be used. */
  workingDirectory: string | null;
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

interface ListDeps {
  reader: FleetReader;
  openers: MailboxOpeners;
  clock: Clock;
}

/** Unread messages are counted no further. */
export const maxUnread = 100;

const deadlineMs = 1500;

/**
 * The agents as a list shows them, in their order. One agent that cannot be read or hangs never hides or
 * delays the others: it has 1.5 s, and 32 are looked at together. Never rejects.
 */
export function listSnapshots(deps: ListDeps, agents: readonly KnownAgent[]): Promise<AgentSnapshot[]> {
  return askEach(agents, {
    clock: deps.clock,
    eachMs: deadlineMs,
    ask: (agent) => snapshotOf(deps, agent),
    late: (agent) => ({
      ...emptySnapshot(agent),
      answered: false,
      problem: { severity: "fault", detail: `no answer within ${deadlineMs / 1000} s`, remedy: null },
    }),
  });
}

const emptySnapshot = ({ record, found }: KnownAgent): AgentSnapshot => ({
  record,
  workingDirectory: found?.manifest.working_directory ?? null,
  gone: false,
  answered: true,
  state: null,
  turnSinceUtc: null,
  gatewayBaseUrl: null,
  queueDepth: null,
  unreadMail: null,
  problem: null,
  attention: null,
});

/** Never rejects. */
async function snapshotOf({ reader, openers }: ListDeps, agent: KnownAgent): Promise<AgentSnapshot> {
  const { record, found } = agent;
  const runs = isRunning(record);
  const empty = emptySnapshot(agent);
  const judge = (facts: AttentionFacts) => ({ problem: firstProblem(facts), attention: runs ? facts : null });
  try {
    if (found === null) return { ...empty, ...judge((await reader.look(agent)).facts) };
    if (!runs) return { ...empty, ...(await listed(await reader.read(found))) };
    const { reading, facts, turnBeganAtUtc } = await reader.look(agent);
    return {
      ...empty,
      ...judge(facts),
      ...(reading && (await listed(reading))),
      gone: reading?.session.liveness === "gone",
      turnSinceUtc: turnBeganAtUtc,
    };
  } catch (error) {
    const detail = messageOf(error);
    if (error instanceof ServiceError) {
      return { ...empty, ...judge(unusableFacts(record, { state: "refused", why: detail })) };
    }
    return { ...empty, problem: { severity: "fault", detail, remedy: null } };
  }

  async function listed(reading: AgentReading) {
    const { state, gateway, status } = reading;
    return {
      state: isSeen(reading) ? state : null,
      gatewayBaseUrl: gateway.state === "live" ? gateway.client.baseUrl : null,
      queueDepth: status.admission_block?.reason.startsWith("database") ? null : status.queue_depth,
      unreadMail: found && (await countUnread(openers, found, gateway)),
    };
  }
}

/** The first cause that hinders somebody. Pure. */
function firstProblem(facts: AttentionFacts): AgentProblem | null {
  return diagnose(facts).find(({ severity }) => severity !== "notice") ?? null;
}

/** Through the gateway where one answers, since it has the mailbox open; else in the mailbox itself. */
async function countUnread(
  openers: MailboxOpeners,
  agent: FoundAgent,
  gateway: FleetLink,
): Promise<number | null> {
  const binding = agent.manifest.launch_plan.mailbox;
  if (!binding) return null;
  if (gateway.state === "live") {
    const body = { box: "inbox", read_state: "unread", limit: maxUnread } as const;
    const response = await gateway.client.call("mailList", { body });
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
