import { describe, expect, test } from "bun:test";
import type { AguiMessage, AguiRunInput } from "../../../../../src/protocol/agui.ts";
import { toRunTask, toTurnId } from "../../../../../src/services/extensions/bridges/agui/input.ts";
import { withoutNulls } from "../../../../../src/services/extensions/bridges/agui/snapshot.ts";

const ask: AguiMessage = { id: "m", role: "user", content: "do it" };
const promptOf = (more: Partial<AguiRunInput>) => {
  const converted = toRunTask({ threadId: "t", runId: "r", messages: [ask], ...more });
  return converted.ok ? converted.task.prompt : converted.reason;
};

const run = 'Run:\n{"threadId":"t","runId":"r"}';
const prompts: { id: string; input: Partial<AguiRunInput>; want: string }[] = [
  { id: "a lone user message is given word for word", input: {}, want: "do it" },
  {
    id: "what is empty counts as absent",
    input: { state: {}, tools: [], context: [], forwardedProps: {}, resume: [], parentRunId: null },
    want: "do it",
  },
  {
    id: "parts of text stand on lines of their own",
    input: {
      messages: [
        {
          ...ask,
          content: [
            { type: "text", text: "one" },
            { type: "text", text: "two" },
          ],
        },
      ],
    },
    want: "one\ntwo",
  },
  {
    id: "what was said before follows the task, without activities",
    input: {
      messages: [
        { id: "1", role: "assistant", content: "hi" },
        { id: "2", role: "activity", content: { a: 1 } },
        ask,
      ],
    },
    want: `do it\n\n${run}\n\nMessages before:\n[{"id":"1","role":"assistant","content":"hi"}]`,
  },
  {
    id: "the last user or tool message is the task",
    input: {
      messages: [
        ask,
        { id: "t", role: "tool", toolCallId: "c", content: "42" },
        { id: "a", role: "assistant" },
      ],
    },
    want: `42\n\nRun:\n{"threadId":"t","runId":"r","toolCallId":"c"}\n\nMessages before:\n${JSON.stringify([ask, { id: "a", role: "assistant" }])}`,
  },
  {
    id: "the GUI's state is told without the part that came from us",
    input: { state: { mine: 1, svc: { gateway: {} } } },
    want: `do it\n\n${run}\n\nState:\n{"mine":1}`,
  },
  { id: "a state that is only ours is not told", input: { state: { svc: {} } }, want: "do it" },
  {
    id: "context, tools and resume are told as JSON",
    input: { context: [{ description: "d", value: "v" }], tools: [{ name: "n" }], resume: [{ id: 1 }] },
    want: `do it\n\n${run}\n\nContext:\n[{"description":"d","value":"v"}]\n\nTools of the GUI (they cannot be called from here):\n[{"name":"n"}]\n\nAnswers to interrupts:\n[{"id":1}]`,
  },
  {
    id: "further properties are told by name, never by value",
    input: { forwardedProps: { key: "secret", svc: { chatSession: null, more: "secret" } } },
    want: `do it\n\n${run}\n\nFurther properties, by name:\n["key","svc.more"]`,
  },
];

describe("the prompt of a run", () => {
  test.each(prompts)("$id", ({ input, want }) => {
    expect(promptOf(input)).toBe(want);
  });
});

test("a run id that can name a turn does; every other gets one, always the same", () => {
  const uuid = "6f1c2b0e-7a59-4d6e-9a35-0d6f0c1d2e3f";
  expect(toTurnId(uuid)).toBe(uuid);
  expect(toTurnId("../x")).toBe(toTurnId("../x"));
  expect(toTurnId("../x")).not.toBe(toTurnId("../y"));
  expect(toTurnId("../x")).toMatch(/^run-[0-9a-f]{40}$/);
});

test("keys without a value are left out at any depth, and lists keep their places", () => {
  expect(withoutNulls<unknown>({ a: null, b: { c: null, d: [{ e: null }, null, 0] }, f: false })).toEqual({
    b: { d: [{}, null, 0] },
    f: false,
  });
});
