import type { TerminalInput } from "../../system/terminal-input.ts";
import { fingerprint, type TurnResult } from "./log.ts";
import {
  DEFAULT_MS,
  menuPlan,
  parseCommand,
  parseDirective,
  parseMailRound,
  type TurnPlan,
} from "./script.ts";
import { demoCommands, demoSignature } from "./signature.ts";
import {
  type Cell,
  type Dialog,
  type Interference,
  type QueuedPrompt,
  streamedWords,
  type Turn,
  type Work,
} from "./state.ts";

/** The exit code of a crash that was asked for. */
export const CRASH_CODE = 3;
const COMPACT_MS = 1000;

/** Takes a text as submitted: it runs at once when idle and is queued while busy. */
export function submit(
  work: Work,
  { text, by, merged }: { text: string; by: "keys" | "person"; merged: boolean },
): void {
  const { phase, counts } = work.state;
  const prompt = counts.prompts + 1;
  const busy = phase.kind === "busy";
  const command = parseCommand(text) !== null;
  work.set({ counts: { ...counts, prompts: prompt } });
  work.log({
    kind: "submitted",
    prompt,
    text,
    ...fingerprint(text),
    while: busy ? "busy" : "idle",
    by,
    command,
    merged_with_person_draft: merged,
  });
  if (!command && work.state.interference?.promptSubmitted(work)) return;
  if (busy) work.log({ kind: "queued", prompt });
  work.set({ queue: [...work.state.queue, { prompt, text }] });
  runQueue(work);
}

/** Starts what waits, one after another, as long as the agent is idle. */
export function runQueue(work: Work): void {
  while (work.state.phase.kind === "idle") {
    const [first, ...others] = work.state.queue;
    if (!first) return;
    const command = parseCommand(first.text);
    if (command !== null) {
      work.set({ queue: others });
      runCommand(work, command, first.text);
      continue;
    }
    const merges = work.state.interference?.mergesQueue ?? false;
    const found = others.findIndex((item) => parseCommand(item.text) !== null);
    const end = merges ? (found < 0 ? others.length : found) : 0;
    work.set({ queue: others.slice(end) });
    startTurn(work, [first, ...others.slice(0, end)]);
  }
}

/** Ends the running turn or compaction now, with all that follows from its end. */
export function endTurn(work: Work, turn: Turn, given: "finished" | "interrupted"): void {
  const failed = turn.ending.kind === "error";
  const result: TurnResult = given === "interrupted" ? "interrupted" : failed ? "error" : "success";
  work.set({ phase: { kind: "idle" } });
  if (given === "interrupted" && turn.number !== null && work.state.script.program) {
    work.stopProgram(turn.number);
  }
  showEnd(work, turn, result);
  if (turn.number === null) {
    work.log({ kind: "compact", stage: "ended", result });
    runQueue(work);
    return;
  }
  const duration_ms = Math.round(work.state.nowMs - turn.startedMs);
  work.log({ kind: "turn_ended", turn: turn.number, prompts: [...turn.prompts], result, duration_ms });
  if (result === "success") {
    const { ending } = turn;
    if (ending.kind === "exit") {
      work.exit(0, "prompt", true);
      return;
    }
    if (ending.kind === "crash") {
      work.exit(CRASH_CODE, "prompt_crash", false);
      return;
    }
    if (ending.kind === "menu") {
      openDialog(work, { source: "prompt", question: ending.question });
      return;
    }
  }
  runQueue(work);
  if (work.state.phase.kind === "idle") work.state.interference?.turnEnded(work);
}

function startTurn(work: Work, items: readonly QueuedPrompt[]): void {
  const { script, interference, counts } = work.state;
  const text = items.map((item) => item.text).join("\n");
  const plan = planTurn(text, interference);
  const turn = counts.turns + 1;
  const prompts = items.map((item) => item.prompt);
  work.set({ counts: { ...counts, turns: turn } });
  work.show(...items.map((item): Cell => ({ kind: "user", text: item.text })));
  work.log({ kind: "turn_started", turn, prompts });
  const round = script.mail_rounds ? parseMailRound(text) : null;
  const { program } = script;
  // Work outside takes as long as it takes.
  const outside = round !== null || program !== undefined;
  beginWork(work, outside ? { ...plan, durationMs: Number.POSITIVE_INFINITY } : plan, turn, prompts);
  if (round) work.workMail(turn, round);
  else if (program) work.runProgram(turn, program, text);
}

function beginWork(work: Work, plan: TurnPlan, number: number | null, prompts: readonly number[]): void {
  const { nowMs, speed } = work.state;
  const { streams, ending, says } = plan;
  const endsMs = nowMs + plan.durationMs / speed;
  const turn: Turn = {
    number,
    prompts,
    startedMs: nowMs,
    endsMs,
    streams,
    ending,
    ...(says === undefined ? {} : { says }),
  };
  work.set({ phase: { kind: "busy", turn } });
  work.state.interference?.turnStarted();
}

