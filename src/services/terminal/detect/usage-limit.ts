import type { Parked } from "../../../protocol/terminal.ts";
import { parseTimestamp, toTimestamp } from "../../../system/clock.ts";
import { epochOfWallTime, type WallTime, wallTimeAt } from "../../../system/time-zone.ts";
import type { Moment, ParkedState, TrackState } from "../state/reduce-state.ts";
import type { Signals } from "./signals.ts";

/** A notice that was seen to appear may show a minute that has just begun. */
const justNowMs = 10 * 60_000;
/** One of unknown age, such as the first thing a new gateway sees, may be as old as this. */
const oldMs = 12 * 3_600_000;
/** How long to wait when a limit is shown again after the time it named. */
const againMs = 5 * 60_000;

/**
 * The limit after one more look. Its time is read once, when the notice appears: the same words would name
 * another moment each day. `before`: the signals of the previous look. Source: decision 18.
 */
export function nextParked(
  held: ParkedState | null,
  look: { before: Signals | null; signals: Signals | null; turnRuns: boolean; at: Moment },
): ParkedState | null {
  const { signals, at } = look;
  if (look.turnRuns) return held && { ...held, shown: false, ranSince: true };
  // A dialog hides the transcript; it does not take a notice away.
  if (!signals?.promptVisible) return held;
  const seen = signals.parked;
  if (!seen) return held && { ...held, shown: false };
  const known = held?.notice === seen.notice;
  if (known && !held.ranSince) return { ...held, shown: true };
  const fresh = { notice: seen.notice, shown: true, ranSince: false };
  if (seen.shownTime === null) return { ...fresh, untilMs: null };
  if (known && held.untilMs !== null && held.untilMs > at.wallMs) return { ...fresh, untilMs: held.untilMs };
  const appeared = look.before?.promptVisible === true && !known;
  const untilMs = parseResetTime({
    text: seen.shownTime,
    nowMs: at.wallMs,
    zone: null,
    backMs: appeared ? justNowMs : oldMs,
  });
  const again = known && untilMs !== null && untilMs <= at.wallMs;
  return { ...fresh, untilMs: again ? at.wallMs + againMs : untilMs };
}

/**
 * What is reported of it at `at`: null once its time has come, its notice has gone, a turn runs or the tool
 * is not there. Pure.
 */
export function parkedAt({ parked, turn, signals }: TrackState, at: Moment): Parked | null {
  if (!parked?.shown || turn.phase === "active" || signals?.parseStatus !== "parsed") return null;
  const { notice, untilMs } = parked;
  if (untilMs !== null && untilMs <= at.wallMs) return null;
  return { notice, until: untilMs === null ? null : toTimestamp(untilMs) };
}

export interface ResetFacts {
  /** The time as the tool shows it, with whatever follows it. */
  text: string;
  nowMs: number;
  /** IANA name of the zone the tool writes in when it names none; null for this host's. */
  zone: string | null;
  /** A clock time without a date is its first occurrence that is not longer ago than this. */
  backMs: number;
}

