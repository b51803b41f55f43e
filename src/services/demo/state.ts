import { emptyParser, type ParserState, type TerminalInput } from "../../system/terminal-input.ts";
import { type Composer, emptyComposer } from "./composer.ts";
import type { DemoLogEntry, DemoLogRecord, DialogSource } from "./log.ts";
import type { DemoScript, MailAct, MailRound, TurnEnding, TurnPlan } from "./script.ts";

/** Everything the scripted agent knows. Never changed in place. Times are milliseconds since its start. */
export interface DemoState {
  readonly script: DemoScript;
  readonly interference: Interference | null;
  /** Divides the durations of turns. */
  readonly speed: number;
  readonly nowMs: number;
  readonly phase: Phase;
  readonly parser: ParserState;
  /** When a lone ESC counts as Escape, or null. */
  readonly escapeDueMs: number | null;
  /** Input that waits for the start, or behind an interference. */
  readonly backlog: readonly TerminalInput[];
  readonly composer: Composer;
  readonly queue: readonly QueuedPrompt[];
  readonly cells: readonly Cell[];
  /** Until when a second ctrl-c exits, or null. */
  readonly exitArmedUntilMs: number | null;
  readonly counts: Counts;
}

type Phase =
  | { kind: "starting"; untilMs: number }
  | { kind: "idle" }
  | { kind: "busy"; turn: Turn }
  | { kind: "dialog"; dialog: Dialog }
  | { kind: "gone" };

export interface Turn {
  /** Counts turns from 1; null for a compaction. */
  number: number | null;
  prompts: readonly number[];
  startedMs: number;
  endsMs: number;
  streams: boolean;
  ending: TurnEnding;
  says?: string;
}

export interface Dialog {
  source: DialogSource;
  question: string;
  options: readonly string[];
  /** Index of the selected option. */
  selected: number;
}

export interface QueuedPrompt {
  prompt: number;
  text: string;
}

interface Counts {
  prompts: number;
  turns: number;
  chips: number;
  sessions: number;
  logLines: number;
}

/** One block of the transcript. */
export type Cell =
  | { kind: "banner"; session: number }
  | { kind: "user"; text: string }
  | { kind: "answer"; turn: number; words: number; text?: string }
  | { kind: "note"; text: string; tone: "plain" | "dim" | "error" };

/** What the hands must do, in this order. After `exit` nothing more comes. */
export type DemoEffect =
  | { kind: "log"; record: DemoLogRecord }
  /** Work this round; report what was done with `mail_acted` and the end with `mail_round_ended`. */
  | { kind: "mail_round"; turn: number; round: MailRound }
  /** Run the script's program for this turn; report its end with `program_ended`. */
  | { kind: "program"; turn: number; command: readonly string[]; prompt: string }
  /** End the program of this turn: the turn was interrupted. */
  | { kind: "program_stop"; turn: number }
  /** `restore`: leave the terminal as it was found; false is a crash. */
  | { kind: "exit"; code: number; restore: boolean };

export type DemoEvent =
  | { kind: "started"; pid: number; cols: number; rows: number; atMs: number }
  | { kind: "bytes"; bytes: Uint8Array; atMs: number }
  | { kind: "tick"; atMs: number }
  | { kind: "resize"; cols: number; rows: number; atMs: number }
  | { kind: "mail_acted"; act: MailAct; atMs: number }
  /** `problem`: why the round was broken off, or null. */
  | { kind: "mail_round_ended"; turn: number; problem: string | null; atMs: number }
  /** `code`: how the program ended; null for a signal, or when it could not be started. */
  | { kind: "program_ended"; turn: number; code: number | null; atMs: number }
  /** A signal or the end of the input. */
  | { kind: "stop"; why: string; atMs: number };

/**
 * How a test makes the agent misbehave; it keeps its own state. The agent that ships has none. Each method is
 * called where the agent does the ordinary thing; one that returns true has done another instead.
 */
