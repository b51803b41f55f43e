import { parseTimestamp, toTimestamp } from "../../../system/clock.ts";
import { epochOfWallTime, wallTimeAt } from "../../../system/time-zone.ts";
import { UsageError } from "../../command-line/command.ts";

const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };
/** What clock changes add or take away. */
const clockChangesMs = [0, 3_600_000, -3_600_000, 1_800_000, -1_800_000];

/**
 * A moment as a person writes it: `now`, `10m ago`, `03:12` (the last time that a clock here showed it), or a
 * date with a time. Epoch milliseconds. `zone`: of the clock, null for this host's. Throws UsageError.
 */
export function parseMoment(flag: string, text: string, nowMs: number, zone: string | null = null): number {
  const words = text.trim();
  if (words === "now") return nowMs;
  const [, amount, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)\s*([smhd])(?:\s+ago)?$/.exec(words) ?? [];
  if (amount !== undefined) return nowMs - Number(amount) * (units[unit] ?? 1) * 1000;
  const [, hour, minute, second = "0"] = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(words) ?? [];
  if (hour !== undefined) {
    const shown = { hour: Number(hour), minute: Number(minute), second: Number(second) };
    const last = lastShown(shown, nowMs, zone);
    if (last !== null) return last;
  }
  const date = namesADay(words) ? parseTimestamp(words.replace(" ", "T")) : null;
  if (date !== null) return date;
  throw new UsageError(
    `--${flag} must be a time such as 03:12, "10m ago" or 2026-11-25T03:12:00Z, not "${text}"`,
  );
}

/**
 * When a clock showed a time last, by `nowMs`; null when there is no such zone. Where clocks go back an hour
 * is shown twice, where they go forward one is left out. Pure.
 */
function lastShown(
  { hour, minute, second }: { hour: number; minute: number; second: number },
  nowMs: number,
  zone: string | null,
): number | null {
  const today = wallTimeAt(nowMs, zone);
  if (today === null) return null;
  const moments = [0, 1, 2].flatMap((back) => {
    const at = epochOfWallTime({ ...today, day: today.day - back, hour, minute }, zone) ?? nowMs;
    return clockChangesMs.map((change) => at + change + second * 1000);
  });
  const shown = moments.filter((atMs) => {
    const wall = wallTimeAt(atMs, zone);
    return atMs <= nowMs && wall?.hour === hour && wall.minute === minute;
  });
  return shown.length === 0 ? null : Math.max(...shown);
}

/**
 * Whether a time names a day that there is: the runtime reads the 30th of February as the 2nd of March. Pure.
 */
export function namesADay(text: string): boolean {
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
