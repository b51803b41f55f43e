import type {
  AwaitingDecision,
  LastTurn,
  ParsedSurface,
  ProbeError,
  ProbeSnapshot,
  SecondWitness,
  Stability,
  StartupAnswer,
  Surface,
  TerminalDiagnostics,
  TerminalHistoryEntry,
  Transition,
  TurnPhase,
} from "../../../protocol/terminal.ts";
import type { ToolReport } from "../../../protocol/tool-report.ts";
import { sha256 } from "../../../system/digest.ts";
import { type Signals, unknownSurface } from "../detect/signals.ts";
import type { PromptKey } from "../keys.ts";
import type { Observation } from "../screen.ts";
import { noReports, type ReportedTurns } from "./reported-turns.ts";

/** One moment on both clocks: `wallMs` (epoch) goes into records, `monotonicMs` measures intervals. */
export interface Moment {
  wallMs: number;
  monotonicMs: number;
}

export type TrackEvent =
  /** The pane was read and its screen detected. */
  | { kind: "observed"; at: Moment; observation: Observation; signals: Signals }
  /** tmux could not be asked: that is not the same as gone. */
  | { kind: "probe_failed"; at: Moment; error: ProbeError }
  /** tmux answered that the session or the pane does not exist. */
  | { kind: "tmux_missing"; at: Moment }
  /**
   * A prompt was submitted. `baseline`: the transcript before it was typed, null for the present one.
   * `sawActivity`: the tool was already seen working on it. `command`: it is one of the tool's own, such as
   * `/clear`, which may leave no closing row. `reported`: a caller says so; we did not type it. `key`: of its
   * text, where it is known.
   */
  | {
      kind: "prompt_noted";
      at: Moment;
      baseline: string | null;
      sawActivity: boolean;
      command: boolean;
      reported?: boolean;
      key?: PromptKey;
    }
  /** We are about to type a prompt. */
  | { kind: "prompt_typed"; at: Moment; key: PromptKey; command: boolean }
  /** The tool reported something of itself. */
  | { kind: "reported"; at: Moment; report: ToolReport }
  /** We stopped the running turn and saw it stop, with or without a banner on the screen. */
  | { kind: "turn_interrupted"; at: Moment }
  /** The gateway answered a question with which the program starts. */
  | { kind: "startup_answered"; at: Moment; question: string; option: string }
  /** Time passed and nothing was read: timers may fire. */
  | { kind: "tick"; at: Moment };

/** The state when a prompt was submitted; it distinguishes the end of its turn from the beginning. */
export interface Anchor {
  baseline: string | null;
  sawActivity: boolean;
  /** The transcript differed from the baseline since. */
  changed: boolean;
  command: boolean;
  /** A caller reported the prompt; we did not type it. */
  reported: boolean;
  /** Since when the screen shows that nothing was typed; monotonic. */
  idleSinceMs: number | null;
  /** Since when the end of the turn could be claimed without having seen it work; monotonic. */
  endSinceMs: number | null;
}

export interface TurnState {
  phase: TurnPhase;
  lastTurn: LastTurn;
  armed: "explicit_input" | "surface_inference" | null;
  /** Armed by a draft alone: the transcript then; null once the tool was seen working. */
  draftedOn: string | null;
  anchor: Anchor | null;
  /** A success that must hold: the transcript it was seen with, and since when (monotonic). */
  settle: { key: string; sinceMs: number } | null;
  /** The transcript of the settled success. */
  settledKey: string | null;
  /** Why the agent counts as ready although its screen says that it works. */
  recovery: "stale_active" | "final_stable" | "reported_end" | null;
  /** The tool reported the end of the newest turn, and nothing on the screen has contradicted it since. */
  toolReady: boolean;
}

/**
 * The newest usage limit that was seen. It outlives its time and its notice, so that neither is reported
 * twice.
 */
