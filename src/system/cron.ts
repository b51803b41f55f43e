import { Cron } from "croner";

/**
 * The first moment after `afterMs` that an expression of five fields names in its time zone, epoch
 * milliseconds; null when there is none. Times that the clocks skip are the moment at which they go forward,
 * as one. One that they repeat is the first of the two. An expression whose hours begin with `*` counts what
 * passes instead: it leaves out what is skipped and goes on through both. Throws for an expression that
 * cannot be read. Pure.
 */
export function nextRun(cron: string, timeZone: string, afterMs: number): number | null {
  const expression = cron.trim();
  // Without a function nothing is scheduled: it only computes. What clocks show is computed as if in UTC.
  const found = new Cron(expression, { timezone: "UTC", mode: "5-part", paused: true });
  const nextShown = (shownMs: number) => found.nextRun(new Date(shownMs))?.getTime() ?? null;
  const after = Temporal.Instant.fromEpochMilliseconds(afterMs).toZonedDateTimeISO(timeZone);
  const hours = expression.split(/\s+/)[1] ?? "";
  return hours.startsWith("*") ? nextPassing(nextShown, after) : nextNamed(nextShown, after);
}

/**
 * Of each time that clocks show the first moment at which they do, or the end of the gap in which none does.
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

/** From one change of the clocks to the next, each with the offset that counts between them. */
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
/** What a clock shows, as epoch milliseconds of the same time in UTC. */
const shownAt = (at: Temporal.ZonedDateTime) => at.epochMilliseconds + offsetMs(at);

/**
 * What is wrong with an expression and its time zone, null when nothing is. The years up to the leap year
 * after the next are looked at from 2026 on, so that the answer does not depend on the clock. Pure.
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
