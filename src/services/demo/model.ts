import { assertNever } from "../../system/errors.ts";
import { openTrustDialog } from "./dialog.ts";
import { awaitsSequence, type DemoInput, flushInput, parseInput } from "./input.ts";
import { receive } from "./keys.ts";
import {
  type Deadline,
  type DemoEffect,
  type DemoEvent,
  type DemoState,
  deadlines,
  type Work,
} from "./state.ts";
import { endTurn, runQueue } from "./turn.ts";

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
    work.log({ kind: "started", pid, cols, rows, seed: given.script.seed ?? 0 });
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
      if (work.state.script.startup?.trust_dialog) openTrustDialog(work);
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

function enqueue(work: Work, inputs: readonly DemoInput[]): void {
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