export interface ParkedState {
  notice: string;
  /** Wall clock; null when the tool shows no time. */
  untilMs: number | null;
  /** The notice is on the screen. */
  shown: boolean;
  /** A turn ran since the notice was last judged. */
  ranSince: boolean;
}

/** The question on the screen, and the texts of those before it. */
interface AskedState {
  /**
   * `sinceMs`: wall clock. `byPerson`: somebody opened it at the terminal, and nothing says that the agent
   * asks.
   */
  current: { key: string; id: string; sinceMs: number; byPerson: boolean } | null;
  keys: readonly string[];
  /** The last composer that was seen whole; null when none was since the last question. */
  composer: { draft: string; screenText: string; atRest: boolean } | null;
}

export interface Held {
  key: string;
  sinceMs: number;
}

export interface TrackState {
  at: Moment;
  diagnostics: TerminalDiagnostics;
  probe: ProbeSnapshot | null;
  /** Of the last readable observation; null before the first and when tmux cannot be read. */
  signals: Signals | null;
  turn: TurnState;
  /** The newest usage limit, also when it is over; null before the first. */
  parked: ParkedState | null;
  asked: AskedState;
  /** Of the program that runs, newest last. */
  startupAnswers: readonly StartupAnswer[];
  /** As published: with hints and recoveries applied. */
  surface: Surface;
  parsedSurface: ParsedSurface | null;
  activeReasons: readonly string[];
  /** Screen text and title, for the final recovery. */
  screen: Held;
  /** What the verdicts were made of, for the stale-active recovery. */
  verdicts: Held;
  /** Transcript sizes of the last seconds, and when activity was last believed; monotonic. */
  growth: {
    samples: readonly { atMs: number; characters: number; lines: number }[];
    activeMs: number | null;
  };
  /** Since when the surface has been unreadable; monotonic. */
  unknownSinceMs: number | null;
  reports: ReportedTurns;
  /** `held`: for the threshold. It is stable, too, where the tool says that it is ready (ruling 27). */
  stability: {
    signature: string;
    since: Moment;
    held: boolean;
    stable: boolean;
    witness: Stability["witness"] | null;
  };
  /** The version that the tool showed last, when its profile was not proved on it; null otherwise. */
  unprovedVersion: string | null;
  /** The tool reported the begin of its session, and nothing was asked of it since. */
  sessionBegan: boolean;
  /** Null when none is asked for. */
  secondWitness: SecondWitness | null;
  /** Newest last, at most 24. */
  transitions: readonly Transition[];
  /** Newest last, at most 1000. */
  history: readonly TerminalHistoryEntry[];
}

/** Before the first sample. Source: spec/terminal.md 1. */
export function initialTrack(at: Moment): TrackState {
  return {
    at,
    diagnostics: {
      availability: "unknown",
      transport_state: "tmux_missing",
      process_state: "unknown",
      parse_status: "transport_unavailable",
      probe_error: null,
      parse_error: null,
    },
    probe: null,
    signals: null,
    turn: {
      phase: "unknown",
      lastTurn: noTurn,
      armed: null,
      draftedOn: null,
      anchor: null,
      settle: null,
      settledKey: null,
      recovery: null,
      toolReady: false,
    },
    parked: null,
    asked: { current: null, keys: [], composer: null },
    startupAnswers: [],
    surface: unknownSurface,
    parsedSurface: null,
    activeReasons: [],
    screen: { key: "", sinceMs: at.monotonicMs },
    verdicts: { key: "", sinceMs: at.monotonicMs },
    growth: { samples: [], activeMs: null },
    unknownSinceMs: null,
    reports: noReports(at.wallMs),
    stability: { signature: "", since: at, held: false, stable: false, witness: null },
    unprovedVersion: null,
    sessionBegan: false,
    secondWitness: null,
    transitions: [],
    history: [],
  };
}

export const noTurn: LastTurn = { result: "none", source: "none", updated_at_utc: null };

const idLength = 12;
/** A question that was asked before these is asked for the first time again. */
const maxRemembered = 32;

