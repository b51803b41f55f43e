import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import {
  createRecordFile,
  next,
  nothingPreceding,
  type Preceding,
} from "../../../../../src/services/extensions/observe/transcript/record-file.ts";
import { lineReaders } from "../../../../../src/services/extensions/observe/transcript/record-lines.ts";
import type { TurnItem } from "../../../../../src/services/extensions/observe/transcript/turn-source.ts";
import {
  createConversations,
  recordRootOf,
  transcriptPaths,
} from "../../../../../src/services/sessions/conversations.ts";
import { createScratch, type Scratch } from "../../../../support/scratch.ts";

const recorded = readFileSync(join(import.meta.dir, "../../../../transcripts/claude-2.1.330.jsonl"), "utf8");

const prompt = (text: string, second = 0) =>
  `${JSON.stringify({ type: "user", timestamp: `2026-01-01T00:00:0${second}.000Z`, message: { content: text } })}\n`;
const answer = (text: string, second = 1) =>
  `${JSON.stringify({
    type: "assistant",
    timestamp: `2026-01-01T00:00:0${second}.000Z`,
    message: { content: [{ type: "text", text }], stop_reason: "end_turn" },
  })}\n`;

function recordAt(scratch: Scratch, path: string) {
  const reader = lineReaders["claude"] ?? (() => []);
  const facts = { what: "the record of claude", source: "tool" as const, conversationId: "c1", reader };
  return createRecordFile(scratch.files, { ...facts, path: () => path });
}

async function answersOf(source: ReturnType<typeof recordAt>): Promise<(string | null | undefined)[]> {
  const heads = [...(await source.heads())];
  return Promise.all(
    heads.map(
      async (head, at) => (await source.read(head.turnId, { last: at === heads.length - 1 }))?.answer,
    ),
  );
}

describe("a file of records", () => {
  test("is read on from where it was read to, and a line is read once it is whole", async () => {
    using scratch = createScratch();
    const path = scratch.path("record.jsonl");
    const source = recordAt(scratch, path);
    expect([await answersOf(source), source.gap()]).toEqual([
      [],
      "the record of claude is not there any more: record.jsonl",
    ]);
    writeFileSync(path, prompt("one") + answer("1"), { mode: 0o600 });
    expect([await answersOf(source), source.gap()]).toEqual([["1"], null]);
    const [first] = await source.heads();
    const line = prompt("two", 2);
    appendFileSync(path, line.slice(0, 20));
    expect(await answersOf(source)).toEqual(["1"]);
    appendFileSync(path, line.slice(20));
    expect(await answersOf(source)).toEqual(["1", null]);
    expect((await source.read((await source.heads())[1]?.turnId ?? "", { last: true }))?.status).toBe(
      "running",
    );
    appendFileSync(path, answer("2", 3));
    expect(await answersOf(source)).toEqual(["1", "2"]);
    // Ids stay, also for a reader that begins anew.
    expect((await recordAt(scratch, path).heads())[0]).toEqual(first);
  });

  test("that was replaced or cut is read from its beginning", async () => {
    using scratch = createScratch();
    const path = scratch.path("record.jsonl");
    const source = recordAt(scratch, path);
    writeFileSync(path, prompt("one") + answer("1") + prompt("two") + answer("2"), { mode: 0o600 });
    expect(await answersOf(source)).toEqual(["1", "2"]);
    truncateSync(path, (prompt("one") + answer("1")).length);
    expect(await answersOf(source)).toEqual(["1"]);
    writeFileSync(scratch.path("other"), prompt("three") + answer("3"), { mode: 0o600 });
    renameSync(scratch.path("other"), path);
    expect(await answersOf(source)).toEqual(["3"]);
  });

  test("skips damaged lines and counts them", async () => {
    using scratch = createScratch();
    const path = scratch.path("record.jsonl");
    const noise = "{half\n\u0000\u0000\n[1]\n\n";
    writeFileSync(path, noise + prompt("one") + noise + answer("1"), { mode: 0o600 });
    const source = recordAt(scratch, path);
    expect([await answersOf(source), source.damagedLines()]).toEqual([["1"], 6]);
  });

  test("gives an answer of 250 KB whole and says so where a longer one was cut", async () => {
    using scratch = createScratch();
    const path = scratch.path("record.jsonl");
    const long = "値 line\n".repeat(25_000);
    writeFileSync(path, prompt("one") + answer(long) + prompt("two") + answer("x".repeat(5_000_000)), {
      mode: 0o600,
    });
    const source = recordAt(scratch, path);
    const heads = await source.heads();
    const first = await source.read(heads[0]?.turnId ?? "", { last: false });
    expect([first?.answer === long, first?.cut]).toEqual([true, false]);
    const second = await source.read(heads[1]?.turnId ?? "", { last: true });
    expect([second?.answer?.length, second?.cut]).toEqual([300_000, true]);
  });

  test("behind a link or writable by others is not read", async () => {
    using scratch = createScratch();
    const path = scratch.path("record.jsonl");
    writeFileSync(path, prompt("one") + answer("1"), { mode: 0o600 });
    symlinkSync(path, scratch.path("link.jsonl"));
    const linked = recordAt(scratch, scratch.path("link.jsonl"));
    expect([await answersOf(linked), linked.gap()]).toEqual([[], expect.stringContaining("not read")]);
    chmodSync(path, 0o622);
    const open = recordAt(scratch, path);
    expect([await answersOf(open), open.gap()]).toEqual([[], expect.stringContaining("not read")]);
  });
});

