import type { StoredRequest } from "../../../../db/gateway/request-store.ts";
import type { WakeReason } from "../../../../protocol/ledger.ts";
import { parseTimestamp } from "../../../../system/clock.ts";
import { isSamePrompt, keyOfText, type PromptKey } from "../../../terminal/keys.ts";

/** A prompt that was given to the agent, and what for. */
export interface GivenPrompt {
  key: PromptKey;
  atMs: number;
  reason: WakeReason;
  /** Null for a direct prompt. */
  requestId: string | null;
}

/** A tool's own time of a prompt against the moment at which we began to type it. */
const toolAheadMs = 5_000;
/** A prompt waits in the tool itself while it works. */
const maxWaitMs = 3_600_000;

/**
 * What a turn of a terminal was for: the newest prompt of its text that was given before it and has no other
 * turn. Without one somebody else typed it, unless no gateway ran then (`watchedSinceMs`). Pure.
 */
export function decideWake(
  turn: { startedMs: number | null; promptKey: PromptKey | null },
  given: readonly GivenPrompt[],
  watchedSinceMs: number,
): { reason: WakeReason; given: GivenPrompt | null } {
  const { startedMs, promptKey } = turn;
  if (startedMs === null || promptKey === null) return { reason: "unknown", given: null };
  const own = given
    .filter(({ atMs }) => atMs <= startedMs + toolAheadMs && atMs >= startedMs - maxWaitMs)
    .filter(({ key }) => isSamePrompt(key, promptKey))
    .reduce<GivenPrompt | null>((best, one) => (best && best.atMs >= one.atMs ? best : one), null);
  if (own) return { reason: own.reason, given: own };
  return { reason: startedMs >= watchedSinceMs ? "by_hand" : "unknown", given: null };
}

/**
 * What a request id says; `kind`: of the stored request, null where there is none. Null is a direct prompt.
 * Pure.
 */
export function wakeOfRequest(requestId: string | null, kind: StoredRequest["kind"] | null): WakeReason {
  if (requestId === null || kind === "submit_prompt") return "prompt";
  if (kind === "mail_notifier_prompt") return "mail";
  return requestId.startsWith("greminder-") ? "reminder" : "unknown";
}

/**
 * A stored request that was begun; null for one that was not, and for one whose prompt is not listed. Pure.
 */
export function toGivenPrompt({ requestId, kind, payload, startedAtUtc }: StoredRequest): GivenPrompt | null {
  const { prompt } = payload;
  const atMs = startedAtUtc === null ? null : parseTimestamp(startedAtUtc);
  if (kind === "interrupt" || typeof prompt !== "string" || atMs === null) return null;
  return { key: keyOfText(prompt), atMs, reason: wakeOfRequest(requestId, kind), requestId };
}
