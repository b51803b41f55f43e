import { assertNever } from "../../system/errors.ts";
import { awaitsSequence, flushInput, parseInput, type TerminalInput } from "../../system/terminal-input.ts";
import {
  backspace,
  type Composer,
  emptyComposer,
  insertChip,
  insertText,
  needsChip,
  submittedText,
} from "./composer.ts";
import { fingerprint } from "./log.ts";
import {
  type Deadline,
  type DemoEffect,
  type DemoEvent,
  type DemoState,
  deadlines,
  type Work,
} from "./state.ts";
import { endTurn, runQueue, submit, takeDialogInput } from "./turn.ts";

/** A lone ESC is the Escape key when nothing follows it for so long. */
const ESCAPE_MS = 30;

/**
 * The scripted agent as a function. What was due before the event happens first, each thing at its own time,
 * so that late ticks change nothing. `atMs` never decreases; the first event is `started`. Never throws.
 */
export function next(
  given: DemoState,
  event: DemoEvent,
): { state: DemoState; effects: readonly DemoEffect[] } {
  const work = createWork(given);
  if (event.kind === "started") {
    const { pid, cols, rows } = event;
    work.log({ kind: "started", pid, cols, rows });
  }
  advance(work, event.atMs);
  if (!isGone(work)) take(work, event);
  advance(work, event.atMs);
  return { state: work.state, effects: work.effects };
}

function take(work: Work, event: DemoEvent): void {
  switch (event.kind) {
    case "started":
    case "tick":
      return;
    case "bytes": {
      const { state: parser, events } = parseInput(work.state.parser, event.bytes);
      const escapeDueMs = awaitsSequence(parser) ? work.state.nowMs + ESCAPE_MS : null;
      work.set({ parser, escapeDueMs });
      enqueue(work, events);
      return;
    }
    case "resize":
      work.log({ kind: "resize", cols: event.cols, rows: event.rows });
      return;
    case "mail_acted":
      work.log(event.act);
      return;
    case "mail_round_ended": {
      const { turn, problem } = event;
      const { phase } = work.state;
      work.log({ kind: "mail_round_ended", turn, problem });
      // An interrupted turn does not wait for its round.
      if (phase.kind === "busy" && phase.turn.number === turn) endTurn(work, phase.turn, "finished");
      return;
    }
    case "program_ended": {
      const { turn, code } = event;
      const { phase } = work.state;
      work.log({ kind: "program_ended", turn, code });
      if (phase.kind !== "busy" || phase.turn.number !== turn) return;
      const failed = { kind: "error", text: `the program ended with ${code ?? "a signal"}` } as const;
      endTurn(work, code === 0 ? phase.turn : { ...phase.turn, ending: failed }, "finished");
      return;
    }
    case "stop":
      work.exit(0, event.why, true);
      return;
    default:
      assertNever(event);
  }
}

function advance(work: Work, atMs: number): void {
  for (let due = deadlines(work.state)[0]; due && due.atMs <= atMs; due = deadlines(work.state)[0]) {
    work.set({ nowMs: Math.max(work.state.nowMs, due.atMs) });
    meet(work, due.what);
    drain(work);
    runQueue(work);
  }
  work.set({ nowMs: Math.max(work.state.nowMs, atMs) });
}

/** Every branch removes or moves the deadline that it meets. */
function meet(work: Work, what: Deadline["what"]): void {
  const { phase } = work.state;
  switch (what) {
    case "start":
      work.set({ phase: { kind: "idle" } });
      work.state.interference?.started(work);
      return;
    case "turn_end":
      if (phase.kind === "busy") endTurn(work, phase.turn, "finished");
      return;
    case "escape": {
      const { state: parser, events } = flushInput(work.state.parser);
      work.set({ parser, escapeDueMs: null });
      enqueue(work, events);
      return;
    }
    case "interference":
      work.state.interference?.act(work);
      return;
    case "disarm":
      work.set({ exitArmedUntilMs: null });
      return;
    default:
      assertNever(what);
  }
}

function enqueue(work: Work, inputs: readonly TerminalInput[]): void {
  work.set({ backlog: [...work.state.backlog, ...inputs] });
  drain(work);
}

/** Input keeps its order: what waits behind the start or an interference is taken as soon as that is over. */
function drain(work: Work): void {
  while (!isGone(work) && work.state.phase.kind !== "starting" && !holdsInput(work)) {
    const [first, ...others] = work.state.backlog;
    if (!first) return;
    work.set({ backlog: others });
    receive(work, first);
    runQueue(work);
  }
}

