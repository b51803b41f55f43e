import type { NewAuditRow, NotifierMemory } from "../../db/gateway/notifier-store.ts";
import type { WakesHeld } from "../../protocol/gateway.ts";
import type {
  MailSummaryEntry,
  NotifierConfig,
  NotifierOutcome,
  NotifierTrigger,
  RenderedBlockEntry,
} from "../../protocol/notifier.ts";
import { type Clock, parseTimestamp, timestampNow } from "../../system/clock.ts";
import { sha256 } from "../../system/digest.ts";
import { messageOf } from "../../system/errors.ts";
import type { Agent } from "../agent/agent.ts";
import type { Mail, Mailbox } from "../mail/mailbox.ts";
import type { Queue } from "../queue/queue.ts";
import {
  type BeforeWake,
  type CycleDecision,
  composeWake,
  decideCycle,
  type EligibleMail,
  type GateFacts,
  loopDetail,
  parkedDetail,
  unprovedDetail,
  whyBusy,
} from "./decide.ts";
import { type Hold, rememberWake, type WakingMail } from "./wake.ts";

interface CycleDeps {
  agent: Pick<Agent, "tool" | "terminal">;
  queue: Pick<Queue, "acceptNotice">;
  openMailbox: () => Mailbox;
  gate: () => GateFacts;
  /** Whether wake-ups are still enabled: maintenance of the context takes time. */
  enabled: () => boolean;
  /** Null when it was done, else why not. */
  tend: (action: BeforeWake) => Promise<string | null>;
  /** Where the agent reaches this gateway. */
  baseUrl: () => string;
  skillInstalled: () => boolean;
  clock: Clock;
  /** When the agent was woken, RFC 3339, newest first, at most `limit`. */
  newestWakes: (limit: number) => string[];
}

/** What one poll came to, before it is written down. */
interface Act {
  outcome: NotifierOutcome;
  detail: string | null;
  contextActions: string[];
  requestId: string | null;
  blocks: RenderedBlockEntry[];
  promptChars: number;
}

export interface CycleResult {
  row: NewAuditRow;
  /** What is to be remembered of it. */
  memory: NotifierMemory;
  /** What held a wake-up back; null when nothing did. */
  hold: Hold | null;
  /** The limit that keeps mail from waking the agent. */
  limit: Pick<WakesHeld, "reason" | "detail"> | null;
}

/**
 * One poll: gathers what is known, decides and does it. Whatever goes wrong is a row too. Source: contract
 * 2.6; spec/gateway.md 2.6 "Cycle".
 */
export async function runCycle(
  deps: CycleDeps,
  facts: { trigger: NotifierTrigger; config: NotifierConfig; memory: NotifierMemory },
): Promise<CycleResult> {
  const { clock } = deps;
  const { trigger, config, memory } = facts;
  const polledAtUtc = timestampNow(clock);
  const mail = await eligibleMail(deps.openMailbox, config);
  const gate = deps.gate();
  const degraded = degradedContext(deps.agent);
  const decision = decideCycle({
    config,
    mail,
    gate,
    degraded,
    nowMs: clock.nowMs(),
    lastNotificationMs: memory.lastNotificationAtUtc ? parseTimestamp(memory.lastNotificationAtUtc) : null,
    notified: memory.notified,
    wakesMs: newestWakesMs(deps, config.max_wakes_per_hour),
  });
  const act = await perform(deps, { decision, config, mail, degraded: degraded !== null });
  const digest = mail.listed ? mail.digest : null;
  const row: NewAuditRow = {
    poll_time_utc: polledAtUtc,
    trigger,
    outcome: act.outcome,
    detail: act.detail ?? leftOut(mail, config),
    unread_count: mail.listed ? mail.messages.length : null,
    unread_digest: digest,
    unread_summary: mail.listed ? summaryOf(mail.messages) : [],
    request_admission: gate.admission,
    active_execution: gate.execution,
    queue_depth: gate.queueDepth,
    enqueued_request_id: act.requestId,
    context_error_policy: config.context_error_policy,
    pre_notification_context_action: config.pre_notification_context_action,
    context_action_outcome: act.contextActions.length > 0 ? act.contextActions.join(",") : null,
    degraded_tool_name: degraded?.tool ?? null,
    degraded_error_type: degraded?.errorType ?? null,
    rendered_block_entries: act.blocks,
    prompt_chars: act.promptChars,
  };
  const hold = decision.outcome === "wake_held" ? decision.hold : null;
  const next = remember(memory, row, mail.listed ? mail.messages : []);
  return { row, memory: next, hold, limit: limitOf(hold, mail, config) };
}

/** A limit that a person should know of. */
function limitOf(
  hold: Hold | null,
  mail: EligibleMail,
  { max_hops }: NotifierConfig,
): Pick<WakesHeld, "reason" | "detail"> | null {
  if (hold?.reason === "max_wakes_per_hour") return { reason: hold.reason, detail: hold.why };
  if (!mail.listed) return null;
  if (mail.unproved.length > 0) {
    return { reason: "require_attestation", detail: unprovedDetail(mail.unproved) };
  }
  return mail.looping > 0 ? { reason: "max_hops", detail: loopDetail(mail.looping, max_hops) } : null;
}

function newestWakesMs({ newestWakes }: CycleDeps, limit: number): number[] {
  return limit === 0 ? [] : newestWakes(limit).flatMap((text) => parseTimestamp(text) ?? []);
}

