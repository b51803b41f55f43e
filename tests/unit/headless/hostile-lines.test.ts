import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import { CanonicalEvent } from "../../../src/protocol/turn-files.ts";
import { toOversizeEvent, toStderrEvent, toSummary } from "../../../src/services/headless/display.ts";
import { kindsOf, providerOf, readLines } from "./recorded-streams.ts";

const tools = ["claude", "codex", "gemini", "opencode", "kimi", "demo"];

/** Words that the tools' records use, so that random records come near real ones. */
const words = [
  "type",
  "role",
  "subtype",
  "message",
  "content",
  "item",
  "part",
  "state",
  "event",
  "delta",
  "text",
  "result",
  "assistant",
  "user",
  "system",
  "init",
  "tool_use",
  "tool_result",
  "item.started",
  "item.completed",
  "step_finish",
  "turn.failed",
  "error",
  "command_execution",
  "session_id",
  "status",
  "tokens",
  "usage",
  "tool_calls",
  "end",
];
const word = fc.constantFrom(...words);
const leaf = fc.oneof(word, fc.string({ maxLength: 5 }), fc.integer(), fc.boolean(), fc.constant(null));
const record = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: "small", withCrossShrink: true }, leaf, tie("list"), tie("fields")),
  list: fc.array(tie("value"), { maxLength: 3 }),
  fields: fc.dictionary(word, tie("value"), { maxKeys: 6 }),
})).value;