function holdsInput(work: Work): boolean {
  return work.state.interference?.holdsInput() ?? false;
}

function isGone(work: Work): boolean {
  return work.state.phase.kind === "gone";
}

const MOST_CELLS = 400;

function createWork(given: DemoState): Work {
  let state = given;
  const effects: DemoEffect[] = [];
  const work: Work = {
    get state() {
      return state;
    },
    effects,
    set(patch) {
      state = { ...state, ...patch };
    },
    log(entry) {
      const n = state.counts.logLines + 1;
      work.set({ counts: { ...state.counts, logLines: n } });
      effects.push({ kind: "log", record: { at_ms: Math.round(state.nowMs), n, ...entry } });
    },
    workMail(turn, round) {
      effects.push({ kind: "mail_round", turn, round });
    },
    runProgram(turn, command, prompt) {
      effects.push({ kind: "program", turn, command, prompt });
    },
    stopProgram(turn) {
      effects.push({ kind: "program_stop", turn });
    },
    show(...cells) {
      work.set({ cells: [...state.cells, ...cells].slice(-MOST_CELLS) });
    },
    exit(code, why, restore) {
      work.log({ kind: "exited", code, why });
      work.set({ phase: { kind: "gone" } });
      effects.push({ kind: "exit", code, restore });
    },
  };
  return work;
}

const ARMED_MS = 2000;

/** Takes one input. The agent is past its start. */
function receive(work: Work, input: TerminalInput): void {
  if (input.kind === "paste_started") {
    work.state.interference?.pasteBegins(work);
    return;
  }
  if (input.kind === "text") work.log({ kind: "typed", text: input.text });
  if (input.kind === "key") {
    work.log({ kind: "key", name: input.name });
    if (input.name === "C-c") {
      pressControlC(work);
      return;
    }
  }
  work.set({ exitArmedUntilMs: null });
  const { phase } = work.state;
  if (phase.kind === "dialog") {
    if (input.kind === "paste") logPaste(work, input.text, false);
    takeDialogInput(work, phase.dialog, input);
    return;
  }
  if (input.kind === "key") {
    pressKey(work, input.name);
    return;
  }
  if (input.kind === "paste") {
    paste(work, input.text);
    return;
  }
  work.set({ composer: insertText(work.state.composer, input.text) });
  work.state.interference?.draftEdited(work);
}

function paste(work: Work, text: string): void {
  if (work.state.interference?.paste(work, text)) return;
  logPaste(work, text, false);
  finishPaste(work, work.state.composer, text);
}

/** Puts a pasted text behind `base`, a large one as a chip. */
export function finishPaste(work: Work, base: Composer, text: string): void {
  const { counts } = work.state;
  if (!needsChip(text)) {
    work.set({ composer: insertText(base, text) });
    return;
  }
  const chips = counts.chips + 1;
  work.set({ composer: insertChip(base, chips, text), counts: { ...counts, chips } });
}

export function logPaste(work: Work, text: string, split: boolean): void {
  work.log({ kind: "paste_received", ...fingerprint(text), split });
}

function pressKey(work: Work, name: string): void {
  const { phase, composer } = work.state;
  switch (name) {
    case "Enter":
      pressEnter(work);
      return;
    case "C-j":
      work.set({ composer: insertText(composer, "\n") });
      work.state.interference?.draftEdited(work);
      return;
    case "Backspace":
      work.set({ composer: backspace(composer) });
      work.state.interference?.draftEdited(work);
      return;
    case "C-u":
      clearComposer(work);
      return;
    case "Escape":
      if (phase.kind === "busy") endTurn(work, phase.turn, "interrupted");
      return;
    default:
  }
}

function pressEnter(work: Work): void {
  const text = submittedText(work.state.composer);
  if (text.trim() === "") return;
  const { swallowed = false, merged = false } = work.state.interference?.enter(work) ?? {};
  if (swallowed) return;
  work.set({ composer: emptyComposer });
  submit(work, { text, by: "keys", merged });
}

function pressControlC(work: Work): void {
  const { exitArmedUntilMs, nowMs } = work.state;
  if (exitArmedUntilMs !== null) {
    work.exit(0, "ctrl_c", true);
    return;
  }
  clearComposer(work);
  work.set({ exitArmedUntilMs: nowMs + ARMED_MS });
}

function clearComposer(work: Work): void {
  work.state.interference?.draftCleared(work);
  work.set({ composer: emptyComposer });
}
