import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OpencodeRow } from "../../../../../src/db/tools/opencode-store.ts";
import { readOpencodeRows } from "../../../../../src/services/extensions/observe/transcript/opencode-source.ts";
import {
  lineReaders,
  parseRecordLine,
} from "../../../../../src/services/extensions/observe/transcript/record-lines.ts";
import {
  createTurnFold,
  type TurnItem,
  type WholeTurn,
} from "../../../../../src/services/extensions/observe/transcript/turn-source.ts";
import { modelAnswers } from "../../../../support/model-server/answers.ts";

// Recorded in the lab with these prompts; texts beyond 400 characters were cut.
const prompts = [
  "Say one word FAST",
  'first line\n\n  second: 漢字 "x"\nSAYMARKDOWN',
  "do it RUNTOOL SAYWIDE",
  "then RUNTOOL FAST",
  "long SAYHUGE",
  "bad FAIL400",
  "again FAST",
  "go SLOWTURN",
];
const afterTool = "the river carries small stones down to the\nplain where farmers wait";

const linesOf = (name: string) =>
  readFileSync(join(import.meta.dir, "../../../../transcripts", `${name}.jsonl`), "utf8")
    .split("\n")
    .filter((line) => line !== "");

function itemsOf(name: string): TurnItem[] {
  const [tool = ""] = name.split("-");
  const reader = lineReaders[tool];
  if (reader) return linesOf(name).flatMap((line) => parseRecordLine(reader, line) ?? []);
  return readOpencodeRows(linesOf(name).map((line) => JSON.parse(line) as OpencodeRow));
}

/** One turn for each prompt, as a file of records is cut. */
function turnsOf(items: readonly TurnItem[]): WholeTurn[] {
  const starts = items.flatMap((item, at) => (item.kind === "prompt" ? [at] : []));
  return starts.map((start, index) => {
    const fold = createTurnFold();
    for (const item of items.slice(start, starts[index + 1])) fold.add(item);
    return fold.turn({ over: index + 1 < starts.length });
  });
}

test("a turn that the tool begins when background work has ended is its own", () => {
  const turns = turnsOf(itemsOf("claude-2.1.332-background"));
  expect(turns.map(({ prompt, own, answer, status }) => ({ prompt, own, answer, status }))).toEqual([
    { prompt: "Do the BGSHELL thing", own: undefined, answer: "INTERIM: it runs.", status: "completed" },
    {
      prompt: 'Background command "Sleep" completed (exit code 0)',
      own: true,
      answer: "ok",
      status: "completed",
    },
    { prompt: "Do the BGAGENT thing", own: undefined, answer: "INTERIM: it runs.", status: "completed" },
    { prompt: 'Agent "count things" finished', own: true, answer: "ok", status: "completed" },
  ]);
});

test("an end of background work that comes in the middle of a turn asks nothing", () => {
  const notice = '<task-notification>\n<summary>Agent "x" finished</summary>\n</task-notification>';
  const line = (prompt: string) =>
    JSON.stringify({ type: "attachment", attachment: { type: "queued_command", prompt } });
  const reader = lineReaders["claude"];
  if (!reader) throw new Error("no reader");
  expect(parseRecordLine(reader, line(notice))).toEqual([]);
  expect(parseRecordLine(reader, line("go on"))).toMatchObject([{ kind: "prompt", text: "go on" }]);
});

const recordings = ["claude-2.1.330", "claude-2.1.150", "codex-0.169.0", "codex-0.157.1", "opencode-1.18.33"];

