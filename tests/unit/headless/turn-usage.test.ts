import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { readOpencodeRows } from "../../../src/services/extensions/observe/transcript/opencode-source.ts";
import { createRecordFile } from "../../../src/services/extensions/observe/transcript/record-file.ts";
import { lineReaders } from "../../../src/services/extensions/observe/transcript/record-lines.ts";
import { createTurnFold } from "../../../src/services/extensions/observe/transcript/turn-source.ts";
import { createScratch } from "../../support/scratch.ts";

// The fields are those of the tools' own records, seen in the lab.

/** The usage of each turn of a record with these lines. */
async function usageOf(tool: string, records: readonly object[]) {
  using scratch = createScratch();
  const path = scratch.path("record.jsonl");
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(""), { mode: 0o600 });
  const reader = lineReaders[tool] ?? (() => []);
  const facts = { what: "a record", source: "tool" as const, conversationId: null, reader };
  const source = createRecordFile(scratch.files, { ...facts, path: () => path });
  const heads = await source.heads();
  return Promise.all(heads.map(async ({ turnId }) => (await source.read(turnId, { last: false }))?.usage));
}

const counted = (
  model: string | null,
  input: number,
  cached: number,
  write: number,
  output: number,
  reasoning: number,
) => ({
  model,
  input_tokens: input,
  cached_input_tokens: cached,
  cache_write_tokens: write,
  output_tokens: output,
  reasoning_tokens: reasoning,
});

describe("claude", () => {
  const prompt = (text: string) => ({ type: "user", message: { content: text } });
  const message = (id: string, usage: object, more: object = {}) => ({
    type: "assistant",
    message: { id, model: "opus", usage, content: [{ type: "text", text: "ok" }], stop_reason: null },
    ...more,
  });
  const usage = (input: number, output: number) => ({
    input_tokens: input,
    cache_creation_input_tokens: 3,
    cache_read_input_tokens: 20,
    output_tokens: output,
    output_tokens_details: { thinking_tokens: 2 },
  });

  test("repeats a message's usage for each block, and it counts once, as it was at last", async () => {
    const lines = [
      prompt("one"),
      message("m1", { ...usage(100, 1), output_tokens_details: undefined }),
      message("m1", usage(100, 9)),
      message("m2", usage(50, 4)),
      prompt("two"),
      message("m3", usage(7, 1)),
    ];
    expect(await usageOf("claude", lines)).toEqual([
      [counted("opus", 196, 40, 6, 13, 4)],
      [counted("opus", 30, 20, 3, 1, 2)],
    ]);
  });

  test("counts its helpers by their model, and nothing for messages that no model wrote", async () => {
    const helper = { message: { id: "h1", model: "haiku", usage: usage(5, 6) }, isSidechain: true };
    const own = { message: { id: "s1", model: "<synthetic>", usage: usage(0, 0), content: [] } };
    const failed = message("e1", usage(9, 9), { isApiErrorMessage: true });
    const lines = [
      prompt("one"),
      message("m1", usage(1, 1)),
      { type: "assistant", ...helper },
      { type: "assistant", ...own },
      failed,
    ];
    expect(await usageOf("claude", lines)).toEqual([
      [counted("opus", 24, 20, 3, 1, 2), counted("haiku", 28, 20, 3, 6, 2)],
    ]);
  });
});

describe("codex", () => {
  const context = (model: string) => ({ type: "turn_context", payload: { model } });
  const asked = (text: string) => ({
    type: "event_msg",
    payload: { type: "item_completed", item: { type: "UserMessage", content: [{ text }] } },
  });
  const response = (id: string, input: number) => ({
    type: "token_usage_record",
    payload: {
      response_id: id,
      usage: {
        input_tokens: input,
        cached_input_tokens: 3,
        cache_write_input_tokens: 1,
        output_tokens: 5,
        reasoning_output_tokens: 2,
        total_tokens: input + 5,
      },
      thread_token_usage: { input_tokens: 9999 },
    },
  });
  const total = {
    type: "event_msg",
    payload: { type: "token_count", info: { total_token_usage: { input_tokens: 9999 } } },
  };

  test("counts each response, by the model that was named before the prompt", async () => {
    const lines = [
      context("big"),
      asked("one"),
      response("r1", 105),
      total,
      response("r2", 110),
      response("r2", 110),
      context("small"),
      asked("two"),
      total,
      response("r3", 7),
      context("small"),
      asked("three"),
      total,
    ];
    expect(await usageOf("codex", lines)).toEqual([
      [counted("big", 215, 6, 2, 10, 4)],
      [counted("small", 7, 3, 1, 5, 2)],
      [],
    ]);
  });
});

test("gemini writes a message again with its tools, and it counts once", async () => {
  const tokens = { input: 110, output: 1, cached: 6, thoughts: 2, tool: 4, total: 117 };
  const said = { type: "gemini", id: "g1", model: "flash", content: "ok", tokens };
  const lines = [
    { type: "user", id: "u1", content: [{ text: "one" }] },
    said,
    { ...said, toolCalls: [{ id: "c1", name: "run_shell_command", args: {}, status: "success" }] },
    { ...said, id: "g2", tokens: { ...tokens, tool: 0 } },
  ];
  expect(await usageOf("gemini", lines)).toEqual([[counted("flash", 224, 12, 0, 6, 4)]]);
});

test("opencode counts cache and reasoning apart, and a message without an end nothing", () => {
  const message = (id: string, tokens: object) => ({
    messageId: id,
    createdMs: 1,
    message: JSON.stringify({
      role: "assistant",
      modelID: "mock",
      tokens,
      finish: "stop",
      time: { completed: 2 },
    }),
    part: JSON.stringify({ type: "text", text: "ok" }),
  });
  const zero = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };
  const used = { input: 99, output: 3, reasoning: 2, cache: { read: 6, write: 1 } };
  const fold = createTurnFold();
  // Two parts of one message.
  const rows = [message("m1", used), message("m1", used), message("m2", zero)];
  for (const item of readOpencodeRows(rows)) fold.add(item);
  expect(fold.turn({ over: true }).usage).toEqual([counted("mock", 106, 6, 1, 5, 2)]);
});