async function perform(
  deps: CycleDeps,
  facts: { decision: CycleDecision; config: NotifierConfig; mail: EligibleMail; degraded: boolean },
): Promise<Act> {
  const { decision, config, mail } = facts;
  const act: Act = {
    outcome: decision.outcome === "wake" ? "enqueued" : decision.outcome,
    detail: "detail" in decision ? decision.detail : null,
    contextActions: [],
    requestId: null,
    blocks: [],
    promptChars: 0,
  };
  if (decision.outcome !== "wake" || !mail.listed) return act;
  try {
    for (const action of decision.before) {
      const problem = await deps.tend(action);
      const { name, failure } = contextWords[action];
      act.contextActions.push(`${name}_${problem === null ? "completed" : "failed"}`);
      if (problem !== null) return { ...act, outcome: failure, detail: problem };
    }
    if (facts.degraded && !decision.before.includes("new_chat")) {
      act.contextActions.push("degraded_context_continued");
    }
    if (!deps.enabled()) return { ...act, outcome: "wake_held", detail: "disabled meanwhile" };
    // Maintenance of the context takes its time, and nothing held the agent meanwhile.
    const busy = decision.before.length > 0 ? whyBusy(deps.gate()) : null;
    if (busy !== null) return { ...act, outcome: "busy_skip", detail: busy };
    const { prompt, blocks } = composeWake({
      config,
      eligible: mail.messages,
      more: mail.more,
      address: mail.address,
      baseUrl: deps.baseUrl(),
      tool: deps.agent.tool,
      skillInstalled: deps.skillInstalled(),
    });
    const { request_id } = await deps.queue.acceptNotice(prompt);
    return { ...act, requestId: request_id, blocks, promptChars: prompt.length };
  } catch (error) {
    return { ...act, outcome: "poll_error", detail: messageOf(error) };
  }
}

const contextWords = {
  compact: { name: "pre_notification_compact", failure: "pre_notification_context_error" },
  new_chat: { name: "clear_context", failure: "context_recovery_error" },
} as const satisfies Record<BeforeWake, { name: string; failure: NotifierOutcome }>;

const failures: readonly NotifierOutcome[] = [
  "poll_error",
  "pre_notification_context_error",
  "context_recovery_error",
];

/** What is remembered after a poll that came to `row`. */
function remember(memory: NotifierMemory, row: NewAuditRow, mail: readonly WakingMail[]): NotifierMemory {
  const next = {
    ...memory,
    lastPollAtUtc: row.poll_time_utc,
    lastError: failures.includes(row.outcome) ? row.detail : null,
  };
  if (row.outcome !== "enqueued") return next;
  return {
    ...next,
    lastNotificationAtUtc: row.poll_time_utc,
    notified: rememberWake(mail, memory.notified, row.poll_time_utc),
  };
}

/** What a poll did not look at, although it is there. */
function leftOut(mail: EligibleMail, config: NotifierConfig): string | null {
  if (!mail.listed) return null;
  const { unreadable, more, messages } = mail;
  const parked = parkedDetail(mail, config);
  const parts = [
    ...(parked === null ? [] : [parked]),
    ...(unreadable > 0
      ? [`${unreadable} message(s) left out, their files are missing: a repair of the mailboxes says which`]
      : []),
    ...(more ? [`only the newest ${messages.length + unreadable} were looked at, there are more`] : []),
  ];
  return parts.length > 0 ? parts.join("; ") : null;
}

function degradedContext(agent: CycleDeps["agent"]): { tool: string; errorType: string } | null {
  const diagnostic = agent.terminal?.state()?.chat_context_diagnostic ?? null;
  return diagnostic && { tool: agent.tool, errorType: diagnostic.degraded_error_type };
}

/** A poll reads at most this many of the newest; an inbox with more is reported as such. */
const maxListed = 1000;
/** An audit row lists at most this many of the oldest; its count is of all. */
const maxSummed = 50;

type EligibilityConfig = Pick<NotifierConfig, "mode" | "max_hops" | "require_attestation">;

/**
 * The unarchived inbox mail that counts under `mode`, oldest first, with the sha256 of its sorted references.
 * What has lost its content, has too many hops or is not proved is counted apart: it would wake the agent for
 * ever. Never rejects: a mailbox that cannot be opened or read gives an error. Source: contract 2.6, 4.1
 * notifier rule 3.
 */
export async function eligibleMail(
  open: () => Mailbox,
  { mode, max_hops, require_attestation: required }: EligibilityConfig,
): Promise<EligibleMail> {
  try {
    const mailbox = open();
    const page = await mailbox.list({
      box: "inbox",
      readState: mode === "unread_only" ? "unread" : "any",
      answeredState: "any",
      archived: false,
      limit: maxListed,
      since: null,
      includeBody: false,
      cursor: null,
      query: null,
      onlyReadable: true,
    });
    const loops = ({ hops = 0 }: Mail) => max_hops > 0 && hops >= max_hops;
    const isUnproved = ({ attestation }: Mail) => required === "verified" && attestation !== "verified";
    const answerable = page.messages.filter((one) => !loops(one)).sort(byAge);
    const unproved = answerable.filter(isUnproved);
    const messages = answerable.filter((one) => !isUnproved(one));
    const refs = messages.map((message) => message.message_ref).sort();
    return {
      listed: true,
      address: mailbox.address,
      messages,
      more: page.nextCursor !== null,
      unreadable: page.unreadable ?? 0,
      looping: page.messages.length - answerable.length,
      unproved,
      digest: sha256(refs.join("\n")),
    };
  } catch (error) {
    return { listed: false, error: messageOf(error) };
  }
}

function summaryOf(messages: readonly Mail[]): MailSummaryEntry[] {
  return messages.slice(0, maxSummed).map(({ message_ref, thread_ref, created_at_utc, subject }) => ({
    message_ref,
    thread_ref,
    created_at_utc,
    subject,
  }));
}

function byAge(left: Mail, right: Mail): number {
  return compare(left.created_at_utc, right.created_at_utc) || compare(left.message_ref, right.message_ref);
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