describe("conversations", () => {
  const facts = (scratch: Scratch, tool = "claude") => ({ tool, env: { HOME: scratch.folder }, home: null });
  const open = (scratch: Scratch, problems: string[] = [], tool = "claude") =>
    createConversations({
      files: scratch.files,
      sessionRoot: scratch.path("session"),
      record: facts(scratch, tool),
      nowMs: () => Date.parse("2026-11-23T20:00:59Z"),
      onProblem: (what) => problems.push(what),
    });
  const write = (path: string, text = recorded) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: 0o600 });
  };

  test("are found again after a restart", () => {
    using scratch = createScratch();
    const path = scratch.path(".claude/projects/-home-user/c1.jsonl");
    write(path);
    const first = open(scratch);
    first.note("c1", path);
    first.note("c1", path);
    const again = open(scratch);
    expect(again.list()).toEqual(first.list());
    expect(again.list().map((one) => again.pathOf(one))).toEqual([path as never]);
  });

  test.each([
    { id: "outside the tool's folder", path: "secret.jsonl" },
    { id: "above it", path: ".claude/projects/../../secret.jsonl" },
    { id: "its folder itself", path: ".claude/projects" },
    { id: "elsewhere on the machine", path: "/etc/passwd" },
    { id: "a relative path", path: null },
  ])("a record that the tool names $id is not noted", ({ path }) => {
    using scratch = createScratch();
    write(scratch.path("secret.jsonl"));
    const problems: string[] = [];
    const conversations = open(scratch, problems);
    conversations.note(
      "c1",
      path === null ? "projects/c1.jsonl" : path.startsWith("/") ? path : scratch.path(path),
    );
    expect([conversations.list(), problems]).toEqual([
      [],
      ["the tool names a record outside its own folder: it is not read"],
    ]);
  });

  test("a link on the way to a record is refused when it is read", () => {
    using scratch = createScratch();
    write(scratch.path("elsewhere/c1.jsonl"));
    mkdirSync(scratch.path(".claude/projects"), { recursive: true });
    symlinkSync(scratch.path("elsewhere"), scratch.path(".claude/projects/p"));
    const conversations = open(scratch);
    conversations.note("c1", scratch.path(".claude/projects/p/c1.jsonl"));
    const [noted] = conversations.list();
    expect(() => noted && conversations.pathOf(noted)).toThrow("is a symbolic link");
  });

  test("codex is found by its conversation's id, in the folder of the day on which it began", () => {
    using scratch = createScratch();
    const id = "01a209ff-5a27-7403-947a-dce37f083645";
    const path = scratch.path(`.codex/sessions/2026/11/23/rollout-2026-11-23T20-00-59-${id}.jsonl`);
    write(path, "");
    const conversations = open(scratch, [], "codex");
    conversations.note(id, null);
    expect(conversations.list().map((one) => conversations.pathOf(one) as string)).toEqual([path]);
    rmSync(path);
    expect(() => conversations.list().map((one) => conversations.pathOf(one))).toThrow("no record has this");
  });

  test("a damaged list is reported and begins empty", () => {
    using scratch = createScratch();
    write(transcriptPaths(scratch.path("session")).conversations, '{"schema_version":1,"conv');
    const problems: string[] = [];
    expect(open(scratch, problems).list()).toEqual([]);
    expect(problems).toEqual(["conversations.json is damaged: turns of earlier conversations are not found"]);
  });

  test("the folder of records follows the tool's own variable, and the home that a launch chose wins", () => {
    const env = { HOME: "/home/u", CLAUDE_CONFIG_DIR: "/c", CODEX_HOME: "/x", XDG_DATA_HOME: "relative" };
    expect(recordRootOf({ tool: "claude", env, home: null })).toBe("/c/projects");
    expect(recordRootOf({ tool: "claude", env, home: "/chosen" })).toBe("/chosen/projects");
    expect(recordRootOf({ tool: "codex", env, home: null })).toBe("/x/sessions");
    expect(recordRootOf({ tool: "gemini", env, home: null })).toBe("/home/u/.gemini/tmp");
    expect(recordRootOf({ tool: "opencode", env, home: null })).toBe("/home/u/.local/share/opencode");
    expect(recordRootOf({ tool: "kimi", env, home: null })).toBeNull();
  });
});