describe.each(tools)("the parser of %s", (tool) => {
  test("says something about every line that is not blank, in the shape of the wire, and never throws", () => {
    const line = fc.oneof(
      record.map((value) => JSON.stringify(value)),
      fc.string({ maxLength: 20 }),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
        const parser = providerOf(tool).parser({ turnIndex: 0 });
        for (const text of lines) {
          const events = parser.line(text, "now");
          for (const event of events) expect(Value.Check(CanonicalEvent, event)).toBe(true);
        }
        parser.end("later");
        expect(parser.summary().terminal).toBeOneOf(["success", "error", null]);
      }),
      { numRuns: 200 },
    );
  });

  test("a line that is no JSON is a diagnostic, other JSON passes through, a blank line is nothing", () => {
    const { events } = readLines(tool, ["plain words", "[1]", "  ", '{"type":"never seen"}', "{}"]);
    expect(kindsOf(events)).toBe("diagnostic passthrough*3");
    expect(events[0]?.data).toEqual({ severity: "warning", text: "plain words" });
    expect(events[2]).toMatchObject({
      provider: tool,
      provider_event_type: "never seen",
      raw_payload: { type: "never seen" },
    });
  });

  test("JSON nested without end does no harm", () => {
    const deep = `{"type":"tool_use","input":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    expect(readLines(tool, [deep]).events.length).toBeGreaterThan(0);
  });
});

test("a long record is not repeated in its event, and its long fields are cut and named", () => {
  const text = "x".repeat(1_000_000);
  const { events, summary } = readLines("claude", [
    JSON.stringify({ type: "assistant", message: { content: [{ type: "text", text }] } }),
    JSON.stringify({
      type: "assistant",
      message: { content: [{ type: "tool_use", name: "W", input: { text } }] },
    }),
  ]);
  const [answer, request] = events;
  expect(answer?.raw_payload).toBeUndefined();
  expect(answer?.data).toMatchObject({ text: "x".repeat(262_144), shortened: ["text"] });
  expect(request?.data).toMatchObject({ name: "W", arguments: null, shortened: ["arguments"] });
  expect(summary.resultText).toBe(text);
  for (const event of events) expect(JSON.stringify(event).length).toBeLessThan(300_000);
});

describe("records that no recording shows", () => {
  test("claude's thoughts, and a refused tool with blocks as its content", () => {
    const { events } = readLines("claude", [
      '{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]}}',
      '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"no"}]}]}}',
    ]);
    expect(kindsOf(events)).toBe("reasoning assistant action_result");
    expect(events[2]?.data).toMatchObject({ action_id: "t", status: "error", result_summary: "no" });
  });

  test("codex reports a file change only when it is done: its request comes with the result", () => {
    const { events } = readLines("codex", [
      '{"type":"item.completed","item":{"id":"i","type":"file_change","status":"completed","changes":[{"path":"a"}]}}',
    ]);
    expect(kindsOf(events)).toBe("action_request action_result");
    expect(events[0]?.data).toMatchObject({ arguments: { changes: [{ path: "a" }] } });
  });

  test("codex's plan is progress, its thoughts are reasoning, a failed command is an error", () => {
    const { events } = readLines("codex", [
      '{"type":"item.updated","item":{"id":"p","type":"todo_list","items":[{"completed":true},{"completed":false}]}}',
      '{"type":"item.completed","item":{"id":"r","type":"reasoning","text":"hm"}}',
      '{"type":"item.started","item":{"id":"m","type":"mcp_tool_call","server":"s","tool":"t","arguments":{"a":1}}}',
      '{"type":"item.completed","item":{"id":"m","type":"mcp_tool_call","server":"s","tool":"t","status":"failed","error":{"message":"no"}}}',
    ]);
    expect(events.map(({ kind, message }) => `${kind}: ${message}`)).toEqual([
      "progress: 1 of 2 tasks done",
      "reasoning: hm",
      'action_request: s.t {"a":1}',
      "action_result: error: no",
    ]);
  });

  test("opencode that goes on after what looked like its end has not ended", () => {
    const stop = '{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}';
    expect(readLines("opencode", [stop]).summary.terminal).toBe("success");
    expect(
      readLines("opencode", [stop, '{"type":"step_start","sessionID":"s"}']).summary.terminal,
    ).toBeNull();
  });

  test("kimi's calls, results and session are read", () => {
    const { events, summary } = readLines("kimi", [
      '{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"Shell","arguments":"{\\"command\\":\\"ls\\"}"}}]}',
      '{"role":"tool","tool_call_id":"c","content":"a b"}',
      '{"role":"meta","type":"turn.step.retrying","content":"again"}',
      '{"role":"assistant","content":[{"type":"text","text":"do"},{"type":"text","text":"ne"}]}',
      '{"role":"meta","type":"session.resume_hint","session_id":"k1"}',
    ]);
    expect(kindsOf(events)).toBe("action_request action_result progress assistant session");
    expect(events[0]?.data).toMatchObject({ action_id: "c", name: "Shell", arguments: { command: "ls" } });
    expect(summary).toMatchObject({ sessionId: "k1", resultText: "done", writesTerminal: false });
  });
});

describe("lines beside the stream", () => {
  const context = { provider: "claude", turnIndex: 1 };

  test("standard error is a warning that names its stream", () => {
    expect(toStderrEvent(context, "\u001b[91mError: \u001b[0mno", "now")).toMatchObject({
      kind: "diagnostic",
      message: "Error: no",
      data: { severity: "warning", stream: "stderr" },
    });
  });

  test("a line too long to read is reported by its size and first part", () => {
    const event = toOversizeEvent(
      context,
      { text: '{"type":"x', bytes: 50_000_000, stream: "stdout" },
      "now",
    );
    expect(event.message).toBe('a line of 50000000 bytes was not read: {"type":"x');
    expect(event.data).toMatchObject({ bytes: 50_000_000, stream: "stdout" });
  });

  test("a summary is one line of at most 160 characters without control characters", () => {
    expect(toSummary(" a\r\n\tb\u0007c ")).toBe("a b c");
    expect([...toSummary("🙂".repeat(500))].length).toBe(160);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
        const summary = toSummary(text);
        expect([...summary].length).toBeLessThanOrEqual(160);
        expect(summary).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
      }),
    );
  });
});
