import type { AgentState } from "../../protocol/agents.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { MailboxOpeners } from "../mail/binding.ts";
import { type FoundAgent, openRecord } from "../sessions/find.ts";
import type { GatewayLink } from "./gateway-link.ts";
import { type ObserveDeps, observeAgent } from "./observe-agent.ts";

/** One agent as a list shows it. */
export interface Glance {
  record: RegistryRecord;
  /** Recorded as running, but its tmux session is no more. */
  gone: boolean;
  /** False when a look at it took too long; nothing is known then but what the record says. */
  answered: boolean;
  state: AgentState | null;
  gatewayBaseUrl: string | null;
  /** Unread messages of its inbox, counted to 100; null for an agent without a mailbox or with one out of reach. */
  unreadMail: number | null;
  problem: string | null;
}

export interface GlanceDeps extends ObserveDeps {
  sessionAlive: (record: RegistryRecord) => Promise<boolean>;
  openers: MailboxOpeners;
}

/** Unread messages are counted no further. */
export const mostUnread = 100;

const deadlineMs = 1500;
const atOnce = 32;

/**
 * A look at each of `records`, in their order. One agent that cannot be read or hangs never hides or delays the
 * others: it has 1.5 s, and 32 are looked at together. Never rejects.
 */
export async function glanceAtAll(deps: GlanceDeps, records: readonly RegistryRecord[]): Promise<Glance[]> {
  const glances: Glance[] = [];
  const rest = records.entries();
  async function work(): Promise<void> {
    for (const [index, record] of rest) glances[index] = await glanceAt(deps, record);
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, records.length) }, work));
  return glances;
}

/** A look at one agent, within 1.5 s. Never rejects. */
async function glanceAt(deps: GlanceDeps, record: RegistryRecord): Promise<Glance> {
  const nothing = { record, gone: false, state: null, gatewayBaseUrl: null, unreadMail: null };
  const late: Glance = { ...nothing, answered: false, problem: `no answer within ${deadlineMs / 1000} s` };
  try {
    return await within(deps.clock, deadlineMs, look(deps, record), late);
  } catch (error) {
    return { ...nothing, answered: true, problem: messageOf(error) };
  }
}

async function look(deps: GlanceDeps, record: RegistryRecord): Promise<Glance> {
  const alive = await deps.sessionAlive(record);
  const agent = openRecord(deps.files, record);
  const running = record.lifecycle.state === "active" || record.lifecycle.state === "relaunching";
  const observed = alive ? await observeAgent(deps, agent) : null;
  return {
    record,
    gone: running && !alive,
    answered: true,
    state: observed?.state ?? null,
    gatewayBaseUrl: observed?.link.state === "healthy" ? observed.link.client.baseUrl : null,
    unreadMail: await countUnread(deps, agent, observed?.link ?? null),
    problem: null,
  };
}

/** Through the gateway where one answers, since it has the mailbox open; else in the mailbox itself. */
async function countUnread(
  { openers }: GlanceDeps,
  agent: FoundAgent,
  link: GatewayLink | null,
): Promise<number | null> {
  const binding = agent.manifest.launch_plan.mailbox;
  if (!binding) return null;
  if (link?.state === "healthy") {
    const body = { box: "inbox", read_state: "unread", limit: mostUnread } as const;
    const reply = await link.client.call("mailList", { body });
    return reply.kind === "ok" ? reply.body.unread_count : null;
  }
  try {
    const opener = openers[binding.transport];
    if (!opener || opener.obstacle(binding) !== null) return null;
    const mailbox = opener.open(binding);
    try {
      const page = await mailbox.list({
        ...{ box: "inbox", readState: "unread", answeredState: "any", archived: false, limit: mostUnread },
        ...{ since: null, includeBody: false, cursor: null, query: null },
      });
      return page.messages.length;
    } finally {
      mailbox.close();
    }
  } catch {
    return null;
  }
}

async function within<T>(clock: Clock, limitMs: number, answer: Promise<T>, late: T): Promise<T> {
  const nap = new AbortController();
  try {
    return await Promise.race([answer, sleep(clock, limitMs, nap.signal).then(() => late)]);
  } finally {
    nap.abort();
  }
}
