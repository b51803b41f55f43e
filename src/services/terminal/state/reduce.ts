import type {
  ProbeSnapshot,
  Surface,
  TerminalDiagnostics,
  TerminalHistoryEntry,
  TrackingTimings,
} from "../../../protocol/terminal.ts";
import { toTimestamp } from "../../../system/clock.ts";
import { type Signals, unknownSurface } from "../detect/signals.ts";
import { nextParked } from "../detect/usage-limit.ts";
import { failingOnScreen } from "../readiness.ts";
import type { Observation } from "../screen.ts";
import { fuseEnd, leavesRoomForTurn, reportedTurn, secondWitness } from "./fusion.ts";
import { observedFields } from "./record.ts";
import {
  type Held,
  type Moment,
  nextAsked,
  noTurn,
  type TrackEvent,
  type TrackState,
} from "./reduce-state.ts";
import { transitionBetween } from "./reduce-transition.ts";
import { closeTurn, growthHint, nextTurn, sampleGrowth, unmovingMs, unseenTurnMs } from "./reduce-turn.ts";
import {
  beginGivenUp,
  endGivenUp,
  endOfNewest,
  promptSubmitted,
  runsByReport,
  takeReport,
  turnOver,
  typedPrompt,
} from "./reported-turns.ts";

const maxTransitions = 24;
const maxHistory = 1000;
const maxStartupAnswers = 8;
const excerptLength = 4000;

/**
 * The tracked state after one event. Pure; `event.at` is the only time there is. A clock that went back
 * counts as being still. Source: spec/terminal.md 2.
 */
export function reduce(before: TrackState, event: TrackEvent, timings: TrackingTimings): TrackState {
  const at = notBefore(event.at, before.at);
  const seen = takeIn({ ...before, at }, event);
  const turned = event.kind === "prompt_noted" ? note(seen, event) : judge(seen, timings);
  const judged: TrackState = {
    ...turned,
    parked: nextParked(before.parked, {
      before: before.signals,
      signals: turned.signals,
      turnRuns: turned.turn.phase === "active",
      at,
    }),
    asked: nextAsked(before.asked, turned),
  };
  const settled = witnessed(settleStability(judged, before, timings), before, event);
  const transition = transitionBetween(before, settled);
  const after = transition
    ? { ...settled, transitions: [...settled.transitions, transition].slice(-maxTransitions) }
    : settled;
  return samplesNothing.has(event.kind) ? after : withHistory(after);
}

/** One entry of the history is one look at the terminal (ruling 24), or what was noted of a turn. */
const samplesNothing: ReadonlySet<TrackEvent["kind"]> = new Set([
  "tick",
  "prompt_typed",
  "reported",
  "startup_answered",
]);

function notBefore(at: Moment, earliest: Moment): Moment {
  return { wallMs: at.wallMs, monotonicMs: Math.max(at.monotonicMs, earliest.monotonicMs) };
}

/** What the event says, without judging the turn. */
function takeIn(state: TrackState, event: TrackEvent): TrackState {
  switch (event.kind) {
    case "observed":
      return observe(state, event.observation, event.signals);
    case "probe_failed":
      return blind(state, {
        transport_state: "probe_error",
        process_state: "unknown",
        parse_status: "probe_error",
        probe_error: event.error,
        parse_error: null,
      });
    case "tmux_missing":
      return blind(state, {
        transport_state: "tmux_missing",
        process_state: "unknown",
        parse_status: "transport_unavailable",
        probe_error: null,
        parse_error: null,
      });
    case "turn_interrupted":
      return {
        ...state,
        turn: closeTurn(state.turn, "interrupted", state.at),
        reports: turnOver(state.reports, state.at.wallMs),
      };
    case "prompt_typed": {
      const { key, command } = event;
      return {
        ...state,
        reports: typedPrompt(state.reports, { key, command, wallMs: event.at.wallMs }),
      };
    }
    case "reported": {
      const turnRuns = state.turn.phase === "active";
      return {
        ...state,
        reports: takeReport(state.reports, event.report, { reachedMs: state.at.monotonicMs, turnRuns }),
      };
    }
    case "startup_answered": {
      const { question, option } = event;
      const answer = { question, option, at_utc: toTimestamp(event.at.wallMs) };
      return { ...state, startupAnswers: [...state.startupAnswers, answer].slice(-maxStartupAnswers) };
    }
    case "prompt_noted":
    case "tick":
      return state;
  }
}

