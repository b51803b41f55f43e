import type { Surface, TerminalExplanation, TrackingTimings } from "../../../protocol/terminal.ts";
import { toTimestamp } from "../../../system/clock.ts";
import type { CompiledProfile } from "../profiles/profile.ts";
import { failingFacts } from "../readiness.ts";
import { type Observation, parseScreen } from "../screen.ts";
import { contradictionOf } from "../state/fusion.ts";
import { observedFields } from "../state/record.ts";
import { reduce } from "../state/reduce.ts";
import { initialTrack, type Moment, type TrackState } from "../state/reduce-state.ts";
import { endOfNewest } from "../state/reported-turns.ts";
import { detect } from "./detect.ts";

/**
 * Explains the tracked state; `profile` is the one its signals were read with, `absence` is why the tool
 * reports nothing of itself.
 */
export function explainState(
  state: TrackState,
  { tool, profile, absence }: { tool: string; profile: CompiledProfile | null; absence: string | null },
  at: Moment = state.at,
): TerminalExplanation {
  const fields = observedFields(state, at);
  const { signals, turn } = state;
  const failing = failingFacts(fields);
  const reasonOf = (name: keyof Surface): TerminalExplanation["surface"]["accepting_input"] => {
    const value = fields.surface[name];
    if (!signals) return { value, reason: "the terminal could not be read" };
    if (signals.surface[name] === value) return { value, reason: signals.surfaceReasons[name] };
    return { value, reason: turn.recovery ? `recovery: ${turn.recovery}` : "the transcript still grows" };
  };
  return {
    tool,
    profile_version: profile?.data.profile_version ?? null,
    proved_versions: [...(profile?.data.proved_versions ?? [])],
    tool_version: signals?.toolVersion ?? null,
    surface: {
      accepting_input: reasonOf("accepting_input"),
      editing_input: reasonOf("editing_input"),
      ready_posture: reasonOf("ready_posture"),
      pending_input: reasonOf("pending_input"),
    },
    title: signals?.title ?? "unknown",
    active_reasons: [...state.activeReasons],
    fired_rules: [...(signals?.firedRules ?? [])],
    turn: { phase: turn.phase, reason: phaseReason(state) },
    last_turn: turn.lastTurn,
    awaiting_decision: fields.awaiting_decision ?? null,
    prompt_ready: { holds: failing.length === 0, failing },
    ...(fields.second_witness ? { second_witness: fields.second_witness } : {}),
    reports: explainReports(state, absence),
  };
}

function explainReports(state: TrackState, absence: string | null): TerminalExplanation["reports"] {
  const { reports, signals, turn } = state;
  const { last, question, newest } = reports;
  const contradictions = reports.doubts.map(({ wallMs, doubt }) => `${toTimestamp(wallMs)} ${doubt}`);
  const waits = endOfNewest(reports) && signals ? contradictionOf(signals, false) : null;
  if (waits !== null) contradictions.push(`the tool reported the end of its turn, but ${waits}`);
  if (newest?.end === null && turn.phase === "ready") {
    contradictions.push("the tool reported a turn and not its end, but the screen shows none that runs");
  }
  if (question && !signals?.awaitingDecision) {
    const action = question.action === null ? "" : ` for ${question.action}`;
    contradictions.push(`the tool reported a question${action}, but the screen shows none`);
  }
  return {
    absence,
    received: reports.received,
    session_id: reports.sessionId,
    last: last && { kind: last.kind, at_utc: toTimestamp(last.wallMs) },
    contradictions,
  };
}

function phaseReason(state: TrackState): string {
  const { turn, signals, activeReasons, diagnostics } = state;
  if (!signals || diagnostics.parse_status !== "parsed") return `parse_status=${diagnostics.parse_status}`;
  if (turn.recovery) return `recovery: ${turn.recovery}`;
  if (turn.phase === "active") {
    if (activeReasons.length > 0) return `busy: ${activeReasons.join(", ")}`;
    if (signals.awaitingDecision) return "a question is open in the middle of a turn";
    return "a prompt was submitted and the end of its turn was not seen";
  }
  if (signals.interrupted) return "the newest turn was interrupted";
  if (signals.knownFailure) return "the newest turn failed";
  return signals.surfaceReasons.ready_posture;
}

/** A recording says nothing of blank columns at its right edge. */
const usualWidth = 80;

/** A recorded screen as an observation of a pane in which the tool runs. */
export function observationOf(recording: {
  raw: string;
  tool: CompiledProfile;
  title: string | null;
  cursorRow: number | null;
  /** From 0; default: not known. */
  cursorColumn?: number | null;
  /** Rows of the pane; default: as many as were recorded. */
  height?: number;
}): Observation {
  const rows = parseScreen(recording.raw);
  const { commands, scripts, arguments: tokens } = recording.tool.data.process;
  const name = commands[0] ?? scripts[0] ?? recording.tool.data.executable;
  return {
    atMs: 0,
    raw: recording.raw,
    rows,
    cursor:
      recording.cursorRow === null
        ? null
        : { row: recording.cursorRow, column: recording.cursorColumn ?? null },
    pane: {
      paneId: "%0",
      panePid: 1,
      dead: false,
      inMode: false,
      width: Math.max(usualWidth, ...rows.map((row) => row.text.length)),
      height: recording.height ?? rows.length,
      alternateScreen: false,
      title: recording.title,
      windowName: "",
    },
    processes: [{ pid: 1, parentPid: 0, command: name, argv: [name, ...tokens] }],
  };
}

/**
 * Reads one `capture-pane -p -e` recording as if the tool showed nothing else before and the screen had been
 * still long enough to be stable. For `tools explain`.
 */
export function explainRecording(
  recording: {
    raw: string;
    tool: CompiledProfile;
    title: string | null;
    cursorRow: number | null;
    /** Epoch milliseconds that the screen's own times are read against. */
    nowMs: number;
  },
  timings: TrackingTimings,
): TerminalExplanation {
  const observation = observationOf(recording);
  // A recording is one moment: how long its screen was still is not known.
  const signals = { ...detect(observation, recording.tool), versionProved: null };
  const start: Moment = { wallMs: recording.nowMs, monotonicMs: 0 };
  const held: Moment = { wallMs: recording.nowMs, monotonicMs: timings.stability_threshold_seconds * 1000 };
  const seen = reduce(initialTrack(start), { kind: "observed", at: start, observation, signals }, timings);
  const state = reduce(seen, { kind: "tick", at: held }, timings);
  const { tool } = recording;
  return explainState(state, { tool: tool.data.tool, profile: tool, absence: "a recording has no reports" });
}
