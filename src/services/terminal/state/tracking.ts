import type { TrackingTimings } from "../../../protocol/terminal.ts";
import type { Signals } from "../detect/signals.ts";
import type { Observation } from "../screen.ts";
import type { TmuxPane } from "../tmux/command.ts";
import { reduce } from "./reduce.ts";
import { initialTrack, type Moment, type TrackEvent, type TrackState } from "./reduce-state.ts";
import { isUnsettled, nextDeadlineMs } from "./reduce-transition.ts";

/** A screen, and what a detector says of it. */
export interface Reading {
  observation: Observation;
  signals: Signals;
}

/**
 * What the tracker of one agent has: the agent's state, and how it reads the terminal.
 *
 * `pane` and `reading`:
 * ```
 *   no pane ──pane_found──> pane, its output is followed ──sampled──> pane and reading
 *      ^                                                                  │
 *      └──────connected (to another server, maybe), sampled without──────┘
 * ```
 */
export interface Tracking {
  track: TrackState;
  pane: TmuxPane | null;
  /** The last one; null when the last sample read nothing. */
  reading: Reading | null;
  /** The connection was lost, or the first attach failed. Before either there is nothing to publish. */
  isLost: boolean;
  /** The start of the last sample, monotonic. */
  sampledMs: number;
}

export type TrackingEvent =
  | { kind: "connected" }
  | { kind: "lost" }
  /** tmux says that something of the session changed. */
  | { kind: "noticed" }
  | { kind: "sample_began"; nowMs: number }
  /** Null: there is none. */
  | { kind: "pane_found"; pane: TmuxPane | null }
  /** Null: nothing could be read. */
  | { kind: "sampled"; reading: Reading | null }
  /** Something happened that the agent's state depends on. */
  | { kind: "tracked"; event: TrackEvent };

export const initialTracking = (at: Moment): Tracking => ({
  track: initialTrack(at),
  pane: null,
  reading: null,
  isLost: false,
  sampledMs: Number.NEGATIVE_INFINITY,
});

/** Pure. */
export function next(state: Tracking, event: TrackingEvent, timings: TrackingTimings): Tracking {
  switch (event.kind) {
    case "connected":
      // The pane was one of another connection.
      return { ...state, isLost: false, pane: null };
    case "lost":
      return { ...state, isLost: true };
    case "noticed":
      return { ...state, isLost: false };
    case "sample_began":
      return { ...state, sampledMs: event.nowMs };
    case "pane_found":
      return { ...state, pane: event.pane };
    case "sampled":
      return event.reading === null
        ? { ...state, pane: null, reading: null }
        : { ...state, reading: event.reading };
    case "tracked":
      return { ...state, track: reduce(state.track, event.event, timings) };
  }
}

/** Least time between the starts of two samples that output asked for. */
const pushGapMs = 30;
const resyncMs = 30_000;

interface SampleFacts {
  isConnected: boolean;
  nowMs: number;
}

/** How long a sample that was asked for has to wait; null while there is nothing to sample. Pure. */
export function planSample(
  { isLost, sampledMs }: Pick<Tracking, "isLost" | "sampledMs">,
  { isConnected, nowMs }: SampleFacts,
): number | null {
  // The first attach is under way.
  if (!isConnected && !isLost) return null;
  return Math.max(0, sampledMs + pushGapMs - nowMs);
}

/** In how many milliseconds time alone makes a sample due; null: an event of the connection does. Pure. */
export function nextSampleMs(
  { track, sampledMs }: Pick<Tracking, "track" | "sampledMs">,
  { isConnected, nowMs }: SampleFacts,
  timings: TrackingTimings,
): number | null {
  if (!isConnected) return null;
  const gapMs = isUnsettled(track) ? timings.watch_poll_interval_seconds * 1000 : resyncMs;
  const dueMs = Math.min(sampledMs + gapMs, nextDeadlineMs(track, timings) ?? Number.POSITIVE_INFINITY);
  // A timer may fire a fraction early, and a deadline that is not over would be waited for again.
  return Math.max(0, dueMs - nowMs) + 1;
}

/** Whether a failed attach repeats the last one: attaching is tried for ever, which is no news. Pure. */
export function isRepeatedAbsence(track: TrackState, event: TrackEvent): boolean {
  return (
    event.kind === "tmux_missing" &&
    track.diagnostics.transport_state === "tmux_missing" &&
    track.history.length > 0
  );
}
