import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSessionSources } from "../../../../../src/services/extensions/observe/transcript/session-sources.ts";
import type { Conversations } from "../../../../../src/services/sessions/conversations.ts";
import { keyOfText } from "../../../../../src/services/terminal/keys.ts";
import { createScratch } from "../../../../support/scratch.ts";

const beginMs = Date.UTC(2026, 0, 1);
const onScreen = (prompt: string, afterMs: number) =>
  JSON.stringify({
    schema_version: 1,
    started_at_ms: beginMs + afterMs,
    ended_at_ms: beginMs + afterMs + 400,
    prompt,
    answer: "from the screen",
  });
const inRecord = (prompt: string, afterMs: number) =>
  JSON.stringify({
    type: "user",
    timestamp: new Date(beginMs + afterMs).toISOString(),
    message: { role: "user", content: prompt },
  });

test("a turn that the screen showed before its tool said where its record is counts once", async () => {
  using scratch = createScratch();
  mkdirSync(scratch.path("transcript"));
  const screen = [onScreen("hello", 0), onScreen("hello", 60_000), onScreen("no record of it", 120_000)];
  writeFileSync(scratch.path("transcript/screen-turns.jsonl"), `${screen.join("\n")}\n`);
  const record = scratch.path("record.jsonl");
  writeFileSync(record, `${[inRecord("hello", 50), inRecord("later", 120_010)].join("\n")}\n`);
  const conversation = { tool: "demo", id: "one", names: ["record.jsonl"], noted_at_ms: beginMs };
  const conversations = {
    recordRoot: scratch.folder,
    list: () => [conversation],
    pathOf: () => record,
  } as unknown as Conversations;
  const { files } = scratch;
  const sources = createSessionSources({
    files,
    conversations,
    sessionRoot: scratch.folder,
    tool: "demo",
    workdir: scratch.folder,
    nowMs: () => beginMs,
  });
  const heads = (await Promise.all(sources.all().map((source) => source.heads()))).flat();
  const begins = heads.map(({ startedMs }) => (startedMs ?? 0) - beginMs);
  // The record's, then those of the screen: "hello" a minute later is another turn.
  expect(begins).toEqual([50, 120_010, 60_000, 120_000]);
});

test("the conversation of a Gemini CLI is the one that its record names, not the record's name", async () => {
  using scratch = createScratch();
  const id = "eabf26b5-4913-4b05-a9f4-f56863f953f3";
  const chats = scratch.path("records/project/chats");
  mkdirSync(chats, { recursive: true });
  writeFileSync(scratch.path("records/project/.project_root"), scratch.folder);
  const said = {
    id: "1",
    timestamp: new Date(beginMs).toISOString(),
    type: "user",
    content: [{ text: "hello" }],
  };
  const lines = [{ sessionId: id, projectHash: "0", kind: "main" }, said].map((line) => JSON.stringify(line));
  writeFileSync(join(chats, "session-2026-01-01T00-00-eabf26b5.jsonl"), `${lines.join("\n")}\n`, {
    mode: 0o600,
  });
  const noted: string[] = [];
  const conversations = {
    recordRoot: scratch.path("records"),
    list: () => [],
    note: (conversation: string) => void noted.push(conversation),
  } as unknown as Conversations;
  const sources = createSessionSources({
    files: scratch.files,
    conversations,
    sessionRoot: scratch.folder,
    tool: "gemini",
    workdir: scratch.folder,
    nowMs: () => beginMs,
  });
  expect(await sources.discover(keyOfText("hello"), beginMs - 1000)).toBe(true);
  expect(noted).toEqual([id]);
});
