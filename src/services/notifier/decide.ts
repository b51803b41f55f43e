import type { Notified } from "../../db/gateway/notifier-store.ts";
import type { ActiveExecution, RequestAdmission, WakesHeld } from "../../protocol/gateway.ts";
import type {
  NotifierConfig,
  NotifierOutcome,
  RenderedBlockEntry,
  WakeObstacle,
} from "../../protocol/notifier.ts";
import type { Readiness } from "../agent/agent.ts";
import type { Mail } from "../mail/mailbox.ts";
import { type RenderFacts, renderNotices, renderPrompt } from "./render.ts";
import { type Hold, holdOf } from "./wake.ts";

/** Whether the agent could be given a prompt this moment. */
export interface GateFacts {
  admission: RequestAdmission;
  execution: ActiveExecution;
  /** Who types into the terminal by hand; what is done to the conversation before a wake-up is typed, too. */
  typist: string | null;
  queueDepth: number;
  readiness: Readiness;
}

/** The mail that counts, or why it could not be listed. */
export type EligibleMail =
  | {
      listed: true;
      address: string;
      messages: readonly Mail[];
      /** There is more eligible mail than `messages` holds. */
      more: boolean;
      /** Messages without their content, which are not among `messages`. */
      unreadable: number;
      /** Messages to which too many replies led, which are not among `messages`. */
      looping: number;
      /**
       * Messages whose sender did not prove that it sent them, where that is required; not among `messages`.
       */
      unproved: readonly Mail[];
      digest: string;
    }
  | { listed: false; error: string };

interface CycleFacts {
  config: NotifierConfig;
  mail: EligibleMail;
  gate: GateFacts;
  /** The tool's own words that its context is damaged, when its screen shows a recognised one. */
  degraded: { tool: string; errorType: string } | null;
  nowMs: number;
  lastNotificationMs: number | null;
  notified: Notified;
  /** As of `holdOf`. */
  wakesMs: readonly number[];
}

/** What is done to the agent's context before a wake-up. */
export type BeforeWake = "compact" | "new_chat";

export type CycleDecision =
  | { outcome: Extract<NotifierOutcome, "poll_error" | "busy_skip">; detail: string }
  /** `hold`: null where each message is held back by itself. */
  | { outcome: Extract<NotifierOutcome, "wake_held">; detail: string; hold: Hold | null }
  | { outcome: "empty" }
  | { outcome: "wake"; before: BeforeWake[] };

/**
 * What one poll comes to, by everything that is known at that moment. Order: a mailbox that cannot be read,
 * nothing eligible, an agent that cannot take a prompt, a wake-up that is held back on purpose, then the
 * wake-up. Never throws. Source: contract 1.1, 2.6, 4.1; rulings 3, 13; spec/gateway.md 2.6 "Cycle".
 */
export function decideCycle(facts: CycleFacts): CycleDecision {
  const { config, mail } = facts;
  if (!mail.listed) return { outcome: "poll_error", detail: mail.error };
  if (mail.messages.length === 0) {
    const detail = parkedDetail(mail, config);
    return detail === null ? { outcome: "empty" } : { outcome: "wake_held", detail, hold: null };
  }
  const busy = whyBusy(facts.gate);
  if (busy !== null) return { outcome: "busy_skip", detail: busy };
  const hold = holdOf({ ...facts, mail: mail.messages });
  if (hold !== null) return { outcome: "wake_held", detail: hold.why, hold };
  const before: BeforeWake[] = [];
  if (config.pre_notification_context_action === "compact") before.push("compact");
  if (facts.degraded && config.context_error_policy === "clear_context") before.push("new_chat");
  return { outcome: "wake", before };
}

/** For people and the audit. */
export function loopDetail(looping: number, maxHops: number): string {
  return `max_hops=${maxHops}: ${looping} message(s) are answers to answers, perhaps of agents that answer each other`;
}

/** A detail names so many messages. */
const maxNamed = 5;

/** The same of mail that nobody proved to have sent. */
export function unprovedDetail(unproved: readonly Mail[]): string {
  const named = unproved.slice(0, maxNamed).map(({ message_ref, attestation, attestation_detail: why }) => {
    return `${message_ref} is ${attestation ?? "unsigned"}${why === undefined ? "" : ` (${why})`}`;
  });
  const more = unproved.length > maxNamed ? [`and ${unproved.length - maxNamed} more`] : [];
  return `require_attestation=verified: ${unproved.length} message(s) wake nobody: ${[...named, ...more].join("; ")}`;
}

