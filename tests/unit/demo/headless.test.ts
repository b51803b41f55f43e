import { describe, expect, test } from "bun:test";
import {
  type HeadlessSession,
  parseHeadlessPrompt,
  planHeadlessTurn,
} from "../../../src/services/demo/headless-turn.ts";

const session: HeadlessSession = { session_id: "s1", turns: 1, remembered: [] };

function plan(prompt: string, some: Partial<HeadlessSession> = {}) {
  return planHeadlessTurn({ prompt, session: { ...session, ...some }, model: null, effort: null });
}

/** The plan in words: types of records, waits by their length, other steps by their kind. */
function story(prompt: string): string {
  const words = plan(prompt).steps.map((step) => {
    if (step.kind === "record") return step.record.type;
    return step.kind === "wait" ? `${step.ms}ms` : step.kind;
  });
  return words.join(" ");
}

function answerOf(prompt: string, some: Partial<HeadlessSession> = {}) {
  const step = plan(prompt, some).steps.find((one) => one.kind === "record" && one.record.type === "answer");
  return step?.kind === "record" ? step.record["text"] : undefined;
}

describe("the directives that end a prompt", () => {
  test.each([
    { id: "none answers at once", prompt: "hello", want: "session piece piece piece answer save end" },
    { id: "FAST says so", prompt: "FAST", want: "session piece answer save end" },
    { id: "SLOW spreads the pieces", prompt: "SLOW 90", want: "session 90ms piece answer save end" },
    { id: "SILENT waits before the first", prompt: "SILENT 50", want: "session 50ms piece answer save end" },
    {
      id: "several lines add up",
      prompt: "THINK\nTOOL grep\nSTDERR careful",
      want: "session warning thought action action_done piece answer save end",
    },
    { id: "ERROR ends with an error and keeps nothing", prompt: "ERROR no", want: "session piece end" },
    { id: "EXIT ends without a terminal event", prompt: "EXIT 7", want: "session piece" },
  ])("$id", ({ prompt, want }) => {
    expect(story(prompt)).toBe(want);
  });

  test.each([
    { prompt: "EXIT 7", code: 7 },
    { prompt: "EXIT", code: 0 },
    { prompt: "CRASH", code: 3 },
    { prompt: "FAIL no", code: 1 },
    { prompt: "hello", code: 0 },
  ])("$prompt exits with $code", ({ prompt, code }) => {
    expect(plan(prompt).exitCode).toBe(code);
  });

  test("a directive in the middle is plain text, and so is one without its number", () => {
    expect(parseHeadlessPrompt("EXIT 7\nhello").wishes.ending).toEqual({ kind: "success" });
    expect(parseHeadlessPrompt("hello\nSLOW soon")).toMatchObject({ said: "hello\nSLOW soon" });
    expect(parseHeadlessPrompt("hello\n\nSLOW 5\n")).toMatchObject({
      said: "hello",
      wishes: { answerMs: 5 },
    });
  });

  test("USAGE counts the turn's tokens", () => {
    expect(plan("USAGE 3 4").steps.at(-1)).toMatchObject({
      record: { type: "end", status: "success", usage: { input_tokens: 3, output_tokens: 4 } },
    });
  });
});

describe("the memory of a conversation", () => {
  test("remembered text is kept with the conversation", () => {
    const saved = plan("remember the blue door").steps.find((step) => step.kind === "save");
    expect(saved).toMatchObject({ session: { ...session, remembered: ["the blue door"] } });
  });

  test("recall answers with everything remembered", () => {
    expect(answerOf("recall")).toBe("I remember nothing");
    expect(answerOf("please\nrecall\nFAST", { remembered: ["a", "b"] })).toBe("I remember a; b");
  });

  test("other words are repeated by their first line", () => {
    expect(answerOf("hello\nworld")).toBe("You said: hello");
    expect(answerOf("FAST")).toBe("ok");
  });
});
