import type { MailAct } from "./mail-round.ts";

/**
 * The scripted agent's log: what it really received and did. One JSON object per line, appended before the
 * screen shows it, so that a crash loses nothing. `n` counts lines from 1 in one process; `at_ms` is
 * milliseconds since its start. `prompt` counts submissions from 1. `length` is UTF-16 units, `sha256` is of
 * the UTF-8 text. `turn` counts turns from 1.
 */
export type DemoLogRecord = { at_ms: number; n: number } & DemoLogEntry;

export type DemoLogEntry =
  | { kind: "started"; pid: number; cols: number; rows: number; seed: number }
  | { kind: "resize"; cols: number; rows: number }
  /** Literal keys, as one read brought them. */
  | { kind: "typed"; text: string }
  | { kind: "key"; name: string }
  | { kind: "paste_received"; length: number; sha256: string; split: boolean }
  | { kind: "enter_swallowed"; why: "swallow_enter" | "enter_dead_time" }
  | { kind: "late_repaint"; after: "paste" | "enter"; delay_ms: number }
  | {
      kind: "submitted";
      prompt: number;
      text: string;
      length: number;
      sha256: string;
      while: "idle" | "busy";
      by: "keys" | "person";
      /** A slash command, known or not; it makes no turn. */
      command: boolean;
      /** Text from the keys and a person's draft went out as one, or the keys submitted a person's draft. */
      merged_with_person_draft: boolean;
    }
  | { kind: "queued"; prompt: number }
  /** More than one prompt when the script merges the queue. */
  | { kind: "turn_started"; turn: number; prompts: number[] }
  | { kind: "turn_ended"; turn: number; prompts: number[]; result: TurnResult; duration_ms: number }
  | { kind: "menu_opened"; source: DialogSource; question: string; options: string[] }
  /** `option` counts from 1; null after Escape. */
  | { kind: "menu_answered"; source: DialogSource; option: number | null; label: string | null }
  /** A person elsewhere answered: the menu went away without a key. */
  | { kind: "menu_dismissed"; source: DialogSource }
  /** Text or a paste that came while a dialog was open, and had no effect. */
  | { kind: "lost_input"; input: "text" | "paste"; length: number; sha256: string; while: DialogSource }
  | { kind: "reset"; command: string }
  | { kind: "compact"; stage: "started" | "ended"; result?: TurnResult }
  | { kind: "person_draft_started"; text: string }
  | { kind: "person_draft_ended"; outcome: PersonDraftOutcome; foreign: boolean }
  | MailAct
  | { kind: "mail_round_ended"; turn: number; problem: string | null }
  | { kind: "program_ended"; turn: number; code: number | null }
  | { kind: "exited"; code: number; why: string };

export type TurnResult = "success" | "interrupted" | "error";
export type DialogSource = "prompt" | "before_prompt" | "after_paste" | "spontaneous" | "trust";

/** `submitted_by_keys` and `cleared` mean that somebody else's keys did that to the person's draft. */
export type PersonDraftOutcome = "deleted" | "submitted" | "submitted_by_keys" | "cleared";

export function fingerprint(text: string): { length: number; sha256: string } {
  return { length: text.length, sha256: new Bun.CryptoHasher("sha256").update(text).digest("hex") };
}

export function renderLogLine(record: DemoLogRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/** Reads a log; an unfinished last line is left out. */
export function parseDemoLog(text: string): DemoLogRecord[] {
  const lines = text.split("\n");
  lines.pop();
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as DemoLogRecord);
}