function blind(state: TrackState, causes: Omit<TerminalDiagnostics, "availability">): TrackState {
  return {
    ...state,
    diagnostics: { availability: availabilityOf(causes, null), ...causes },
    probe: null,
    signals: null,
    unknownSinceMs: null,
    screen: unheld(state),
    verdicts: unheld(state),
    growth: { samples: [], activeMs: null },
  };
}

/** What was not seen the whole time has not held. */
const unheld = (state: TrackState): Held => ({ key: "", sinceMs: state.at.monotonicMs });

/** Which word sums the diagnostics up; the first that holds. Source: spec/terminal.md 1. */
function availabilityOf(
  causes: Omit<TerminalDiagnostics, "availability">,
  signals: Signals | null,
): TerminalDiagnostics["availability"] {
  if (causes.probe_error || causes.parse_error) return "error";
  if (causes.transport_state === "tmux_missing") return "unavailable";
  if (causes.process_state === "tui_down") return "tui_down";
  if (causes.process_state === "unsupported_tool") return "unknown";
  return signals?.parsedSurface?.availability === "supported" ? "available" : "unknown";
}

function observe(state: TrackState, observation: Observation, signals: Signals): TrackState {
  const now = state.at.monotonicMs;
  const causes = {
    transport_state: "tmux_up" as const,
    process_state: signals.processState,
    parse_status: signals.parseStatus,
    probe_error: signals.probeError,
    parse_error: null,
  };
  const parsed = signals.parseStatus === "parsed";
  const readable = signals.promptVisible || signals.awaitingDecision !== null;
  const verdicts = JSON.stringify([
    signals.surface,
    signals.activeReasons,
    signals.title,
    signals.projection,
    signals.latestStatusLine,
  ]);
  return {
    ...state,
    diagnostics: { availability: availabilityOf(causes, signals), ...causes },
    probe: probeOf(observation, signals),
    signals,
    startupAnswers: signals.processState === "tui_down" ? [] : state.startupAnswers,
    screen: parsed
      ? hold(state.screen, `${observation.pane.title ?? ""}\n${signals.screenText}`, now)
      : unheld(state),
    verdicts: parsed ? hold(state.verdicts, verdicts, now) : unheld(state),
    growth: sampleGrowth(state.growth, signals, now),
    unprovedVersion: signals.versionProved === null ? state.unprovedVersion : unprovedOf(signals),
    unknownSinceMs: readable ? null : (state.unknownSinceMs ?? now),
  };
}

const hold = (held: Held, key: string, nowMs: number): Held =>
  held.key === key ? held : { key, sinceMs: nowMs };

const sha1 = (text: string) => new Bun.CryptoHasher("sha1").update(text).digest("hex");

/**
 * The same text on its own: a slice keeps the whole text alive that it was cut from, here for 1000 samples.
 */
const ownText = (slice: string) => Buffer.from(slice, "utf8").toString("utf8");

function probeOf(observation: Observation, signals: Signals): ProbeSnapshot {
  return {
    observed_at_utc: toTimestamp(observation.atMs),
    pane_id: observation.pane.paneId,
    pane_pid: observation.pane.panePid,
    captured_text_hash: sha1(observation.raw),
    captured_text_length: observation.raw.length,
    captured_text_excerpt: ownText(observation.raw.slice(-excerptLength)),
    matched_process_names: signals.matchedProcesses,
  };
}