/** Which eligible mail settings keep from waking the agent; null when none. */
export function parkedDetail(
  { looping, unproved }: Pick<Extract<EligibleMail, { listed: true }>, "looping" | "unproved">,
  { max_hops }: Pick<NotifierConfig, "max_hops">,
): string | null {
  const parts = [
    ...(looping > 0 ? [loopDetail(looping, max_hops)] : []),
    ...(unproved.length > 0 ? [unprovedDetail(unproved)] : []),
  ];
  return parts.length > 0 ? parts.join("; ") : null;
}

/**
 * Each fact that keeps the agent from being given a prompt; none when it may be. Its readiness counts when
 * nothing else does: what runs makes it busy. Pure.
 */
function gateObstacles({ admission, execution, typist, queueDepth, readiness }: GateFacts): WakeObstacle[] {
  const obstacles: WakeObstacle[] = [];
  const add = (reason: WakeObstacle["reason"], detail: string) => obstacles.push({ reason, detail });
  if (admission !== "open") add("request_admission", `request_admission=${admission}`);
  if (execution !== "idle") add("active_execution", `active_execution=${execution}`);
  if (typist !== null) add("typing_lease", `typing_lease: "${typist}" types in the terminal`);
  if (queueDepth > 0) add("queue_depth", `queue_depth=${queueDepth}`);
  if (obstacles.length === 0 && !readiness.ready) add("readiness", `${readiness.code}: ${readiness.detail}`);
  return obstacles;
}

/** Why the agent is left alone, for people and the audit; null when it may be given a prompt. */
export function whyBusy(gate: GateFacts): string | null {
  const details = gateObstacles(gate).map(({ detail }) => detail);
  return details.length > 0 ? details.join(", ") : null;
}

/** What the last poll came to. */
export interface LastPoll {
  outcome: NotifierOutcome;
  detail: string | null;
  hold: Pick<Hold, "reason" | "why"> | null;
}

/**
 * Everything that keeps mail from waking the agent, the first cause first: a notifier that does not run, the
 * agent and its queue, a budget, for which a wake-up waits in the queue, then what the last poll found of the
 * mail. Empty when nothing does. Pure.
 */
export function explainWakes(facts: {
  config: Pick<NotifierConfig, "enabled" | "mode">;
  /** Why the notifier cannot run; null when it can. */
  problem: string | null;
  gate: GateFacts;
  /** Of a budget that holds; null without one. */
  budget: string | null;
  lastPoll: LastPoll | null;
  /** As of the last poll. */
  wakesHeld: Pick<WakesHeld, "reason" | "detail"> | null;
}): WakeObstacle[] {
  const { config, problem, budget, lastPoll, wakesHeld } = facts;
  if (!config.enabled) return [{ reason: "disabled", detail: "the mail notifier is off" }];
  if (problem !== null) return [{ reason: "unsupported", detail: problem }];
  const ofGate = gateObstacles(facts.gate);
  const isFree = ofGate.length === 0;
  // A budget that holds is why the queue does not empty: the cause is named first.
  const obstacles: WakeObstacle[] =
    budget === null ? ofGate : [{ reason: "budget", detail: budget }, ...ofGate];
  const hold = lastPoll?.hold ?? null;
  if (hold !== null) obstacles.push({ reason: hold.reason, detail: hold.why });
  if (wakesHeld !== null && wakesHeld.reason !== hold?.reason) {
    obstacles.push({ reason: wakesHeld.reason, detail: wakesHeld.detail });
  }
  switch (lastPoll?.outcome) {
    case "poll_error":
    case "pre_notification_context_error":
    case "context_recovery_error":
      obstacles.push({ reason: lastPoll.outcome, detail: lastPoll.detail ?? "" });
      break;
    case "busy_skip":
      if (isFree) {
        const detail = `the agent was busy at the last poll (${lastPoll.detail}); the next one looks again`;
        obstacles.push({ reason: "busy_skip", detail });
      }
      break;
    case "empty": {
      const mail = config.mode === "unread_only" ? "unread mail" : "mail";
      const missing = lastPoll.detail === null ? "" : `; ${lastPoll.detail}`;
      obstacles.push({ reason: "empty", detail: `the last poll found no ${mail} in the inbox${missing}` });
    }
  }
  return obstacles;
}

/** The prompt of a wake-up and what became of the notices in it. */
export function composeWake(
  facts: Omit<RenderFacts, "notices" | "mode" | "appendixText"> & { config: NotifierConfig },
): { prompt: string; blocks: RenderedBlockEntry[] } {
  const { config, ...rest } = facts;
  const notices = renderNotices(facts.eligible, config);
  const prompt = renderPrompt({
    ...rest,
    notices,
    mode: config.mode,
    appendixText: config.appendix_text,
  });
  return { prompt, blocks: notices.entries };
}
