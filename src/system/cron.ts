import { Cron } from "croner";

/**
 * The first time after `afterMs` that an expression of five fields matches in its time zone, in epoch
 * milliseconds; null without one. When clocks go forward, all skipped times become the moment of the change.
 * When clocks go back, a repeated time counts once, the first time. An expression whose hours begin with `*`
 * counts elapsed time instead: skipped times are left out and repeated times count twice. Throws for an
 * invalid expression. Pure.
 */
export function nextRun(cron: string, timeZone: string, afterMs: number): number | null {
  const expression = cron.trim();
  // Without a function the library schedules nothing and only computes. Local times are computed as if in
  // UTC.
  const found = new Cron(expression, { timezone: "UTC", mode: "5-part", paused: true });
  const nextShown = (shownMs: number) => found.nextRun(new Date(shownMs))?.getTime() ?? null;
  const after = Temporal.Instant.fromEpochMilliseconds(afterMs).toZonedDateTimeISO(timeZone);
  const hours = expression.split(/\s+/)[1] ?? "";
  return hours.startsWith("*") ? nextPassing(nextShown, after) : nextNamed(nextShown, after);
}

/**
 * For each matching local time the first moment at which clocks show it, or the end of the gap that skips it.
 */
function nextNamed(
  nextShown: (shownMs: number) => number | null,
  after: Temporal.ZonedDateTime,
): number | null {
  for (let shownMs = nextShown(shownAt(after)); shownMs !== null; shownMs = nextShown(shownMs)) {
    const shown = Temporal.Instant.fromEpochMilliseconds(shownMs).toZonedDateTimeISO("UTC").toPlainDateTime();
    const earlier = shown.toZonedDateTime(after.timeZoneId, { disambiguation: "earlier" });
    const isSkipped = !earlier.toPlainDateTime().equals(shown);
    const at = isSkipped ? (earlier.getTimeZoneTransition("next") ?? earlier) : earlier;
    if (at.epochMilliseconds > after.epochMilliseconds) return at.epochMilliseconds;
  }
  return null;
}

/** Computes between one change of the clocks and the next, with the offset of that period. */
function nextPassing(
  nextShown: (shownMs: number) => number | null,
  after: Temporal.ZonedDateTime,
): number | null {
  let begin = after;
  for (let shownMs = nextShown(shownAt(begin)); shownMs !== null; shownMs = nextShown(shownAt(begin) - 1)) {
    const atMs = shownMs - offsetMs(begin);
    const change = begin.getTimeZoneTransition("next");
    if (change === null || atMs < change.epochMilliseconds) return atMs;
    begin = change;
  }
  return null;
}

const offsetMs = (at: Temporal.ZonedDateTime) => at.offsetNanoseconds / 1e6;
/** The local time, as epoch milliseconds of the same time in UTC. */
const shownAt = (at: Temporal.ZonedDateTime) => at.epochMilliseconds + offsetMs(at);

/**
 * Why an expression or its time zone is invalid; null when both are valid. The check searches from 2026 on,
 * so that the result does not depend on the clock. Pure.
 */
export function cronProblem(
  cron: string,
  timeZone: string,
): { field: "cron" | "time_zone"; message: string } | null {
  if (!isTimeZone(timeZone)) {
    const message = "must be an IANA name that is known here, such as Europe/Berlin";
    return { field: "time_zone", message };
  }
  const wrong = {
    field: "cron",
    message: "must be minute, hour, day of month, month, day of week, such as 30 9 * * 1-5",
  } as const;
  if (cron.trim().split(/\s+/).length !== 5) return wrong;
  try {
    const isNever = nextRun(cron, timeZone, Date.UTC(2026, 0, 1)) === null;
    return isNever ? { field: "cron", message: "names no day that there is" } : null;
  } catch {
    return wrong;
  }
}

/** Whether this is a time zone that this machine knows, such as Europe/Berlin or UTC. Pure. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
