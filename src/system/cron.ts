import { Cron } from "croner";

/**
 * The first moment after `afterMs` that an expression of five fields names in its time zone, epoch milliseconds; null when
 * there is none. A time that the clocks skip is the moment at which they go forward. One that they repeat is the first
 * of the two, while an expression with `*` hours goes on through both. Throws for an expression that cannot be read. Pure.
 */
export function nextRun(cron: string, timeZone: string, afterMs: number): number | null {
  // Without a function nothing is scheduled: it only computes.
  const found = new Cron(cron.trim(), { timezone: timeZone, mode: "5-part", paused: true });
  return found.nextRun(new Date(afterMs))?.getTime() ?? null;
}

/**
 * What is wrong with an expression and its time zone, null when nothing is. The years up to the leap year after the next
 * are looked at from 2026 on, so that the answer does not depend on the clock. Pure.
 */
export function cronProblem(
  cron: string,
  timeZone: string,
): { field: "cron" | "time_zone"; message: string } | null {
  if (!isTimeZone(timeZone)) {
    const message = "must be an IANA name that is known here, such as Europe/Berlin";
    return { field: "time_zone", message };
  }
  try {
    const isNever = nextRun(cron, timeZone, Date.UTC(2026, 0, 1)) === null;
    return isNever ? { field: "cron", message: "names no day that there is" } : null;
  } catch {
    const message = "must be minute, hour, day of month, month, day of week, such as 30 9 * * 1-5";
    return { field: "cron", message };
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