/** A noted prompt makes the turn active at once and cancels both recoveries; it never touches the surface. */
function note(state: TrackState, event: Extract<TrackEvent, { kind: "prompt_noted" }>): TrackState {
  const usable = isUsable(state);
  const now = state.at.monotonicMs;
  return publish({
    ...state,
    screen: { ...state.screen, sinceMs: now },
    verdicts: { ...state.verdicts, sinceMs: now },
    reports: promptSubmitted(state.reports, notedPrompt(event)),
    turn: {
      ...state.turn,
      phase: usable ? "active" : "unknown",
      lastTurn: noTurn,
      armed: usable ? "explicit_input" : null,
      draftedOn: null,
      anchor: usable
        ? {
            baseline: event.baseline ?? state.signals?.projection ?? null,
            sawActivity: event.sawActivity,
            changed: false,
            command: event.command,
            reported: event.reported ?? false,
            idleSinceMs: null,
            endSinceMs: null,
          }
        : null,
      settle: null,
      recovery: null,
      toolReady: false,
    },
  });
}

/** Of a prompt that we typed is known already what there is to know. */
function notedPrompt({ reported, key, command, at }: Extract<TrackEvent, { kind: "prompt_noted" }>) {
  return reported && key ? { key, command, wallMs: at.wallMs } : null;
}

function isUsable({ diagnostics }: TrackState): boolean {
  return (
    diagnostics.transport_state === "tmux_up" &&
    diagnostics.process_state === "tui_up" &&
    diagnostics.parse_status === "parsed"
  );
}

/** Whether a turn is reported to run of which the screen shows nothing. */
function isUnseen({ reports, signals, turn }: TrackState): boolean {
  const isRunning = runsByReport(reports) && turn.anchor?.command !== true;
  return isRunning && signals !== null && leavesRoomForTurn(signals);
}

/**
 * Without the report of a turn of which the screen has shown nothing for `unseenTurnMs`: its end was not
 * reported, and rows that no rule reads, such as a clock, keep the screen moving.
 */
function forgetUnseen(state: TrackState, timings: TrackingTimings): TrackState {
  if (!isUnseen(state) || state.at.monotonicMs - state.verdicts.sinceMs < unseenTurnMs(timings)) return state;
  return { ...state, reports: beginGivenUp(state.reports, state.at.wallMs) };
}

function judge(given: TrackState, timings: TrackingTimings): TrackState {
  const state = forgetUnseen(given, timings);
  const now = state.at.monotonicMs;
  const { signals } = state;
  const hint = signals ? growthHint(state.growth, signals, now) : false;
  const runs = runsByReport(state.reports);
  const unseen = isUnseen(state);
  const activeReasons = [
    ...(signals?.activeReasons ?? []),
    ...(hint ? ["transcript_growth"] : []),
    ...(unseen ? [reportedTurn] : []),
  ];
  const surface: Surface = signals ? withHint(signals.surface, hint || unseen) : unknownSurface;
  const stalled =
    state.unknownSinceMs !== null &&
    now - state.unknownSinceMs >= timings.unknown_to_stalled_timeout_seconds * 1000;
  const usable = isUsable(state);
  const screenHeldMs = now - state.screen.sinceMs;
  const end = endOfNewest(state.reports);
  const fused = fuseEnd({
    end,
    usable,
    signals,
    screenHeldMs,
    endAgeMs: end ? now - end.reachedMs : 0,
    leftoverMs: timings.stability_threshold_seconds * 1000,
  });
  // A recovery speaks of one unmoving screen; the next change ends it.
  const moved = state.screen.sinceMs === now && state.turn.recovery !== null;
  const turn = nextTurn(
    {
      ...state.turn,
      recovery: moved ? null : state.turn.recovery,
      toolReady: state.turn.toolReady && !runs,
    },
    {
      usable,
      signals,
      activeReasons,
      surface,
      screenHeldMs,
      stalled,
      fused,
      verdictsHeldMs: now - state.verdicts.sinceMs,
      unmovingMs: unmovingMs(state, activeReasons, timings),
    },
    state.at,
    timings,
  );
  if (fused.by === "tool" && signals) {
    // A transcript that grew until its turn ended says nothing of the time after.
    const reports = turnOver(state.reports, state.at.wallMs);
    const ended = { ...state, turn, growth: { samples: [], activeMs: null }, reports };
    return publish(ended, signals.activeReasons, signals.surface);
  }
  const reports =
    fused.by === "neither" && fused.givenUp
      ? endGivenUp(state.reports, fused.because, state.at.wallMs)
      : state.reports;
  const activeMs = activeReasons.length > 0 ? now : state.growth.activeMs;
  return publish({ ...state, turn, reports, growth: { ...state.growth, activeMs } }, activeReasons, surface);
}

