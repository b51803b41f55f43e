import type { Notified } from "../../db/gateway/notifier-store.ts";
import type { NotifierConfig, QuietHours, WakeObstacle } from "../../protocol/notifier.ts";
import { parseTimestamp } from "../../system/clock.ts";
import type { Mail } from "../mail/mailbox.ts";

/** After the first wake-up for the same mail, `on_change` repeats it after this long, doubled each time. */
const firstRepeatMs = 300_000;
const maxRepeatMs = 3_600_000;
const hourMs = 3_600_000;

/** What keeps an agent from being woken that could be. */
export interface Hold {
  /** The setting that holds. */
  reason: Extract<
    WakeObstacle["reason"],
    "quiet_hours" | "max_wakes_per_hour" | "min_gap_seconds" | "wake_policy"
  >;
  why: string;
  /**
   * After so many milliseconds this alone holds no longer; null where only other mail or a scheduled poll
   * ends it.
   */
  forMs: number | null;
}

/**
 * Null when the agent may be woken. `lastNotificationMs`: when it was last woken, epoch milliseconds; a time
 * yet to come, as after the clock was set back, counts as none. `mail`: what is eligible; `notified`: what
 * woke the agent before. With the defaults of the API it never holds; `mail-notifier enable` sets limits. Pure. Source: ruling 17.
 */
export function holdOf(facts: {
  config: Pick<NotifierConfig, "wake_policy" | "min_gap_seconds" | "max_wakes_per_hour" | "quiet_hours">;
  nowMs: number;
  lastNotificationMs: number | null;
  mail: readonly WakingMail[];
  notified: Notified;
  /** Times of the newest `max_wakes_per_hour` wake-ups, epoch milliseconds, newest first. */
  wakesMs: readonly number[];
}): Hold | null {
  const { config, nowMs, lastNotificationMs } = facts;
  if (config.quiet_hours && isQuiet(config.quiet_hours, nowMs)) {
    const { start, end, time_zone } = config.quiet_hours;
    const why = `quiet_hours ${start}-${end} ${time_zone}`;
    return { reason: "quiet_hours", why, forMs: untilEndMs(config.quiet_hours, nowMs) };
  }
  const capped = capOf(facts);
  if (capped !== null) return capped;
  if (lastNotificationMs === null || lastNotificationMs > nowMs) return null;
  const sinceMs = nowMs - lastNotificationMs;
  const gapMs = config.min_gap_seconds * 1000;
  if (sinceMs < gapMs) {
    const ago = `last wake-up ${Math.round(sinceMs / 1000)} s ago`;
    const why = `min_gap_seconds=${config.min_gap_seconds}, ${ago}`;
    return { reason: "min_gap_seconds", why, forMs: gapMs - sinceMs };
  }
  if (config.wake_policy === "on_change") {
    const untilMs = Math.min(...facts.mail.map((one) => pausedUntilMs(one, facts.notified, nowMs)));
    const seconds = Math.ceil((untilMs - nowMs) / 1000);
    const why = `wake_policy=on_change, nothing new; repeated by the first poll after ${seconds} s`;
    if (untilMs > nowMs) return { reason: "wake_policy", why, forMs: null };
  }
  return null;
}

export type WakingMail = Pick<Mail, "message_ref" | "read" | "answered">;

/** What an agent does to a message without taking it out of the inbox. */
const stateOf = ({ read, answered }: WakingMail) =>
  `${read ? "read" : "unread"}${answered ? " answered" : ""}`;

/**
 * Until when one message wakes nobody, epoch milliseconds: a new one does at once, one that stays as it is
 * ever more rarely. One that was read or answered since begins again with the first pause. Pure.
 */
function pausedUntilMs(mail: WakingMail, notified: Notified, nowMs: number): number {
  const before = Object.hasOwn(notified, mail.message_ref) ? notified[mail.message_ref] : undefined;
  const atMs = before ? parseTimestamp(before.at_utc) : null;
  if (!before || atMs === null || atMs > nowMs) return nowMs;
  return atMs + repeatAfterMs(before.state === stateOf(mail) ? before.repeats : 0);
}

/** The memory after a wake-up for `mail`; messages that are no longer eligible are dropped. Pure. */
export function rememberWake(mail: readonly WakingMail[], before: Notified, at_utc: string): Notified {
  return Object.fromEntries(
    mail.map((one) => {
      const known = Object.hasOwn(before, one.message_ref) ? before[one.message_ref] : undefined;
      const state = stateOf(one);
      const repeats = known?.state === state ? known.repeats + 1 : 0;
      return [one.message_ref, { at_utc, repeats, state }];
    }),
  );
}

/** A time yet to come, as after the clock was set back, counts as none. */
function capOf({ config, nowMs, wakesMs }: Parameters<typeof holdOf>[0]): Hold | null {
  const max = config.max_wakes_per_hour;
  const within = wakesMs.filter((atMs) => atMs <= nowMs && nowMs - atMs < hourMs).slice(0, max);
  const oldest = within.at(-1);
  if (max === 0 || within.length < max || oldest === undefined) return null;
  const why = `max_wakes_per_hour=${max} is reached`;
  return { reason: "max_wakes_per_hour", why, forMs: oldest + hourMs - nowMs };
}

/** How long the same mail wakes nobody after `repeats` + 1 wake-ups. */
export function repeatAfterMs(repeats: number): number {
  return Math.min(maxRepeatMs, firstRepeatMs * 2 ** Math.min(repeats, 10));
}

/** Whether the time of day lies in [start, end); an end before the start is of the next day. */
export function isQuiet(hours: QuietHours, nowMs: number): boolean {
  const now = minuteOfDay(nowMs, hours.time_zone);
  const start = toMinutes(hours.start);
  const end = toMinutes(hours.end);
  return start <= end ? now >= start && now < end : now >= start || now < end;
}

/**
 * How long quiet hours that hold now still last. By the hands of the clock: a night in which it is changed is
 * an hour off.
 */
export function untilEndMs(hours: QuietHours, nowMs: number): number {
  const minutes = toMinutes(hours.end) - minuteOfDay(nowMs, hours.time_zone);
  return (minutes > 0 ? minutes : minutes + 1440) * 60_000 - (nowMs % 60_000);
}

function minuteOfDay(nowMs: number, timeZone: string): number {
  const clock = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hour: "2-digit",
    minute: "2-digit",
    hour12: false,
  });
  return toMinutes(clock.format(nowMs));
}

function toMinutes(time: string): number {
  const [hours = "0", minutes = "0"] = time.split(":");
  return (Number(hours) % 24) * 60 + Number(minutes);
}
