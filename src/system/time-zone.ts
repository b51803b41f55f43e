import { parseTimestamp } from "./clock.ts";

/** A local date and time. `month` counts from 1; a `day` beyond its month continues in the next one. */
export interface WallTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
}

/** The local time in `zone` (an IANA name, or null for the zone of this host); null for an unknown zone. */
export function wallTimeAt(epochMs: number, zone: string | null): WallTime | null {
  const offset = offsetMsAt(epochMs, zone);
  if (offset === null) return null;
  const date = new Date(epochMs + offset);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
  };
}

/**
 * A timestamp for people: `15:00` in `zone`, with the date when it is not the day of `nowMs`. Returns other
 * text unchanged.
 */
export function localTime(at: string, nowMs: number, zone: string | null = null): string {
  const atMs = parseTimestamp(at);
  const [moment, now] = [atMs === null ? null : wallTimeAt(atMs, zone), wallTimeAt(nowMs, zone)];
  if (moment === null || now === null) return at;
  const time = `${twoDigits(moment.hour)}:${twoDigits(moment.minute)}`;
  const isToday = moment.year === now.year && moment.month === now.month && moment.day === now.day;
  return isToday ? time : `${moment.year}-${twoDigits(moment.month)}-${twoDigits(moment.day)} ${time}`;
}

/** A timestamp for people with date and seconds: `2026-11-25 03:12:07`. */
export function localDateTime(at: string, zone: string | null = null): string {
  const atMs = parseTimestamp(at);
  const moment = atMs === null ? null : wallTimeAt(atMs, zone);
  if (atMs === null || moment === null) return at;
  const { year, month, day, hour, minute } = moment;
  const seconds = Math.floor(atMs / 1000) % 60;
  const time = [hour, minute, seconds].map(twoDigits).join(":");
  return `${year}-${twoDigits(month)}-${twoDigits(day)} ${time}`;
}

const twoDigits = (value: number) => String(value).padStart(2, "0");

/**
 * The epoch milliseconds of the local time `wall` in `zone`; null for an unknown zone. A time that a clock
 * change skips is an hour later.
 */
export function epochOfWallTime(wall: WallTime, zone: string | null): number | null {
  const asUtc = Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour, wall.minute);
  const first = offsetMsAt(asUtc, zone);
  if (first === null) return null;
  // The offset at that moment, not at the same time in UTC.
  const second = offsetMsAt(asUtc - first, zone) ?? first;
  return asUtc - second;
}

function offsetMsAt(epochMs: number, zone: string | null): number | null {
  if (zone === null) return -new Date(epochMs).getTimezoneOffset() * 60_000;
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    const parts = Object.fromEntries(format.formatToParts(epochMs).map(({ type, value }) => [type, value]));
    const part = (name: Intl.DateTimeFormatPartTypes) => Number(parts[name]);
    const shown = Date.UTC(
      part("year"),
      part("month") - 1,
      part("day"),
      part("hour"),
      part("minute"),
      part("second"),
    );
    return shown - Math.floor(epochMs / 1000) * 1000;
  } catch {
    return null;
  }
}
