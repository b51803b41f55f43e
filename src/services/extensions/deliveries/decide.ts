import type { NewEntry } from "../../../db/coordinator/delivery-store.ts";
import type { AttentionItem } from "../../../protocol/attention.ts";
import type { DeliveredItem, DeliveryRule } from "../../../protocol/delivery.ts";
import { isQuiet, untilEndMs } from "../../notifier/wake.ts";
import type { NamedRule } from "./rules.ts";

const firstRetryMs = 5000;
const maxRetryMs = 3_600_000;
/** After so long without success a delivery is given up. */
export const giveUpAfterMs = 24 * 3_600_000;
/**
 * A machine that slept, or whose clock was set, has not tried for a day: so many attempts are made in any
 * case.
 */
export const leastAttempts = 12;

const maxText = 2000;
const maxParts = 64;
const maxPartText = 500;

/** Whether a rule is about this item. Pure. */
export function matchesRule(
  { reasons, agents }: Pick<DeliveryRule, "reasons" | "agents">,
  { kind, agent_name }: Pick<AttentionItem, "kind" | "agent_name">,
): boolean {
  if (reasons && !reasons.includes(kind)) return false;
  return agents === undefined || agents.some((pattern) => matchesName(pattern, agent_name ?? ""));
}

/** `*` is any text and `?` one character; everything else is itself. Linear in both. Pure. */
export function matchesName(pattern: string, name: string): boolean {
  const [wanted, given] = [[...pattern], [...name]];
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let position = 0; position < given.length; ) {
    if (wanted[at] === "*") {
      star = at++;
      resume = position;
    } else if (at < wanted.length && (wanted[at] === "?" || wanted[at] === given[position])) {
      at++;
      position++;
    } else if (star >= 0) {
      at = star + 1;
      position = ++resume;
    } else return false;
  }
  while (wanted[at] === "*") at++;
  return at === wanted.length;
}

/** An item that a rule sends: the same one as long as its epoch is. */
export interface Match {
  rule: string;
  itemId: string;
}

/**
 * What is to be written of the waiting items: `entries`, which the store does not have yet, and the keys of
 * those that are `gone`. `written`: what it has, by key. Pure.
 */
export function planWriting(facts: {
  rules: readonly NamedRule[];
  items: Iterable<AttentionItem>;
  written: ReadonlyMap<string, Match>;
  nowMs: number;
}): { entries: NewEntry[]; gone: string[] } {
  const { rules, written, nowMs } = facts;
  const waiting = new Set<string>();
  const entries: NewEntry[] = [];
  for (const item of facts.items) {
    for (const rule of rules) {
      if (!matchesRule(rule, item)) continue;
      const key = keyOf(rule.name, item);
      waiting.add(key);
      if (written.has(key)) continue;
      const plan = planSending(rule, item.kind, nowMs);
      const delivered = toDelivered(item, rule.include);
      entries.push({
        rule: rule.name,
        target: rule.kind,
        item: delivered,
        ...plan,
        mayRecur: mayRecur(item.kind),
      });
    }
  }
  return { entries, gone: [...written.keys()].filter((key) => !waiting.has(key)) };
}

export const keyOf = (rule: string, { id, epoch }: { id: string; epoch: number | null }) =>
  `${rule}\0${id}\0${epoch ?? ""}`;

/**
 * Kinds that a restart of a gateway, a busy machine or a person who types shows for a moment: they are sent
 * when they last.
 */
const transient: ReadonlySet<AttentionItem["kind"]> = new Set([
  ...(["draft", "dead_agent", "dead_gateway", "stuck_agent", "closed_queue"] as const),
]);
const transientMs = 10_000;

const recurring: ReadonlySet<AttentionItem["kind"]> = new Set([
  ...transient,
  "usage_limit",
  "budget",
] as const);

/**
 * Whether a later condition of this kind has the same id; each question and each request has another one.
 * Pure.
 */
const mayRecur = (kind: AttentionItem["kind"]): boolean => recurring.has(kind);

/** When an item that appears now is sent, and whether others join it until then. Pure. */
export function planSending(
  { quiet_hours, digest = 0 }: Pick<DeliveryRule, "quiet_hours" | "digest">,
  kind: AttentionItem["kind"],
  nowMs: number,
): { dueMs: number; gathers: boolean } {
  const quietMs = quietForMs({ quiet_hours }, nowMs);
  const settleMs = transient.has(kind) ? transientMs : 0;
  return { dueMs: nowMs + Math.max(quietMs, digest * 1000, settleMs), gathers: quietMs > 0 || digest > 0 };
}

