import { defaultTimings, type TrackingTimings } from "../protocol/terminal.ts";
import { type Flags, UsageError } from "./command.ts";

/** Flags of `gateway attach` that set how the terminal is watched (contract 4.4 rule 7). */
export const attachTimingFlags = {
  "gateway-tui-watch-poll-interval-seconds": seconds("longest gap between looks while unsettled", 0.5),
  "gateway-tui-stability-threshold-seconds": seconds("a screen unchanged this long is stable", 1),
  "gateway-tui-completion-stability-seconds": seconds("a success must hold this long", 1),
  "gateway-tui-unknown-to-stalled-timeout-seconds": seconds("an unreadable screen this long is stalled", 30),
  "gateway-tui-stale-active-recovery-seconds": seconds("recovery from a stale busy verdict", 5),
  "gateway-tui-final-stable-active-recovery-seconds": seconds("the same when the screen did not change", 20),
} satisfies Flags;

/** The same of `svc-gateway serve`. */
export const serveTimingFlags = {
  "tui-watch-poll-interval-seconds": attachTimingFlags["gateway-tui-watch-poll-interval-seconds"],
  "tui-stability-threshold-seconds": attachTimingFlags["gateway-tui-stability-threshold-seconds"],
  "tui-completion-stability-seconds": attachTimingFlags["gateway-tui-completion-stability-seconds"],
  "tui-unknown-to-stalled-timeout-seconds":
    attachTimingFlags["gateway-tui-unknown-to-stalled-timeout-seconds"],
  "tui-stale-active-recovery-seconds": attachTimingFlags["gateway-tui-stale-active-recovery-seconds"],
  "tui-final-stable-active-recovery-seconds":
    attachTimingFlags["gateway-tui-final-stable-active-recovery-seconds"],
} satisfies Flags;

function seconds(what: string, usual: number) {
  const description = `${what}, seconds (default ${usual})`;
  return { type: "string", valueHint: "SECONDS", description } as const;
}

/** The timings that were given. Throws UsageError for one that is not above zero. Pure. */
export function readTimings(
  prefix: "gateway-tui-" | "tui-",
  args: Readonly<Record<string, unknown>>,
): Partial<TrackingTimings> {
  const given = Object.keys(defaultTimings).flatMap((timing) => {
    const flag = `${prefix}${timing.replaceAll("_", "-")}`;
    const text = args[flag];
    if (typeof text !== "string") return [];
    const value = Number(text);
    if (text.trim() !== "" && Number.isFinite(value) && value > 0) return [[timing, value] as const];
    throw new UsageError(`--${flag} takes a number of seconds above 0, not "${text}"`);
  });
  return Object.fromEntries(given);
}
