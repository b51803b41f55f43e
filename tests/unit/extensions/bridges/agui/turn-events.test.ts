import { describe, expect, test } from "bun:test";
import type { AguiEvent } from "../../../../../src/protocol/agui.ts";
import type { CanonicalKind } from "../../../../../src/protocol/turn-files.ts";
import type { TurnEvent } from "../../../../../src/protocol/turns.ts";
import {
  createTurnTranslator,
  toDialogMessage,
} from "../../../../../src/services/extensions/bridges/agui/run-stream.ts";
import { asProtocolEvent, brokenRules } from "../../../../support/agui.ts";

function event(kind: CanonicalKind, data: Record<string, unknown>, message = "message"): TurnEvent {
  return {
    kind,
    message,
    turn_index: 1,
    timestamp_utc: "2026-01-01T00:00:00.000+00:00",
    payload: { provider: "demo", session_id: null, data, provider_event_type: "x", raw: null },
  };
}
const piece = (text: string) => event("progress", { summary: text, text_delta: text });
const answer = (text: string) => event("assistant", { text });

/** Each event in a few words. */
function told(event: AguiEvent): string {
  switch (event.type) {
    case "TEXT_MESSAGE_START":
      return `begin ${event.messageId}`;
    case "TEXT_MESSAGE_CONTENT":
      return `text ${event.delta}`;
    case "TEXT_MESSAGE_END":
      return `end ${event.messageId}`;
    case "TOOL_CALL_START":
      return `call ${event.toolCallId} ${event.toolCallName}`;
    case "TOOL_CALL_ARGS":
      return `arguments ${event.delta}`;
    case "TOOL_CALL_END":
      return `called ${event.toolCallId}`;
    case "TOOL_CALL_RESULT":
      return `result ${event.messageId} ${event.content}`;
    case "ACTIVITY_SNAPSHOT":
      return `${event.activityType} ${JSON.stringify(event.content)}`;
    case "CUSTOM":
      return `${event.name} ${JSON.stringify(event.value)}`;
    default:
      return event.type;
  }
}

const turns: { id: string; events: TurnEvent[]; want: string[] }[] = [
  {
    id: "pieces are one message, which the whole closes",
    events: [piece("a "), piece("b"), answer("a b")],
    want: ["begin r:1", "text a ", "text b", "end r:1"],
  },
  {
    id: "a whole that goes on behind the pieces adds what was missing",
    events: [piece("a "), answer("a b")],
    want: ["begin r:1", "text a ", "text b", "end r:1"],
  },
  {
    id: "a whole that differs only in blanks adds nothing",
    events: [piece("a\n"), answer("a")],
    want: ["begin r:1", "text a\n", "end r:1"],
  },
  {
    id: "a whole that says something else is a message of its own",
    events: [piece("a"), answer("b")],
    want: ["begin r:1", "text a", "end r:1", "begin r:2", "text b", "end r:2"],
  },
  {
    id: "an answer without pieces is one message",
    events: [answer("a")],
    want: ["begin r:1", "text a", "end r:1"],
  },
  { id: "an empty answer is none", events: [answer(""), answer(" \n"), piece("")], want: [] },
  {
    id: "pieces without a whole are closed in the end",
    events: [piece("a")],
    want: ["begin r:1", "text a", "end r:1"],
  },
  {
    id: "a call closes the message before it, and its result names it",
    events: [
      piece("a"),
      event("action_request", { action_id: "x", name: "read", arguments: { path: "." } }),
      event("action_result", { action_id: "x", status: "success", result_summary: "done" }),
    ],
    want: [
      "begin r:1",
      "text a",
      "end r:1",
      "call r:x read",
      'arguments {"path":"."}',
      "called r:x",
      "result r:x:result done",
    ],
  },
  {
    id: "a call without an id gets one, and its result finds it",
    events: [
      event("action_request", { action_id: null, name: "run", arguments: "ls" }),
      event("action_result", { action_id: null, status: "error", result_summary: "" }),
    ],
    want: [
      "call r:call-1 run",
      'arguments {"input":"ls"}',
      "called r:call-1",
      "result r:call-1:result error",
    ],
  },
  {
    id: "reasoning is told without its text",
    events: [event("reasoning", { text: "secret" }, "secret")],
    want: ['svc.reasoning_redacted {"sequence":1}'],
  },
  {
    id: "progress, warnings and what nobody reads further keep their messages",
    events: [
      event("progress", { summary: "s" }, "indexing"),
      event("diagnostic", {}, "careful"),
      event("session", {}, "session 1"),
      event("passthrough", {}, "odd"),
    ],
    want: [
      'svc.gateway.progress {"message":"indexing"}',
      'svc.gateway.diagnostic {"sequence":2,"message":"careful"}',
      'svc.gateway.event {"sequence":3,"kind":"session","message":"session 1"}',
      'svc.gateway.event {"sequence":4,"kind":"passthrough","message":"odd"}',
    ],
  },
  {
    id: "the completion tells what is known of the usage",
    events: [
      event("completion", { status: "success", usage: { input_tokens: 1, total_tokens: null } }, "ok"),
    ],
    want: ['svc.gateway.completion {"message":"ok","status":"success","usage":{"input_tokens":1}}'],
  },
];

