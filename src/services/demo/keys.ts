import {
  backspace,
  type Composer,
  emptyComposer,
  insertChip,
  insertText,
  needsChip,
  submittedText,
} from "./composer.ts";
import { takeDialogInput } from "./dialog.ts";
import type { DemoInput } from "./input.ts";
import { fingerprint } from "./log.ts";
import type { Work } from "./state.ts";
import { endTurn, submit } from "./turn.ts";

const ARMED_MS = 2000;

/** Takes one input. The agent is past its start. */
export function receive(work: Work, input: DemoInput): void {
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