const withHint = (surface: Surface, hint: boolean): Surface =>
  hint ? { ...surface, ready_posture: "no" } : surface;

/** The surface as it is published: a recovery overrules the facts it recovered from. */
function publish(
  state: TrackState,
  activeReasons: readonly string[] = state.activeReasons,
  surface: Surface = state.surface,
): TrackState {
  const parsed = state.signals?.parsedSurface ?? null;
  if (state.turn.recovery) {
    return {
      ...state,
      activeReasons: [],
      surface: { ...surface, ready_posture: "yes" },
      parsedSurface: parsed && { ...parsed, business_state: "idle" },
    };
  }
  const working = activeReasons.length > 0 && parsed?.business_state === "idle";
  return {
    ...state,
    activeReasons,
    surface,
    parsedSurface: working ? { ...parsed, business_state: "working" } : parsed,
  };
}

function settleStability(state: TrackState, before: TrackState, timings: TrackingTimings): TrackState {
  const fields = observedFields(state);
  const signature = sha1(
    JSON.stringify([
      fields.diagnostics,
      fields.parsed_surface,
      fields.surface,
      fields.turn,
      fields.last_turn,
      fields.chat_context,
    ]),
  );
  const moved = signature !== before.stability.signature;
  const since = moved ? state.at : before.stability.since;
  const heldMs = state.at.monotonicMs - since.monotonicMs;
  const held = !moved && heldMs >= timings.stability_threshold_seconds * 1000;
  const byTool =
    state.turn.toolReady &&
    failingOnScreen({ ...fields, stability: { ...fields.stability, stable: true } }).length === 0;
  const witness = held ? (byTool ? "both" : "screen") : byTool ? "tool" : null;
  return {
    ...state,
    // The same texts as before: the history then shares them.
    parsedSurface: moved ? state.parsedSurface : before.parsedSurface,
    stability: { signature, since, held, stable: witness !== null, witness },
    // What rests is no turn any more, whatever the tool may yet report of it.
    reports: held && state.turn.phase === "ready" ? turnOver(state.reports, state.at.wallMs) : state.reports,
  };
}

const unprovedOf = ({ versionProved, toolVersion }: Signals) => (versionProved === true ? null : toolVersion);

/** The second witness of a version that the profile was not proved on. */
function witnessed(state: TrackState, before: TrackState, event: TrackEvent): TrackState {
  const { at, turn, signals, reports } = state;
  const started = event.kind === "reported" && event.report.kind === "session_started";
  const asked =
    event.kind === "prompt_typed" || event.kind === "prompt_noted" || (event.kind === "reported" && !started);
  const begins =
    started &&
    reports.sessionId !== null &&
    (reports.sessionId !== before.reports.sessionId || before.reports.sessionOver);
  const rests = turn.phase !== "active" && signals !== null;
  const sessionBegan = !asked && rests && (begins || before.sessionBegan);
  // Most versions are proved, and then nothing has to be looked at.
  if (state.unprovedVersion === null) return { ...state, sessionBegan, secondWitness: null };
  return {
    ...state,
    sessionBegan,
    secondWitness: secondWitness({
      unprovedVersion: state.unprovedVersion,
      screenReady: failingOnScreen(observedFields(state)).length === 0,
      reportedRest: turn.toolReady ? "turn_ended" : sessionBegan ? "session_started" : null,
      composerProved: signals?.cursorAtStart === true,
      screenHeldMs: at.monotonicMs - state.screen.sinceMs,
      readingsHeldMs: at.monotonicMs - state.stability.since.monotonicMs,
    }),
  };
}

function withHistory(state: TrackState): TrackState {
  const entry: TerminalHistoryEntry = {
    recorded_at_utc: toTimestamp(state.at.wallMs),
    ...observedFields(state),
  };
  return { ...state, history: [...state.history, entry].slice(-maxHistory) };
}
