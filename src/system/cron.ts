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

/** Whether this is a time zone that this machine knows, such as Europe/Berlin or UTC. Pure. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
