import type { LastTurn, Surface, TrackingTimings } from "../../../protocol/terminal.ts";
import { toTimestamp } from "../../../system/clock.ts";
import type { Signals } from "../detect/signals.ts";
import { contradictionOf, type FusedEnd, reportedTurn } from "./fusion.ts";
import { type Anchor, type Moment, noTurn, type TrackState, type TurnState } from "./reduce-state.ts";
import { runsByReport } from "./reported-turns.ts";

/** What a turn is judged by at one moment. */
interface TurnFacts {
  /** tmux, process and parser are all there. */
  usable: boolean;
  signals: Signals | null;
  /** Facts that say that a turn runs, hints included. */
  activeReasons: readonly string[];
  surface: Surface;
  /** How long the screen with its title, and how long the verdicts, have not changed. */
  screenHeldMs: number;
  verdictsHeldMs: number;
  /** How long a busy screen must not have changed to be a left-over. */
  unmovingMs: number;
  /** The surface has been unreadable for `unknown_to_stalled_timeout_seconds`. */
  stalled: boolean;
  /** What the tool reported of the turn's end, judged by the screen. */
  fused: FusedEnd;
}

/** Reasons that may stay on the screen after the turn they spoke of. */
const leftoverReasons: readonly string[] = ["status_row", "turn_unfinished"];

/** How long an idle screen must hold before a reported prompt counts as never typed. */
export const neverTypedMs = 2000;

/**
 * The turn after one more look. Rules in this order, the first that holds decides: no usable surface; a
 * recovery that holds; recovery of an unmoving screen; recovery of a left-over status row; a draft typed
 * while idle; interrupted; failed; an end that the tool reported; working; a question in the middle of a
 * turn; a reported prompt that was never typed; a submitted prompt whose turn cannot be said to have ended;
 * success; plain ready or unknown. Source: spec/terminal.md 2.2-2.4.
 */
export function nextTurn(turn: TurnState, facts: TurnFacts, at: Moment, timings: TrackingTimings): TurnState {
  const { signals, activeReasons, surface } = facts;
  if (!facts.usable || !signals) return lost(turn);
  const followed = facts.stalled ? null : followAnchor(turn.anchor, signals, activeReasons);
  const anchor = followed && { ...followed, idleSinceMs: idleSince(followed, facts, signals, at) };
  const ended = facts.fused.by === "tool";
  const toolReady =
    ended || (turn.toolReady && contradictionOf(signals, turn.recovery === "reported_end") === null);
  const now: TurnState = { ...turn, anchor, toolReady };
  if (now.recovery && !ended) return now;
  const recovered = ended ? null : recover(now, facts, signals, timings);
  if (recovered) return recovered;

  const active = activeReasons.length > 0;
  const drafting = surface.editing_input === "yes" && !active;
  if (drafting && now.phase !== "active") return armByDraft(now, surface, signals);
  // A banner that was there before the prompt speaks of an older turn.
  const bannerCounts = !anchor || anchor.sawActivity || anchor.changed;
  if (signals.interrupted && !active && bannerCounts) return closeTurn(now, "interrupted", at);
  // Nor does one that comes back into sight where claude takes an interrupted prompt out of its transcript.
  const stopped = now.armed === null && now.lastTurn.result === "interrupted";
  if (signals.knownFailure && !active && bannerCounts && !stopped) {
    return closeTurn(now, "known_failure", at);
  }
  if (facts.fused.by === "tool") return endByReport(now, facts.fused, signals, at);
  if (active) {
    return {
      ...now,
      phase: "active",
      armed: now.armed ?? "surface_inference",
      draftedOn: null,
      lastTurn: noTurn,
      settle: null,
    };
  }
  if (signals.awaitingDecision && now.phase === "active") return { ...now, settle: null };
  if (anchor && now.phase === "active") {
    if (anchor.idleSinceMs !== null && at.monotonicMs - anchor.idleSinceMs >= neverTypedMs) {
      return { ...now, phase: "ready", armed: null, anchor: null, settle: null };
    }
    const waiting = awaitEnd(anchor, { signals, surface, drafting }, at, timings);
    if (waiting) return { ...now, anchor: waiting, settle: null };
    if (drafting) return armByDraft({ ...now, anchor: null }, surface, signals);
  }
  return settleSuccess({ ...now, anchor: null }, signals, surface, at, timings);
}

/** Without tmux, process or parser nothing may be claimed about the turn. */
function lost(turn: TurnState): TurnState {
  const cleared = { armed: null, anchor: null, settle: null, recovery: null, toolReady: false };
  return { ...turn, ...cleared, phase: "unknown" };
}

/**
 * The tool says that the turn is over, and the screen does not contradict: nothing has to settle (ruling 27).
 */