describe.each(recordings)("the record of %s", (name) => {
  const turns = turnsOf(itemsOf(name));

  test("has each prompt once, in order", () => {
    expect(turns.map(({ prompt }) => prompt?.trim())).toEqual(prompts);
    for (const { startedMs, endedMs } of turns) {
      expect(startedMs).toBeGreaterThan(Date.parse("2026-11-23T20:00:00Z"));
      expect(endedMs).toBeGreaterThanOrEqual(startedMs ?? 0);
    }
  });

  test("has the answers as the model gave them, with Markdown and wide characters", () => {
    const answers = turns.map(({ answer }) => answer);
    expect(answers[0]).toBe("ok");
    expect(answers[1]).toBe(modelAnswers.SAYMARKDOWN);
    expect(answers[2]).toBe(modelAnswers.SAYWIDE);
    expect(answers[3]).toBe(afterTool);
    expect(answers[4]).toBe(modelAnswers.SAYHUGE.slice(0, 400));
    expect(answers[6]).toBe("ok");
  });

  test("has the tool calls with their results, and what was said before them", () => {
    const [, , wide] = turns;
    expect(wide?.remarks).toEqual(["ok"]);
    expect(wide?.toolCalls).toHaveLength(1);
    expect(wide?.toolCalls[0]).toMatchObject({
      input: expect.stringContaining("touch tool-out.txt"),
      status: "ok",
    });
    expect(wide?.toolCalls[0]?.output).toBeString();
    expect(turns[0]?.toolCalls).toEqual([]);
  });

  test("says how each turn ended", () => {
    const ends = turns.map(({ status }) => status);
    expect(ends.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => "completed" as const));
    expect(ends.slice(5)).toEqual(["failed", "completed", "interrupted"]);
    expect(turns[5]?.error).toContain("scripted failure 400");
    expect(turns[5]?.answer).toBeNull();
  });
});

describe("the record of gemini 0.61.0", () => {
  const turns = turnsOf(itemsOf("gemini-0.61.0"));

  test("has prompts, answers and ends; it leaves joiners out of what it shows and keeps", () => {
    expect(turns.map(({ prompt }) => prompt)).toEqual(prompts);
    expect(turns[1]?.answer).toBe(modelAnswers.SAYMARKDOWN);
    expect(turns[2]?.answer).toBe(modelAnswers.SAYWIDE.replaceAll("\u200d", ""));
    expect(turns[2]?.remarks).toEqual(["ok"]);
    expect(turns[2]?.toolCalls).toMatchObject([{ name: "run_shell_command", status: "ok" }]);
    expect(turns.map(({ status }) => status).slice(5)).toEqual(["failed", "completed", "interrupted"]);
    expect(turns[5]?.error).toBe("scripted failure 400");
  });
});

describe("lines that are no turns", () => {
  const read = (tool: string, record: object) =>
    parseRecordLine(lineReaders[tool] ?? (() => []), JSON.stringify(record));
  const user = (content: unknown, more: object = {}) => ({
    type: "user",
    message: { role: "user", content },
    ...more,
  });

  test.each([
    { id: "a helper of claude", tool: "claude", record: user("do", { isSidechain: true }) },
    { id: "a note of claude to itself", tool: "claude", record: user("do", { isMeta: true }) },
    { id: "a command of claude", tool: "claude", record: user("<command-name>/clear</command-name>") },
    {
      id: "the output of a command",
      tool: "claude",
      record: user("<local-command-stdout>x</local-command-stdout>"),
    },
    { id: "a compaction", tool: "claude", record: user("summary", { isCompactSummary: true }) },
    {
      id: "the context that codex adds",
      tool: "codex",
      record: {
        type: "response_item",
        payload: { type: "message", role: "user", content: [{ text: "<x>" }] },
      },
    },
    {
      id: "a snapshot of gemini",
      tool: "gemini",
      record: { $set: { messages: [{ type: "user", content: "x" }] } },
    },
    {
      id: "fields of other types",
      tool: "claude",
      record: { type: "assistant", message: { content: [1, null, {}] } },
    },
    { id: "an item of codex without fields", tool: "codex", record: { type: "event_msg", payload: null } },
  ])("$id says nothing", ({ tool, record }) => {
    expect(read(tool, record)).toEqual([]);
  });

  test("only a JSON object is a line", () => {
    const reader = lineReaders["claude"] ?? (() => []);
    for (const line of ["", "{", "null", "[]", '"x"', "\u0000"])
      expect(parseRecordLine(reader, line)).toBeNull();
  });

  test("a prompt that claude held and took in the middle of a turn begins one", () => {
    const attachment = { type: "queued_command", prompt: "and then this" };
    expect(read("claude", { type: "attachment", attachment })).toEqual([
      { kind: "prompt", text: "and then this", atMs: null },
    ]);
  });
});

