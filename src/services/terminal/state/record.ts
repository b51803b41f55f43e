import { join } from "node:path";
import type { Manifest } from "../../../protocol/files.ts";
import type {
  AwaitingDecision,
  TerminalHistory,
  TerminalHistoryEntry,
  TerminalState,
  TrackedSession,
} from "../../../protocol/terminal.ts";
import { toTimestamp } from "../../../system/clock.ts";
import { parkedAt } from "../detect/usage-limit.ts";
import { reportHoldsMs } from "./fusion.ts";
import type { Moment, TrackState } from "./reduce-state.ts";

type ObservedFields = Omit<TerminalHistoryEntry, "recorded_at_utc">;

/**
 * The record's fields from `diagnostics` to `stability`, as of `at`, which is not before the state's moment.
 */
export function observedFields(state: TrackState, at: Moment = state.at): ObservedFields {
  const { signals, turn, stability } = state;
  const parked = parkedAt(state, at);
  const background = backgroundOf(state, at);
  const awaiting = signals?.awaitingDecision ?? null;
  const heldMs = Math.max(0, at.monotonicMs - stability.since.monotonicMs);
  return {
    diagnostics: state.diagnostics,
    probe_snapshot: state.probe,
    parsed_surface: state.parsedSurface,
    surface: state.surface,
    turn: { phase: turn.phase },
    last_turn: turn.lastTurn,
    chat_context: signals?.chatContext ?? "unknown",
    chat_context_diagnostic: signals?.chatContextDiagnostic ?? null,
    stability: {
      signature: stability.signature,
      stable: stability.stable,
      stable_for_seconds: Math.round(heldMs) / 1000,
      stable_since_utc: toTimestamp(stability.since.wallMs),
      ...(state.screen.key === ""
        ? {}
        : { screen_since_utc: toTimestamp(state.at.wallMs - (state.at.monotonicMs - state.screen.sinceMs)) }),
      ...(stability.witness ? { witness: stability.witness } : {}),
    },
    ...(state.secondWitness ? { second_witness: state.secondWitness } : {}),
    ...(awaiting
      ? { awaiting_decision: { ...awaiting, ...identityOf(state), ...reportedQuestion(state) } }
      : {}),
    ...(parked ? { parked, parked_until: parked.until } : {}),
    ...(background.length > 0 ? { background } : {}),
    active_reasons: [...state.activeReasons],
  };
}

/**
 * What goes on beside the turns: as the screen says, and before it can have followed the end of a turn, as
 * the tool reported there. A report of a task that was ended by hand would otherwise hold for ever.
 */
function backgroundOf({ signals, reports: { background } }: TrackState, at: Moment): string[] {
  const seen = signals?.background ?? [];
  if (seen.length > 0) return seen;
  return background && at.monotonicMs - background.reachedMs < reportHoldsMs ? [...background.work] : [];
}

function identityOf({
  asked: { current },
}: TrackState): Pick<AwaitingDecision, "id" | "since_utc" | "opened_by"> {
  if (!current) return {};
  const opened = current.byPerson ? { opened_by: "person" as const } : {};
  return { id: current.id, since_utc: toTimestamp(current.sinceMs), ...opened };
}

const messageLength = 2000;

/** What the tool itself says of the question on its screen. */
function reportedQuestion({ reports: { question } }: TrackState): Pick<AwaitingDecision, "reported"> {
  if (!question) return {};
  return {
    reported: { message: question.message?.slice(0, messageLength) ?? null, action: question.action },
  };
}

/** The terminal state record. `session` names what is tracked. Source: contract 2.4; spec/terminal.md 1. */
export function toTerminalState(
  state: TrackState,
  session: TrackedSession,
  at: Moment = state.at,
): TerminalState {
  return {
    terminal_id: session.terminal_aliases[0] ?? session.tracked_session_id,
    tracked_session: {
      ...session,
      observed_tool_version: state.signals?.toolVersion ?? session.observed_tool_version,
    },
    ...observedFields(state, at),
    recent_transitions: [...state.transitions],
    ...(state.startupAnswers.length > 0 ? { startup_answers: [...state.startupAnswers] } : {}),
  };
}

/** The newest `limit` entries, newest last. */
export function toTerminalHistory(
  state: TrackState,
  session: TrackedSession,
  limit: number,
): TerminalHistory {
  return {
    terminal_id: session.terminal_aliases[0] ?? session.tracked_session_id,
    tracked_session_id: session.tracked_session_id,
    entries: limit > 0 ? state.history.slice(-limit) : [],
  };
}

/**
 * What a manifest says of the session whose terminal is tracked. Source: spec/terminal.md 1; coordination.
 */
export function toTrackedSession(manifest: Manifest, sessionRoot: string): TrackedSession {
  return {
    tracked_session_id: manifest.runtime.session_id,
    session_name: manifest.tmux_session_name,
    tool: manifest.tool,
    observed_tool_version: null,
    tmux_session_name: manifest.tmux_session_name,
    tmux_window_name: manifest.tmux.primary_window_name ?? manifest.interactive?.tmux_window_name ?? null,
    terminal_aliases: [],
    agent_name: manifest.agent_name,
    agent_id: manifest.agent_id,
    manifest_path: join(sessionRoot, "manifest.json"),
    session_root: sessionRoot,
  };
}
