import type { MailAct } from "./script.ts";

/**
 * The scripted agent's log: what it really received and did. One JSON object per line, appended before the
 * screen shows it, so that a crash loses nothing. `n` counts lines from 1 in one process; `at_ms` is
 * milliseconds since its start. `prompt` counts submissions from 1. `length` is UTF-16 units, `sha256` is of
 * the UTF-8 text. `turn` counts turns from 1.
 */
export type DemoLogRecord = { at_ms: number; n: number } & DemoLogEntry;

export type DemoLogEntry =
  | { kind: "started"; pid: number; cols: number; rows: number }
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

/**
 * The payloads of the scripted agent's hook command, in the shape of Claude Code 2.1.330. An interrupted turn
 * has no end event, as in that version. The returned function takes each record of the log in order.
 */
export function createHookPayloads(
  pid: number,
  recordPath: string,
): (record: DemoLogRecord) => Record<string, unknown>[] {
  const texts = new Map<number, string>();
  let turnId = "";
  const event = (name: string, facts: Record<string, unknown> = {}) => [
    { session_id: `demo-${pid}`, transcript_path: recordPath, hook_event_name: name, ...facts },
  ];

  return (record) => {
    switch (record.kind) {
      case "started":
        return event("SessionStart", { source: "startup" });
      case "submitted":
        if (!record.command) texts.set(record.prompt, record.text);
        return [];
      case "turn_started": {
        turnId = `demo-${pid}-${record.turn}`;
        const prompt = record.prompts.map((one) => texts.get(one) ?? "").join("\n");
        for (const one of record.prompts) texts.delete(one);
        return event("UserPromptSubmit", { prompt_id: turnId, prompt });
      }
      case "menu_opened":
        return event("PermissionRequest", { prompt_id: turnId, tool_name: "menu", message: record.question });
      case "turn_ended":
        if (record.result === "interrupted") return [];
        return event(record.result === "error" ? "StopFailure" : "Stop", { prompt_id: turnId });
      case "exited":
        return event("SessionEnd", { reason: record.why });
      default:
        return [];
    }
  };
}

/** About four characters a token, as models of language count. */
const toTokens = (text: string) => Math.ceil(text.length / 4);

/**
 * The lines of the scripted agent's record of its conversation, in the shape of Claude Code 2.1.330. The
 * returned function takes each record of the log in order; `said`: what the agent answered in the turn that
 * has just ended, or null.
 */
export function createRecordLines(): (
  record: DemoLogRecord,
  said: string | null,
  atUtc: string,
) => Record<string, unknown>[] {
  const texts = new Map<number, string>();
  let answers = 0;
  let heard = 0;
  /** The whole conversation is read again for each answer, most of it from the cache. */
  const usageOf = (said: string) => {
    const usage = {
      input_tokens: heard % 100,
      cache_read_input_tokens: heard - (heard % 100),
      output_tokens: toTokens(said),
    };
    heard += usage.output_tokens;
    return usage;
  };
  return (record, said, timestamp) => {
    const user = (content: string) => ({ type: "user", timestamp, message: { role: "user", content } });
    const assistant = (text: string, counted: object, more: object = {}) => ({
      type: "assistant",
      timestamp,
      message: { role: "assistant", content: [{ type: "text", text }], stop_reason: "end_turn", ...counted },
      ...more,
    });
    switch (record.kind) {
      case "submitted":
        if (!record.command) texts.set(record.prompt, record.text);
        return [];
      case "turn_started": {
        const asked = record.prompts.map((one) => texts.get(one) ?? "").join("\n");
        for (const one of record.prompts) texts.delete(one);
        heard += toTokens(asked);
        return [user(asked)];
      }
      case "turn_ended": {
        answers += 1;
        const counted = { id: `demo-${answers}`, model: "demo" };
        const answer = said === null ? [] : [assistant(said, { ...counted, usage: usageOf(said) })];
        if (record.result === "interrupted") return [...answer, user("[Request interrupted by user]")];
        return record.result === "error"
          ? [assistant("the turn failed", {}, { isApiErrorMessage: true })]
          : answer;
      }
      default:
        return [];
    }
  };
}