function showEnd(work: Work, turn: Turn, result: TurnResult): void {
  const { nowMs } = work.state;
  // The same answer each time, however late the end is noticed.
  const streamed = streamedWords(turn, Math.min(nowMs, turn.endsMs - 1));
  // Also the shortest answer says something.
  const words = result === "success" && turn.streams ? Math.max(streamed, 8) : streamed;
  const said = result === "success" && turn.says !== undefined ? { text: turn.says } : {};
  if (words > 0 && turn.number !== null) work.show({ kind: "answer", turn: turn.number, words, ...said });
  work.show(endRow(turn, result, nowMs));
}

function endRow(turn: Turn, result: TurnResult, nowMs: number): Cell {
  if (result === "interrupted") return { kind: "note", text: demoSignature.interruptedRow, tone: "error" };
  if (turn.ending.kind === "error") {
    return { kind: "note", text: `${demoSignature.failurePrefix}${turn.ending.text}`, tone: "error" };
  }
  if (turn.number === null) return { kind: "note", text: demoSignature.compactedRow, tone: "dim" };
  const seconds = Math.floor((nowMs - turn.startedMs) / 1000);
  return { kind: "note", text: `— done in ${seconds}s —`, tone: "dim" };
}

function runCommand(work: Work, command: string, text: string): void {
  const { counts } = work.state;
  switch (command) {
    case "/new":
    case "/clear":
      work.log({ kind: "reset", command });
      work.set({
        counts: { ...counts, sessions: counts.sessions + 1, chips: 0 },
        cells: [{ kind: "banner", session: counts.sessions + 1 }],
      });
      return;
    case "/compact":
      work.log({ kind: "compact", stage: "started" });
      work.show({ kind: "user", text });
      beginWork(work, { durationMs: COMPACT_MS, streams: false, ending: { kind: "success" } }, null, []);
      return;
    case "/help": {
      const rows = demoCommands.map(({ name, summary }) => `${name.padEnd(10)}${summary}`);
      work.show(...rows.map((row): Cell => ({ kind: "note", text: row, tone: "plain" })));
      return;
    }
    case "/exit":
      work.exit(0, "command", true);
      return;
    default:
      work.show({ kind: "note", text: `✗ unknown command: ${command}`, tone: "error" });
  }
}

/** The plan of a prompt. Its last line counts first, then a leading `MENU`. */
export function planTurn(
  prompt: string,
  interference: Pick<Interference, "planTurn"> | null = null,
): TurnPlan {
  const trimmed = prompt.trim();
  const echo = /^([\s\S]*)\nECHO\s*$/.exec(prompt)?.[1];
  const fast = echo === undefined ? null : parseDirective("FAST");
  if (fast && echo !== undefined) return { ...fast, says: echo };
  const own = parseDirective(trimmed.slice(trimmed.lastIndexOf("\n") + 1));
  if (own) return own;
  const leading = /^MENU\b[^\S\n]*(.*)/.exec(trimmed);
  if (leading) return menuPlan(leading[1] ?? "");
  const usual: TurnPlan = { durationMs: DEFAULT_MS, streams: true, ending: { kind: "success" } };
  return interference?.planTurn(prompt) ?? usual;
}

export function openDialog(
  work: Work,
  {
    source,
    question,
    options = ["Yes", "No", "Always"],
  }: Pick<Dialog, "source" | "question"> & {
    options?: string[];
  },
): void {
  work.set({ phase: { kind: "dialog", dialog: { source, question, options, selected: 0 } } });
  work.log({ kind: "menu_opened", source, question, options });
}

/** Input while a dialog is open: moves, chooses, cancels, or is lost. Leaves the agent idle once answered. */
export function takeDialogInput(work: Work, dialog: Dialog, input: TerminalInput): void {
  if (input.kind === "key") {
    takeDialogKey(work, dialog, input.name);
    return;
  }
  if (input.kind === "paste_started") return;
  const digit = input.kind === "text" && /^[1-9]$/.test(input.text) ? Number(input.text) : null;
  if (digit !== null && digit <= dialog.options.length) {
    answer(work, dialog, digit - 1);
    return;
  }
  const { source } = dialog;
  work.log({ kind: "lost_input", input: input.kind, ...fingerprint(input.text), while: source });
}

function takeDialogKey(work: Work, dialog: Dialog, name: string): void {
  const select = (selected: number) =>
    work.set({
      phase: {
        kind: "dialog",
        dialog: { ...dialog, selected: Math.min(Math.max(selected, 0), dialog.options.length - 1) },
      },
    });
  if (name === "Up") select(dialog.selected - 1);
  else if (name === "Down") select(dialog.selected + 1);
  else if (name === "Enter") answer(work, dialog, dialog.selected);
  else if (name === "Escape") answer(work, dialog, null);
}

function answer(work: Work, dialog: Dialog, index: number | null): void {
  const label = index === null ? null : (dialog.options[index] ?? null);
  const option = index === null ? null : index + 1;
  work.log({ kind: "menu_answered", source: dialog.source, option, label });
  work.set({ phase: { kind: "idle" } });
  if (work.state.interference?.dialogAnswered(work, dialog.source, index)) return;
  work.show({ kind: "note", text: `menu: ${label ?? "cancelled"}`, tone: "dim" });
}