describe("a headless turn in the words of AG-UI", () => {
  test.each(turns)("$id", ({ events, want }) => {
    const translator = createTurnTranslator("r");
    const all = [...events.flatMap((one) => translator.translate(one)), ...translator.close()];
    expect(all.map(told)).toEqual(want);
    const ids = { threadId: "t", runId: "r" };
    const typed = all.map((one) => (one.type === "RUN_STARTED" ? one : asProtocolEvent(one)));
    const whole = [{ type: "RUN_STARTED", ...ids }, ...typed, { type: "RUN_FINISHED", ...ids }];
    expect(brokenRules(whole.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""))).toEqual([]);
  });
});

const screens = [
  { id: "a screen that grew tells what was added", before: "a\nb", after: "a\nb\nc", want: "c" },
  { id: "a screen that scrolled tells what came below", before: "a\nb\nc", after: "b\nc\nd", want: "d" },
  { id: "another screen is told whole", before: "a\nb", after: "x\ny", want: "x\ny" },
  { id: "a screen that is shorter than before is told whole", before: "a\nb\nc", after: "z", want: "z" },
  { id: "the first screen is told whole", before: "", after: "x", want: "x" },
  { id: "a screen that is the same tells nothing", before: "a\nb", after: "a\nb", want: null },
];
test.each(screens)("$id", ({ before, after, want }) => {
  const deltas = toDialogMessage("r", before, after).flatMap((one) => ("delta" in one ? [one.delta] : []));
  expect(deltas).toEqual(want === null ? [] : [want]);
});

const good = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "x" },
  { type: "TEXT_MESSAGE_END", messageId: "m" },
  { type: "RUN_FINISHED", threadId: "t", runId: "r" },
];
const render = (events: readonly object[]) =>
  events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");

describe("the rules that every stream is held to", () => {
  test("a good stream breaks none", () => expect(brokenRules(render(good))).toEqual([]));

  const broken = [
    { id: "CRLF", raw: render(good).replaceAll("\n", "\r\n") },
    { id: "no RUN_STARTED", raw: render(good.slice(1)) },
    { id: "no terminal event", raw: render(good.slice(0, -1)) },
    { id: "an open message", raw: render(good.filter(({ type }) => type !== "TEXT_MESSAGE_END")) },
    { id: "text of no message", raw: render(good.filter(({ type }) => type !== "TEXT_MESSAGE_START")) },
    { id: "an event behind the end", raw: render([...good, { type: "CUSTOM", name: "x", value: {} }]) },
    { id: "a null", raw: render([{ ...good[0], parentRunId: null }, ...good.slice(1)]) },
    {
      id: "an activity of text",
      raw: render([good[0] ?? {}, { type: "ACTIVITY_SNAPSHOT", content: "x" }, ...good.slice(4)]),
    },
    { id: "a torn block", raw: render(good).slice(0, -1) },
  ];
  test.each(broken)("$id is found", ({ raw }) => expect(brokenRules(raw)).not.toEqual([]));
});