describe("which prompt of a file begins a turn", () => {
  const prompt = (text: string, own?: true): TurnItem => ({
    kind: "prompt",
    text,
    ...(own ? { own } : {}),
    atMs: null,
  });
  const text: TurnItem = { kind: "text", text: "done", key: null, atMs: null };
  const model: TurnItem = { kind: "model", model: "m", atMs: null };
  const asked: Preceding = { ...nothingPreceding, justAsked: "a" };
  const noticed: Preceding = { ...nothingPreceding, justAsked: "n", justNoticed: true };
  const cases: { id: string; after: Preceding; item: TurnItem; begins: boolean; want: Preceding }[] = [
    { id: "the first one", after: nothingPreceding, item: prompt("a"), begins: true, want: asked },
    { id: "not the same again", after: asked, item: prompt("a"), begins: false, want: asked },
    {
      id: "another one",
      after: asked,
      item: prompt("b"),
      begins: true,
      want: { ...nothingPreceding, justAsked: "b" },
    },
    {
      id: "a notice of the tool",
      after: nothingPreceding,
      item: prompt("n", true),
      begins: true,
      want: noticed,
    },
    { id: "not a second notice", after: noticed, item: prompt("o", true), begins: false, want: noticed },
    { id: "a person's after a notice", after: noticed, item: prompt("a"), begins: true, want: asked },
    {
      id: "no text, which lets the same be asked",
      after: asked,
      item: text,
      begins: false,
      want: nothingPreceding,
    },
    {
      id: "no name of a model, which changes nothing else",
      after: asked,
      item: model,
      begins: false,
      want: { ...asked, model: "m" },
    },
    {
      id: "a text keeps the model",
      after: { ...asked, model: "m" },
      item: text,
      begins: false,
      want: { ...nothingPreceding, model: "m" },
    },
  ];
  test.each(cases)("$id", ({ after, item, begins, want }) => {
    const { preceding, begins: began } = next(after, item);
    expect(preceding).toEqual(want);
    expect<unknown>(began).toEqual(begins ? item : null);
  });
});
