import type { Notified } from "../../db/gateway/notifier-store.ts";
import type { NotifierConfig, NotifierOutcome, RenderedBlockEntry } from "../../protocol/notifier.ts";
import type { Readiness } from "../agent/agent.ts";
import type { Mail } from "../mail/mailbox.ts";
import { type RenderFacts, renderNotices, renderPrompt } from "./render.ts";
import { type Hold, holdOf } from "./wake.ts";

/** Whether the agent could be given a prompt this moment. */
export interface GateFacts {
  admission: string;
  execution: string;
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
  /** `forMs`: as of a `Hold`. */
  | {
      outcome: Extract<NotifierOutcome, "wake_held">;
      detail: string;
      forMs: number | null;
      limit?: Hold["limit"];
    }
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
    return detail === null ? { outcome: "empty" } : { outcome: "wake_held", detail, forMs: null };
  }
  const busy = whyBusy(facts.gate);
  if (busy !== null) return { outcome: "busy_skip", detail: busy };
  const held = holdOf({ ...facts, mail: mail.messages });
  if (held !== null) {
    const { why: detail, forMs, limit } = held;
    return { outcome: "wake_held", detail, forMs, ...(limit ? { limit } : {}) };
  }
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

/** Why the agent is left alone, naming each failing fact; null when it may be given a prompt. */
export function whyBusy(gate: GateFacts): string | null {
  const failing = [
    ...(gate.admission === "open" ? [] : [`request_admission=${gate.admission}`]),
    ...(gate.execution === "idle" ? [] : [`active_execution=${gate.execution}`]),
    ...(gate.queueDepth === 0 ? [] : [`queue_depth=${gate.queueDepth}`]),
  ];
  if (failing.length > 0) return failing.join(", ");
  return gate.readiness.ready ? null : `${gate.readiness.code}: ${gate.readiness.detail}`;
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
