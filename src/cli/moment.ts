import { parseTimestamp, toTimestamp } from "../system/clock.ts";
import { epochOfWallTime, wallTimeAt } from "../system/time-zone.ts";
import { UsageError } from "./command.ts";

const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };
const dayMs = 86_400_000;

/**
 * A moment as a person writes it: `now`, `10m ago`, `03:12` (the last time that a clock here showed it), or a date with
 * a time. Epoch milliseconds. Throws UsageError.
 */
export function parseMoment(flag: string, text: string, nowMs: number): number {
  const words = text.trim();
  if (words === "now") return nowMs;
  const [, amount, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)\s*([smhd])(?:\s+ago)?$/.exec(words) ?? [];
  if (amount !== undefined) return nowMs - Number(amount) * (units[unit] ?? 1) * 1000;
  const [, hour, minute, second = "0"] = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(words) ?? [];
  if (hour !== undefined) {
    const shownOn = (dayInMs: number) => {
      const day = wallTimeAt(dayInMs, null);
      const at = day && epochOfWallTime({ ...day, hour: Number(hour), minute: Number(minute) }, null);
      return (at ?? dayInMs) + Number(second) * 1000;
    };
    const today = shownOn(nowMs);
    return today <= nowMs ? today : shownOn(nowMs - dayMs);
  }
  const date = namesADay(words) ? parseTimestamp(words.replace(" ", "T")) : null;
  if (date !== null) return date;
  throw new UsageError(
    `--${flag} must be a time such as 03:12, "10m ago" or 2026-11-25T03:12:00Z, not "${text}"`,
  );
}

/** The runtime reads the 30th of February as the 2nd of March. */
function namesADay(text: string): boolean {
  const [day] = /^\d{4}-\d\d-\d\d/.exec(text) ?? [];
  const startMs = day === undefined ? null : parseTimestamp(`${day}T00:00:00Z`);
  return startMs !== null && toTimestamp(startMs).slice(0, 10) === day;
}

/** A span such as `90s`, `12h` or `7d` in seconds; undefined stays undefined. Throws UsageError. */
export function parseSpan(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text.trim()) ?? [];
  if (amount !== undefined) return Number(amount) * (units[unit] ?? 1);
  throw new UsageError(`--${flag} must be a span such as 90s, 12h or 7d, not "${text}"`);
}

const sizes: Record<string, number> = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

/** A size such as `64M` or `2G` in bytes; undefined stays undefined. Throws UsageError. */
export function parseSize(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit = ""] = /^(\d{1,9})([KMG])(?:i?B)?$/i.exec(text.trim()) ?? [];
  if (amount !== undefined) return Number(amount) * (sizes[unit.toUpperCase()] ?? 1);
  throw new UsageError(`--${flag} must be a size such as 64M or 2G, not "${text}"`);
}
