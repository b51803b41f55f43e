import {
  backspace,
  type Composer,
  emptyComposer,
  insertChip,
  insertText,
  isEmpty,
  needsChip,
  submittedText,
} from "./composer.ts";
import { openUnasked, takeDialogInput } from "./dialog.ts";
import type { DemoInput } from "./input.ts";
import { fingerprint } from "./log.ts";
import { endPersonDraft, noteForeignInput } from "./person.ts";
import { endTurn, maybeFreeze, submit } from "./turn.ts";
import { CRASH_CODE, type Work } from "./work.ts";

const ARMED_MS = 2000;
const DEAD_MS = 200;
const SWALLOWED_IN_A_ROW = 2;
const PIECES = 3;
const PIECE_DELAY_MS = 60;

/** Takes one input. The agent is past its start and no split paste is under way. */
export function receive(work: Work, input: DemoInput): void {
  if (input.kind === "paste_started") {
    if (work.chosen("crash_during_paste")) work.exit(CRASH_CODE, "crash_during_paste", false);
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
  noteForeignInput(work);
  if (input.kind === "paste") {
    paste(work, input.text);
    return;
  }
  work.set({ composer: insertText(work.state.composer, input.text) });
}

/** Shows the next piece of a split paste; with the last one it becomes an ordinary paste. */
export function showNextPiece(work: Work): void {
  const split = work.state.splitPaste;
  if (!split) return;
  const shown = split.shown + 1;
  if (shown >= split.pieces) {
    finishPaste(work, split.base, split.text);
    return;
  }
  const part = split.text.slice(0, Math.ceil((split.text.length * shown) / split.pieces));
  const nextMs = work.state.nowMs + split.pieceDelayMs;
  work.set({ composer: insertText(split.base, part), splitPaste: { ...split, shown, nextMs } });
}

function paste(work: Work, text: string): void {
  const { composer, nowMs } = work.state;
  const split = work.chosen("split_paste");
  logPaste(work, text, split !== null);
  const dead = work.chosen("enter_dead_time");
  if (dead) work.set({ enterDeadUntilMs: nowMs + (dead.dead_ms ?? DEAD_MS) });
  maybeFreeze(work, "paste");
  if (split) {
    const pieceDelayMs = split.piece_delay_ms ?? PIECE_DELAY_MS;
    const pieces = split.pieces ?? PIECES;
    work.set({ splitPaste: { base: composer, text, pieces, shown: 0, pieceDelayMs, nextMs: nowMs } });
    showNextPiece(work);
  } else {
    finishPaste(work, composer, text);
  }
  const menu = work.state.phase.kind === "idle" ? work.chosen("menu_after_paste") : null;
  if (menu) openUnasked(work, "after_paste", menu.dismiss_ms);
}

function finishPaste(work: Work, base: Composer, text: string): void {
  const { counts } = work.state;
  work.set({ splitPaste: null });
  if (!needsChip(text)) {
    work.set({ composer: insertText(base, text) });
    return;
  }
  const chips = counts.chips + 1;
  work.set({ composer: insertChip(base, chips, text), counts: { ...counts, chips } });
}

function logPaste(work: Work, text: string, split: boolean): void {
  work.log({ kind: "paste_received", ...fingerprint(text), split });
}

function pressKey(work: Work, name: string): void {
  const { phase, composer } = work.state;
  switch (name) {
    case "Enter":
      pressEnter(work);
      return;
    case "C-j":
      noteForeignInput(work);
      work.set({ composer: insertText(composer, "\n") });
      return;
    case "Backspace":
      noteForeignInput(work);
      work.set({ composer: backspace(composer) });
      if (isEmpty(work.state.composer)) work.set({ draftMenuDecided: false });
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
  const { phase, composer, person, draftMenuDecided } = work.state;
  const text = submittedText(composer);
  if (text.trim() === "" || isSwallowed(work)) return;
  if (phase.kind === "idle" && !draftMenuDecided) {
    work.set({ draftMenuDecided: true });
    const menu = work.chosen("menu_before_prompt");
    if (menu) {
      openUnasked(work, "before_prompt", menu.dismiss_ms);
      return;
    }
  }
  work.set({ composer: emptyComposer, draftMenuDecided: false });
  endPersonDraft(work, "submitted_by_keys");
  maybeFreeze(work, "enter");
  submit(work, { text, by: "keys", merged: person !== null });
}

function isSwallowed(work: Work): boolean {
  if (work.state.nowMs < work.state.enterDeadUntilMs) {
    work.log({ kind: "enter_swallowed", why: "enter_dead_time" });
    return true;
  }
  const inARow = work.state.swallowedInARow;
  const most = work.state.script.hostile?.swallow_enter?.in_a_row ?? SWALLOWED_IN_A_ROW;
  const swallowed = inARow < most && work.chosen("swallow_enter") !== null;
  work.set({ swallowedInARow: swallowed ? inARow + 1 : 0 });
  if (swallowed) work.log({ kind: "enter_swallowed", why: "swallow_enter" });
  return swallowed;
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
  endPersonDraft(work, "cleared");
  work.set({ composer: emptyComposer, draftMenuDecided: false });
}