export interface Interference {
  /** Nothing is painted and no input is taken for so long after the start. */
  readonly startDelayMs: number;
  /** All queued input becomes one turn. */
  readonly mergesQueue: boolean;
  /** The title stays idle while the agent works. */
  readonly hidesWork: boolean;
  /** The start is over. */
  started(work: Work): void;
  /** Input waits now. */
  holdsInput(): boolean;
  freezesScreen(): boolean;
  pasteBegins(work: Work): void;
  paste(work: Work, text: string): boolean;
  /** Enter with a draft. `merged`: it submits a person's draft too. */
  enter(work: Work): { swallowed: boolean; merged: boolean };
  /** Keys have changed the draft, or emptied it by command. */
  draftEdited(work: Work): void;
  draftCleared(work: Work): void;
  promptSubmitted(work: Work): boolean;
  /** How a prompt without a directive runs; null: as usual. */
  planTurn(prompt: string): TurnPlan | null;
  turnStarted(): void;
  /** A turn has ended and the agent is idle. */
  turnEnded(work: Work): void;
  /** `index`: the chosen option, null after Escape. */
  dialogAnswered(work: Work, source: DialogSource, index: number | null): boolean;
  /** When `act` is wanted, or null. */
  dueMs(state: DemoState): number | null;
  act(work: Work): void;
}

/** One step of the model under way: the state so far and the effects so far. Lives inside one `next` call. */
export interface Work {
  readonly state: DemoState;
  readonly effects: readonly DemoEffect[];
  set(patch: Partial<DemoState>): void;
  log(entry: DemoLogEntry): void;
  show(...cells: Cell[]): void;
  /** Has the hands work a round of mail. */
  workMail(turn: number, round: MailRound): void;
  /** Has the hands run the script's program, or end it. */
  runProgram(turn: number, command: readonly string[], prompt: string): void;
  stopProgram(turn: number): void;
  /** Ends the agent. `restore` false is a crash. */
  exit(code: number, why: string, restore: boolean): void;
}

export function createDemoState(options: {
  script: DemoScript;
  speed: number;
  interference?: Interference | undefined;
}): DemoState {
  return {
    script: options.script,
    interference: options.interference ?? null,
    speed: options.speed,
    nowMs: 0,
    phase: { kind: "starting", untilMs: options.interference?.startDelayMs ?? 0 },
    parser: emptyParser,
    escapeDueMs: null,
    backlog: [],
    composer: emptyComposer,
    queue: [],
    cells: [{ kind: "banner", session: 1 }],
    exitArmedUntilMs: null,
    counts: { prompts: 0, turns: 0, chips: 0, sessions: 1, logLines: 0 },
  };
}

const SPINNER_MS = 100;

/** Which of the spinner's frames shows, counted without end. */
export function spinnerStep(turn: Turn, nowMs: number): number {
  return Math.floor((nowMs - turn.startedMs) / SPINNER_MS);
}

/** Words of an answer that have come by now: about eight in 100 ms. */
export function streamedWords(turn: Turn, nowMs: number): number {
  return turn.streams ? 8 * spinnerStep(turn, nowMs) : 0;
}

/** Something that happens at a fixed time. */
export interface Deadline {
  atMs: number;
  what: "start" | "turn_end" | "escape" | "interference" | "disarm";
}

/** All that is due some time, the earliest first; empty while idle, so that an idle agent sets no timer. */
export function deadlines(state: DemoState): Deadline[] {
  const { phase, interference } = state;
  const found: Deadline[] = [];
  const add = (what: Deadline["what"], atMs: number | null | undefined) => {
    if (atMs !== null && atMs !== undefined) found.push({ what, atMs });
  };
  if (phase.kind === "gone") return [];
  if (phase.kind === "starting") add("start", phase.untilMs);
  if (phase.kind === "busy") add("turn_end", phase.turn.endsMs);
  add("escape", state.escapeDueMs);
  add("interference", interference?.dueMs(state));
  add("disarm", state.exitArmedUntilMs);
  return found.sort((left, right) => left.atMs - right.atMs);
}

/** When the next `tick` is wanted, the spinner included; null while nothing moves. */
export function nextWakeMs(state: DemoState): number | null {
  const { phase, nowMs } = state;
  const times = deadlines(state).map((deadline) => deadline.atMs);
  if (phase.kind === "busy") {
    times.push(phase.turn.startedMs + SPINNER_MS * (spinnerStep(phase.turn, nowMs) + 1));
  }
  return times.length === 0 ? null : Math.min(...times);
}

/** Whether the screen may be painted now. */
export function isPainting(state: DemoState): boolean {
  return (
    !state.interference?.freezesScreen() && state.phase.kind !== "starting" && state.phase.kind !== "gone"
  );
}
