import { parseTimestamp, toTimestamp } from "../../system/clock.ts";

/** 9999-12-31T23:59:59.999Z: the last moment that a timestamp of the wire can tell, epoch milliseconds. */
const latestMs = 253_402_300_799_999;

const form = /^(\d{4}-\d{2}-\d{2})[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?([Zz]|[+-]\d{2}:\d{2})?$/;

/**
 * Epoch milliseconds of a `deliver_at_utc`: RFC 3339 in any precision, UTC where it names no offset. Null for
 * anything else, a day that the calendar lacks included. Pure.
 */
export function parseDeliverAt(text: string): number | null {
  const [, day, offset] = form.exec(text) ?? [];
  const midnight = day === undefined ? null : parseTimestamp(`${day}T00:00:00Z`);
  // A day beyond the month's end would silently become one of the next month.
  if (day === undefined || midnight === null || !toTimestamp(midnight).startsWith(day)) return null;
  return parseTimestamp(offset === undefined ? `${text}Z` : text);
}

/** Whether a timestamp can tell this moment. */
export function isTellable(epochMs: number): boolean {
  return epochMs >= 0 && epochMs <= latestMs;
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