/**
 * The question after one more event. What a tool asks has an id made of its text, so that a gateway that
 * starts again finds the same one; a text that was answered and is asked again gets another. A screen that
 * cannot be read says nothing of it.
 */
export function nextAsked(held: AskedState, state: Omit<TrackState, "asked">): AskedState {
  const { signals, at } = state;
  if (!signals) return held;
  const { awaitingDecision: decision, promptVisible, promptText: draft, screenText } = signals;
  if (!decision) {
    if (!promptVisible) return held;
    const atRest = state.turn.phase !== "active" && state.turn.armed === null;
    return { ...held, current: null, composer: { draft, screenText, atRest } };
  }
  const key = sha256(JSON.stringify(textOf(decision, screenText)));
  const byPerson = isOpenedByPerson(held, state, decision);
  if (held.current?.key === key) {
    return held.current.byPerson === byPerson ? held : { ...held, current: { ...held.current, byPerson } };
  }
  const repeated = held.keys.includes(key);
  const id = (repeated ? sha256(`${key} ${at.wallMs}`) : key).slice(0, idLength);
  const keys = repeated ? held.keys : [...held.keys, key].slice(-maxRemembered);
  return { keys, current: { key, id, sinceMs: at.wallMs, byPerson }, composer: null };
}

/**
 * Whether the list on the screen was opened by somebody at the terminal (`/model`, a key of the tool), so
 * that the agent asks nothing. Only what was seen counts; where anything may be a question of the agent, it
 * is one:
 * 1. a list that is no permission, no trust and no title that asks, without a turn, a prompt that we typed
 *   and a report;
 * 2. another page of such a list, or the last composer held a command, or it was empty and at rest and the
 *   screen above
 *    the list shows nothing that was not there: no prompt was submitted.
 */
function isOpenedByPerson(
  { current, composer }: AskedState,
  { signals, turn, reports }: Omit<TrackState, "asked">,
  { kind }: AwaitingDecision,
): boolean {
  if (kind !== "selection_menu" || signals === null || signals.title === "decision") return false;
  if (turn.phase === "active" || reports.typed !== null || reports.question !== null) return false;
  if (reports.newest !== null && reports.newest.end === null) return false;
  if (current) return current.byPerson;
  if (composer === null) return false;
  if (/^\s*\//u.test(composer.draft)) return true;
  return composer.draft.trim() === "" && composer.atRest && showsNothingNew(signals, composer.screenText);
}

function showsNothingNew({ screenText, firedRules }: Signals, before: string): boolean {
  const firstRow = firedRules[0]?.row ?? 0;
  const known = new Set(before.split("\n").map((row) => row.trim()));
  const above = screenText
    .split("\n")
    .slice(0, firstRow)
    .map((row) => row.trim());
  const worded = above.filter((row) => /[\p{L}\p{N}]/u.test(row));
  return worded.length > 0 && worded.every((row) => known.has(row));
}

/**
 * The command of a permission is above its question: rows of the screen's end that belong to the question.
 */
const maxRows = 20;

/** What a person decides on: everything but the mark of the chosen option and what moves by itself. Pure. */
function textOf({ kind, question, options }: AwaitingDecision, screenText: string): unknown {
  const rows = screenText
    .split("\n")
    .map(plainRow)
    .filter((row) => row !== "");
  return [kind, question, options.map(({ text }) => text), rows.slice(-maxRows)];
}

/** Spinners, bullets, marks and the sides of boxes. */
const leading = /^[^\p{L}\p{N}$/~.'"`(-]+/u;
const span = /\b\d+(?:\.\d+)?\s?(?:ms|s|m|h)\b/gu;
const spinner = /^\s*[^\s\p{L}\p{N}$>❯›│┃|]/u;

function plainRow(row: string): string {
  const text = row.replace(leading, "").trimEnd();
  // A row behind a bullet or a spinner may count the time; the rows of a question have none.
  return spinner.test(row) ? text.replace(span, "") : text;
}