describe("a turn", () => {
  const fold = (items: readonly TurnItem[], over = false) => {
    const made = createTurnFold();
    for (const item of items) made.add(item);
    return made.turn({ over });
  };
  const text = (said: string, key: string | null = null): TurnItem => ({
    kind: "text",
    text: said,
    key,
    atMs: 2,
  });
  const call: TurnItem = { kind: "tool_call", id: "1", name: "Bash", input: { a: 1 }, atMs: 3 };
  const done: TurnItem = { kind: "end", status: "completed", error: null, atMs: 4 };
  const failed: TurnItem = { kind: "end", status: "failed", error: "no model", atMs: 2 };

  test("has no answer while its tool works, and the words after it as one", () => {
    expect(fold([text("I look"), call])).toMatchObject({
      answer: null,
      status: "running",
      remarks: ["I look"],
    });
    expect(fold([text("I look"), call, text("one"), text("two"), done])).toMatchObject({
      answer: "one\n\ntwo",
      remarks: ["I look"],
      status: "completed",
      endedMs: 4,
    });
  });

  test("that ends with a tool call answers with its last words", () => {
    expect(fold([text("first"), text("I write it"), call, done])).toMatchObject({
      answer: "I write it",
      remarks: ["first"],
    });
  });

  test("goes on when it works after its end, and a message that is written again is one", () => {
    expect(fold([text("ok", "m"), done, text("ok", "m"), call]).status).toBe("running");
    expect(fold([text("o", "m"), text("ok", "m"), done]).answer).toBe("ok");
  });

  test.each<{ id: string; items: TurnItem[]; want: object }>([
    {
      id: "that goes on with new words after an error did not fail",
      items: [failed, text("the whole answer", "m"), done],
      want: { status: "completed", error: null, answer: "the whole answer" },
    },
    {
      id: "failed when its second try fails too",
      items: [failed, text("half"), { ...failed, error: "again" }],
      want: { status: "failed", error: "again" },
    },
    {
      id: "failed when only a message from before its error is written again",
      items: [text("half", "m"), failed, text("half", "m"), done],
      want: { status: "failed", error: "no model" },
    },
    {
      id: "that was interrupted is not reopened by words",
      items: [{ ...failed, status: "interrupted" }, text("half"), done],
      want: { status: "interrupted" },
    },
  ])("$id", ({ items, want }) => expect(fold(items)).toMatchObject(want));

  test.each<{ tool: string; lines: object[] }>([
    {
      tool: "gemini",
      lines: [
        { type: "error", content: "[API Error: busy]" },
        { type: "gemini", id: "m", content: "the whole answer" },
      ],
    },
    {
      tool: "claude",
      lines: [
        {
          type: "assistant",
          isApiErrorMessage: true,
          message: { content: [{ type: "text", text: "busy" }] },
        },
        {
          type: "assistant",
          message: { stop_reason: "end_turn", content: [{ type: "text", text: "the whole answer" }] },
        },
      ],
    },
  ])("of $tool that survived an error is complete", ({ tool, lines }) => {
    const reader = lineReaders[tool] ?? (() => []);
    const items = lines.flatMap((line) => parseRecordLine(reader, JSON.stringify(line)) ?? []);
    expect(fold(items)).toMatchObject({ status: "completed", error: null, answer: "the whole answer" });
  });

  test("without an end is unknown once something follows it", () => {
    expect(fold([text("half")], true)).toMatchObject({ status: "unknown", answer: "half" });
  });

  test("shows the newest 200 tool calls, each cut", () => {
    const calls = Array.from({ length: 205 }, (_, index): TurnItem => {
      return {
        kind: "tool_call",
        id: `c${index}`,
        name: "n".repeat(300),
        input: "x".repeat(3000),
        atMs: null,
      };
    });
    const turn = fold(calls);
    expect([turn.toolCalls.length, turn.toolCallsOmitted]).toEqual([200, 5]);
    expect([turn.toolCalls[0]?.name.length, turn.toolCalls[0]?.input.length]).toEqual([200, 2000]);
  });
});
