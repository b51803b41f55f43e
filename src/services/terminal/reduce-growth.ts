import type { Signals } from "./detect/signals.ts";
import type { TrackState } from "./reduce-state.ts";

type Growth = TrackState["growth"];

const windowMs = 3000;
const longestGapMs = 2000;
const growthCharacters = 48;
const growthLines = 2;

/** Keeps the transcript sizes of the last three seconds; a gap in the samples starts anew. */
export function sampleGrowth(growth: Growth, signals: Signals, nowMs: number): Growth {
  if (!signals.growthCounts || !signals.promptVisible) return { ...growth, samples: [] };
  const last = growth.samples.at(-1);
  const kept = last && nowMs - last.atMs <= longestGapMs ? growth.samples : [];
  const sample = {
    atMs: nowMs,
    characters: signals.projection.length,
    lines: signals.projection.split("\n").length,
  };
  return { ...growth, samples: [...kept.filter((one) => nowMs - one.atMs <= windowMs), sample] };
}

/**
 * A turn that was seen working a moment ago and whose transcript still grows goes on, though nothing on the screen
 * says so: some tools paint no status row while an answer streams.
 */
export function growthHint(growth: Growth, signals: Signals, nowMs: number): boolean {
  if (!signals.growthCounts || signals.surface.ready_posture !== "yes") return false;
  if (signals.completionMarker !== null || signals.successBlocked) return false;
  if (growth.activeMs === null || nowMs - growth.activeMs > windowMs) return false;
  const [first] = growth.samples.filter((sample) => nowMs - sample.atMs <= windowMs);
  const last = growth.samples.at(-1);
  if (!first || !last) return false;
  return last.characters - first.characters >= growthCharacters || last.lines - first.lines >= growthLines;
}

/** When the hint may cease to hold; null when it does not hold. */
export function growthExpiryMs(growth: Growth, signals: Signals | null, nowMs: number): number | null {
  if (!signals || !growthHint(growth, signals, nowMs)) return null;
  return (growth.samples[0]?.atMs ?? nowMs) + windowMs + 1;
}