function endByReport(
  turn: TurnState,
  fused: Extract<FusedEnd, { by: "tool" }>,
  signals: Signals,
  at: Moment,
): TurnState {
  const { result, leftover } = fused;
  const over: TurnState = { ...turn, phase: "ready", anchor: null, draftedOn: null, settle: null };
  const ready: TurnState = { ...over, recovery: leftover ? "reported_end" : null, toolReady: true };
  if (result === "known_failure") return { ...closeTurn(ready, result, at), recovery: ready.recovery };
  if (result === "unproved") return ready;
  if (result === "none" || turn.armed === null) return { ...ready, armed: null };
  return {
    ...ready,
    armed: null,
    lastTurn: { result, source: turn.armed, updated_at_utc: toTimestamp(at.wallMs) },
    settledKey: signals.projection,
  };
}

function followAnchor(
  anchor: Anchor | null,
  signals: Signals,
  activeReasons: readonly string[],
): Anchor | null {
  if (!anchor) return null;
  if (!signals.promptVisible)
    return { ...anchor, sawActivity: anchor.sawActivity || activeReasons.length > 0 };
  const baseline = anchor.baseline ?? signals.projection;
  return {
    ...anchor,
    baseline,
    sawActivity: anchor.sawActivity || activeReasons.length > 0,
    changed: anchor.changed || signals.projection !== baseline,
  };
}

/**
 * Since when the screen shows that a reported prompt was never typed: an empty idle composer, no sign of
 * work, the transcript of before. Null while it does not, and for a prompt that we typed: its tool may not
 * have repainted yet.
 */
function idleSince(anchor: Anchor, facts: TurnFacts, signals: Signals, at: Moment): number | null {
  const { ready_posture, editing_input, pending_input } = facts.surface;
  const idle =
    anchor.reported &&
    !anchor.sawActivity &&
    !anchor.changed &&
    signals.promptVisible &&
    signals.promptText === "" &&
    signals.title !== "busy" &&
    ready_posture === "yes" &&
    editing_input === "no" &&
    pending_input !== "yes";
  return idle ? (anchor.idleSinceMs ?? at.monotonicMs) : null;
}

/**
 * How long a screen must not have moved to be left over from a turn. Longer where the tool, too, reported
 * that the turn began (a starved opencode 1.18.27 painted nothing for 29 s), and where nothing follows a
 * prompt that we submitted (gemini 0.61.0: 21 s). Pure.
 */
export function unmovingMs(
  { reports, turn, signals }: Pick<TrackState, "reports" | "turn" | "signals">,
  activeReasons: readonly string[],
  timings: TrackingTimings,
): number {
  const bothSayWork = runsByReport(reports) && activeReasons.some((reason) => reason !== reportedTurn);
  const unanswered = signals?.unanswered === true && turn.anchor?.command === false;
  return timings.final_stable_active_recovery_seconds * 1000 * (bothSayWork || unanswered ? 6 : 1);
}

/**
 * How long nothing that is read of the screen may change before a turn that is reported alone counts no more.
 */
export function unseenTurnMs(timings: TrackingTimings): number {
  return timings.final_stable_active_recovery_seconds * 1000 * 6;
}

function recover(
  turn: TurnState,
  facts: TurnFacts,
  signals: Signals,
  timings: TrackingTimings,
): TurnState | null {
  // A busy title vetoes ready (ruling 25); a question is answered, not recovered from.
  if (turn.phase !== "active" || signals.title === "busy" || signals.awaitingDecision) return null;
  const typable = facts.surface.accepting_input === "yes" && facts.surface.editing_input === "no";
  const cleared = { ...turn, anchor: null, armed: null, settle: null };
  if (facts.screenHeldMs >= facts.unmovingMs) {
    return typable
      ? { ...cleared, phase: "ready", recovery: "final_stable" }
      : { ...cleared, phase: "unknown", recovery: null };
  }
  const reasons = facts.activeReasons;
  const leftover = reasons.length > 0 && reasons.every((reason) => leftoverReasons.includes(reason));
  const held = facts.verdictsHeldMs >= timings.stale_active_recovery_seconds * 1000;
  if (!turn.anchor && leftover && signals.title === "idle" && typable && held) {
    return { ...cleared, phase: "ready", recovery: "stale_active" };
  }
  return null;
}

function armByDraft(turn: TurnState, surface: Surface, signals: Signals): TurnState {
  return {
    ...turn,
    phase: surface.ready_posture === "yes" ? "ready" : "unknown",
    armed: "surface_inference",
    draftedOn: turn.draftedOn ?? signals.projection,
    anchor: null,
    lastTurn: noTurn,
    settle: null,
  };
}

