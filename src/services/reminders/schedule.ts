import { patterns } from "../../protocol/enforced.ts";
import { parseTimestamp } from "../../system/clock.ts";

/** 9999-12-31T23:59:59.999Z: the last moment that a timestamp of the wire can tell, epoch milliseconds. */
const latestMs = 253_402_300_799_999;

const form = new RegExp(patterns.dueTime);

/**
 * Epoch milliseconds of a `deliver_at_utc`: RFC 3339 in any precision, UTC where it names no offset. Null for
 * anything else, a day that the calendar lacks included. Pure.
 */
export function parseDeliverAt(text: string): number | null {
  if (!form.test(text)) return null;
  return parseTimestamp(/[Zz]$|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`);
}

/** 1970-01-01 and 6000-01-01 in every time zone. */
const deliverable = { fromMs: -86_400_000, toMs: 127_174_579_200_000 };

export function isDeliverable(epochMs: number): boolean {
  return epochMs >= deliverable.fromMs && epochMs <= deliverable.toMs;
}

/** The nearest moment that a timestamp can tell. */
export function toTellable(epochMs: number): number {
  return Math.min(latestMs, Math.max(0, epochMs));
}

/**
 * The next due time of a repeating reminder that was due at `dueMs` and whose delivery ended at `endedMs`: the first
 * moment after the end that lies a whole number of intervals after `dueMs`. Missed ones are not made up for. No
 * cadence is finer than a millisecond, nor later than a timestamp can tell. Pure. Source: contract 3.3.
 */
export function nextDue(facts: { dueMs: number; intervalSeconds: number; endedMs: number }): number {
  const { dueMs, endedMs } = facts;
  const intervalMs = Math.max(1, facts.intervalSeconds * 1000);
  const steps = Math.max(1, Math.floor((endedMs - dueMs) / intervalMs) + 1);
  const next = dueMs + steps * intervalMs;
  // A quotient just below a whole number may have been rounded down.
  return Math.min(latestMs, next > endedMs ? next : next + intervalMs);
}