/** How long nothing may be sent by this rule; 0 when it may be sent now. Pure. */
export function quietForMs(
  { quiet_hours }: { quiet_hours?: DeliveryRule["quiet_hours"] },
  nowMs: number,
): number {
  return quiet_hours && isQuiet(quiet_hours, nowMs) ? untilEndMs(quiet_hours, nowMs) : 0;
}

/**
 * How long after the attempt with this number, from 1, the next one is made: doubled each time, at most an
 * hour, a part of up to a half less. `random`: from 0 to below 1. Pure.
 */
export function retryAfterMs(attempt: number, random: number): number {
  const wholeMs = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(attempt - 1, 20));
  return Math.round(wholeMs * (1 - random / 2));
}

type FailureDecision = { state: "given_up" } | { state: "pending"; dueMs: number };

/**
 * What becomes of a delivery whose attempt failed. `askedMs`: how long the target asked to wait;
 * `refusedForGood`: it wants no delivery any more. Pure.
 */
export function decideFailure(facts: {
  nowMs: number;
  firstAttemptMs: number;
  attempt: number;
  random: number;
  askedMs: number | null;
  refusedForGood: boolean;
}): FailureDecision {
  const { nowMs, firstAttemptMs, attempt, random, askedMs, refusedForGood } = facts;
  const isOver = nowMs - firstAttemptMs >= giveUpAfterMs && attempt >= leastAttempts;
  if (refusedForGood || isOver) return { state: "given_up" };
  const waitMs = Math.max(retryAfterMs(attempt, random), Math.min(askedMs ?? 0, maxRetryMs));
  return { state: "pending", dueMs: nowMs + waitMs };
}

/**
 * What a target is given of an item: agent, reason and question, and of the rest what `include` names. The
 * sentence of the item is not among it: it names the command that an agent asks for. Pure.
 */
export function toDelivered(item: AttentionItem, include: DeliveryRule["include"] = []): DeliveredItem {
  const { kind, agent_name, question, subject } = item;
  const cut = (text: string | null, max: number) => (text === null ? null : shorten(text, max));
  return {
    id: item.id,
    epoch: item.epoch,
    agent: agent_name,
    reason: kind,
    summary: summaryOf(item),
    question: cut(question, maxText),
    since_utc: item.since_utc,
    ...(include.includes("options")
      ? {
          options: item.answers
            .slice(0, maxParts)
            .map(({ answer, label }) => ({ answer, label: shorten(label, maxPartText) })),
        }
      : {}),
    ...(include.includes("command")
      ? {
          command: {
            action: cut(subject?.action ?? null, maxPartText),
            text: cut(subject?.text ?? null, maxText),
          },
        }
      : {}),
    ...(include.includes("evidence")
      ? {
          evidence: [item.reason, ...item.evidence]
            .slice(0, maxParts)
            .map((fact) => shorten(fact, maxPartText)),
        }
      : {}),
  };
}

const summaries: Readonly<Record<AttentionItem["kind"], string>> = {
  question: "asks a question",
  permission: "asks for permission",
  usage_limit: "is held by a usage limit",
  draft: "has a draft in its composer behind which a prompt waits",
  dead_agent: "is dead",
  dead_gateway: "has no gateway that answers",
  stuck_agent: "is stuck",
  failed_request: "did not take a request",
  unknown_request: "has a request with an unknown outcome",
  closed_queue: "has a closed queue",
  held_wakes: "has mail that does not wake it",
  budget: "reached a budget",
  mail: "sent mail that nobody has read",
};

const maxSummary = 200;

function summaryOf({ kind, agent_name, question }: AttentionItem): string {
  const asked = question?.replace(/\s+/gu, " ").trim();
  const who = agent_name === null ? "somebody" : `"${agent_name}"`;
  return shorten(`${who} ${summaries[kind]}${asked ? `: ${asked}` : ""}`, maxSummary);
}

function shorten(text: string, max: number): string {
  const whole = text.toWellFormed();
  return whole.length <= max ? whole : `${whole.slice(0, max - 1).toWellFormed()}…`;
}