/** The turn is over with `result`; one that was closed so already keeps the time it was. */
export function closeTurn(turn: TurnState, result: "interrupted" | "known_failure", at: Moment): TurnState {
  const known = turn.armed === null && turn.lastTurn.result === result;
  const lastTurn: LastTurn = known
    ? turn.lastTurn
    : { result, source: turn.armed ?? "surface_inference", updated_at_utc: toTimestamp(at.wallMs) };
  return { ...turn, phase: "ready", lastTurn, armed: null, draftedOn: null, anchor: null, settle: null };
}

/**
 * The anchor of a prompt whose turn has not provably ended, or null when it has: it was seen working and is
 * idle again, or the transcript changed and the idle screen held. A bare idle screen right after the prompt
 * proves nothing: the tool may not have repainted yet. Nor does the prompt's own cell where turns are closed
 * by a row: a starved claude 2.1.197 showed only that for 2.6 s.
 */
function awaitEnd(
  anchor: Anchor,
  facts: { signals: Signals; surface: Surface; drafting: boolean },
  at: Moment,
  timings: TrackingTimings,
): Anchor | null {
  const { signals, drafting } = facts;
  const idle = facts.surface.ready_posture === "yes";
  // A starved gemini shows the prompt's cell, and only later that it works on it.
  if (signals.unanswered && !anchor.command && !drafting) return { ...anchor, endSinceMs: null };
  if (idle && anchor.sawActivity) return null;
  const mayEndUnmarked = !signals.endsAreMarked || anchor.command || drafting;
  const marked = signals.completionMarker !== null || signals.currentError;
  // A command that begins a new conversation leaves an untouched screen as it was.
  const emptied = anchor.command && signals.untouched;
  const closed = emptied || (anchor.changed && (mayEndUnmarked || marked));
  if (!(idle || drafting) || !(anchor.sawActivity || closed)) return { ...anchor, endSinceMs: null };
  const endSinceMs = anchor.endSinceMs ?? at.monotonicMs;
  if (at.monotonicMs - endSinceMs >= timings.completion_stability_seconds * 1000) return null;
  return { ...anchor, endSinceMs };
}

function settleSuccess(
  turn: TurnState,
  signals: Signals,
  surface: Surface,
  at: Moment,
  timings: TrackingTimings,
): TurnState {
  const ready = surface.ready_posture === "yes";
  const key = signals.projection;
  const settled = turn.lastTurn.result === "success";
  // The title of codex 0.169 spins for 30 ms while it starts: where nothing was asked, nothing has succeeded.
  const inferredFromNothing = turn.armed === "surface_inference" && signals.untouched;
  // A draft that was deleted again is no turn.
  if (ready && turn.draftedOn === key) return { ...turn, phase: "ready", armed: null, draftedOn: null };
  if (ready && signals.successCandidate && turn.armed && !inferredFromNothing) {
    const settle = turn.settle?.key === key ? turn.settle : { key, sinceMs: at.monotonicMs };
    if (at.monotonicMs - settle.sinceMs < timings.completion_stability_seconds * 1000) {
      return { ...turn, phase: "ready", settle };
    }
    return {
      ...turn,
      phase: "ready",
      lastTurn: { result: "success", source: turn.armed, updated_at_utc: toTimestamp(at.wallMs) },
      armed: null,
      draftedOn: null,
      settle: null,
      settledKey: key,
    };
  }
  // The tool reports an end before its screen has come to rest: what it paints then is of that turn.
  const outdated = settled && signals.promptVisible && turn.settledKey !== key && !turn.toolReady;
  return {
    ...turn,
    phase: ready ? "ready" : "unknown",
    settledKey: settled && turn.toolReady && signals.promptVisible ? key : turn.settledKey,
    lastTurn: outdated ? noTurn : turn.lastTurn,
    // An error that blocks success ended the turn all the same.
    armed: ready && signals.successBlocked ? null : turn.armed,
    settle: null,
  };
}

type Growth = TrackState["growth"];

const windowMs = 3000;
const maxGapMs = 2000;
const growthCharacters = 48;
const growthLines = 2;

/** Keeps the transcript sizes of the last three seconds; a gap in the samples starts again. */
export function sampleGrowth(growth: Growth, signals: Signals, nowMs: number): Growth {
  if (!signals.growthCounts || !signals.promptVisible) return { ...growth, samples: [] };
  const last = growth.samples.at(-1);
  const kept = last && nowMs - last.atMs <= maxGapMs ? growth.samples : [];
  const sample = {
    atMs: nowMs,
    characters: signals.projection.length,
    lines: signals.projection.split("\n").length,
  };
  return { ...growth, samples: [...kept.filter((one) => nowMs - one.atMs <= windowMs), sample] };
}

/**
 * A turn that was seen working a moment ago and whose transcript still grows goes on, though nothing on the
 * screen says so: some tools paint no status row while an answer streams.
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