const dayMs = 86_400_000;
/** The year 10000, which no timestamp can express. */
const endOfTimeMs = 253_402_300_800_000;
const unitMs: Readonly<Record<string, number>> = { d: dayMs, h: 3_600_000, m: 60_000, s: 1000 };
const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const unit = "(days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])";
const duration = new RegExp(`^(\\d+(?:\\.\\d+)?)\\s*${unit}[\\s,]*(?:and\\s+)?`, "iu");
const clock = "(\\d{1,2})(?::(\\d{2}))?(?::\\d{2})?(?:\\s*([ap])\\.?m\\b\\.?)?";
const month = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?";
const day = "(\\d{1,2})(?:st|nd|rd|th)?";
const clockFirst = new RegExp(`^${clock}(?:\\s+on\\s+${day}\\s+${month})?`, "iu");
const dateFirst = new RegExp(`^${month}\\s+${day}(?:,?\\s+(\\d{4}))?(?:,?\\s+(?:at\\s+)?${clock})?`, "iu");
const dateTime = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?/u;
const namedZone = /^\s*\(?\s*([A-Za-z_]+(?:\/[A-Za-z0-9_+-]+)+|UTC|GMT)(?:([+-])(\d{1,2})(?::(\d{2}))?)?/u;

/**
 * The moment that a tool's words for the end of a usage limit name, milliseconds since the epoch; null when
 * they name none that a timestamp can express. Understood: spans (`2h 13m`, `5 days 22 hours 11 minutes`),
 * clock times (`3pm`, `14:30`), dates with or without year and clock (`May 5 at 9pm`,
 * `Aug 8th, 2026 12:30 PM`, `16:21 on 19 May`), RFC 3339; behind a clock a zone (`(Europe/Berlin)`, `UTC`,
 * `GMT+2`). Pure but for the host's zone where `zone` is null.
 */
export function parseResetTime(facts: ResetFacts): number | null {
  const text = facts.text.replace(/^\s*(?:(?:at|in|on|after)\s+)?/iu, "");
  if (/^less than (?:a|one) minute/iu.test(text)) return facts.nowMs + 60_000;
  const at =
    absoluteOf(text, facts) ?? spanOf(text, facts.nowMs) ?? datedOf(text, facts) ?? clockOf(text, facts);
  return at !== null && at >= 0 && at < endOfTimeMs ? at : null;
}

function absoluteOf(text: string, { zone }: ResetFacts): number | null {
  const match = dateTime.exec(text);
  if (!match) return null;
  if (match[6]) return parseTimestamp(match[0].replace(" ", "T"));
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = match.slice(1, 6).map(Number);
  return epochOfWallTime({ year, month, day, hour, minute }, zone);
}

function spanOf(text: string, nowMs: number): number | null {
  let rest = text;
  let total = 0;
  for (let match = duration.exec(rest); match; match = duration.exec(rest)) {
    total += Number(match[1]) * (unitMs[match[2]?.[0]?.toLowerCase() ?? ""] ?? 0);
    rest = rest.slice(match[0].length);
  }
  return rest === text ? null : nowMs + total;
}

function datedOf(text: string, facts: ResetFacts): number | null {
  const match = dateFirst.exec(text);
  if (!match) return null;
  const [, name, day, year, ...shown] = match;
  const time = shown[0] === undefined ? { hour: 0, minute: 0 } : hourOf(shown);
  return time && onDate({ name, day, year }, time, zoneBehind(text.slice(match[0].length), facts), facts);
}

function clockOf(text: string, facts: ResetFacts): number | null {
  const match = clockFirst.exec(text);
  if (!match) return null;
  const [, hour, minute, half, day, name] = match;
  // A bare number is no time.
  if (minute === undefined && half === undefined) return null;
  const time = hourOf([hour, minute, half]);
  if (!time) return null;
  const place = zoneBehind(text.slice(match[0].length), facts);
  if (name !== undefined) return onDate({ name, day, year: undefined }, time, place, facts);
  const today = wallTimeAt(facts.nowMs + place.shiftMs, place.zone);
  if (!today) return null;
  for (let ahead = -1; ahead <= 2; ahead++) {
    const at = epochIn({ ...today, ...time, day: today.day + ahead }, place);
    if (at !== null && at >= facts.nowMs - facts.backMs) return at;
  }
  return null;
}

type Shown = (string | undefined)[];

function hourOf([hour, minute = "0", half]: Shown): Pick<WallTime, "hour" | "minute"> | null {
  const shown = Number(hour);
  if (Number(minute) > 59 || shown > (half ? 12 : 23) || (half && shown === 0)) return null;
  const past12 = half?.toLowerCase() === "p" ? 12 : 0;
  return { hour: half ? (shown % 12) + past12 : shown, minute: Number(minute) };
}

/** Without a year, the one that brings the date nearest. */
function onDate(
  date: { name: string | undefined; day: string | undefined; year: string | undefined },
  time: Pick<WallTime, "hour" | "minute">,
  place: Place,
  { nowMs }: ResetFacts,
): number | null {
  const now = wallTimeAt(nowMs + place.shiftMs, place.zone);
  if (!now) return null;
  const month = months.indexOf(date.name?.slice(0, 3).toLowerCase() ?? "") + 1;
  const day = Number(date.day);
  if (day < 1 || day > 31) return null;
  const years = date.year === undefined ? [now.year - 1, now.year, now.year + 1] : [Number(date.year)];
  const found = years
    .map((year) => epochIn({ year, month, day, ...time }, place))
    .filter((at): at is number => at !== null);
  return found.sort((one, other) => Math.abs(one - nowMs) - Math.abs(other - nowMs))[0] ?? null;
}

/** A named zone, or UTC and how far its walls are ahead of it. */
interface Place {
  zone: string | null;
  shiftMs: number;
}

function epochIn(wall: WallTime, { zone, shiftMs }: Place): number | null {
  const at = epochOfWallTime(wall, zone);
  return at === null ? null : at - shiftMs;
}

/** The zone named behind a clock time. One that is not known is taken for the tool's own. */
function zoneBehind(text: string, { nowMs, zone: own }: ResetFacts): Place {
  const [, name, sign, hours, minutes = "0"] = namedZone.exec(text) ?? [];
  if (name === undefined) return { zone: own, shiftMs: 0 };
  if (sign !== undefined) {
    const shiftMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
    return { zone: "UTC", shiftMs: sign === "-" ? -shiftMs : shiftMs };
  }
  return { zone: wallTimeAt(nowMs, name) ? name : own, shiftMs: 0 };
}
