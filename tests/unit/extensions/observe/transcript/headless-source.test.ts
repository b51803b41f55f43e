import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { TurnRequest, TurnResult } from "../../../../../src/protocol/turn-files.ts";
import { headlessSources } from "../../../../../src/services/extensions/observe/transcript/session-transcript.ts";
import { createTurnDirectories } from "../../../../../src/services/headless/turn-directory.ts";
import { createScratch, type Scratch } from "../../../../support/scratch.ts";
import { readLines } from "../../../headless/recorded-streams.ts";

/** What the events of headless turns say of tokens. */

const atUtc = (index: number) => `2026-11-25T10:00:${String(index).padStart(2, "0")}.000+00:00`;

/** A turn of codex that counts `total` tokens of its conversation, in and out; null: it broke off before. */
function write(
  scratch: Scratch,
  turn: {
    index: number;
    session: TurnRequest["session"];
    of: string;
    total: [number, number] | null;
    args?: string[];
  },
): void {
  const { index, session, of, total } = turn;
  const request: TurnRequest = {
    schema_version: 1,
    turn_id: `t${index}`,
    turn_index: index,
    tracked_agent_id: "a",
    request_id: null,
    requested_at_utc: atUtc(index),
    life: null,
    tool: "codex",
    executable: "codex",
    args: turn.args ?? [],
    working_directory: "/",
    role_prompt: null,
    prompt: `prompt ${index}`,
    session,
    model: null,
    display_style: "plain",
    display_detail: "concise",
  };
  const directory = createTurnDirectories({ files: scratch.files, sessionRoot: scratch.folder }).create(
    request,
  );
  const usage = total && {
    input_tokens: total[0],
    cached_input_tokens: total[0] - 1,
    output_tokens: total[1],
  };
  const lines = [
    { type: "thread.started", thread_id: of },
    ...(usage ? [{ type: "turn.completed", usage }] : []),
  ].map((line) => JSON.stringify(line));
  const { events } = readLines("codex", lines);
  const dated = events.map((event) => JSON.stringify({ ...event, timestamp_utc: atUtc(index) }));
  writeFileSync(directory.paths.events, `${dated.join("\n")}\n`, { mode: 0o600 });
  const result: TurnResult = {
    schema_version: 1,
    status: usage ? "completed" : "interrupted",
    completed_at_utc: atUtc(index),
    returncode: 0,
    signal: null,
    completion_source: "terminal_event",
    session_id: of,
    history_summary: null,
    error: null,
    usage: null,
  };
  directory.saveResult(result);
}

async function usageOf(scratch: Scratch, turnId: string) {
  const [source] = headlessSources(scratch.files, scratch.folder)();
  return (await source?.read(turnId, { last: false }))?.usage.map((one) => [
    one.input_tokens,
    one.output_tokens,
  ]);
}

const fresh = { mode: "new" } as const;
const exact = (id: string) => ({ mode: "exact", id }) as const;

test("a tool that counts from the start of a conversation: each turn counts what it added", async () => {
  using scratch = createScratch();
  write(scratch, { index: 1, session: fresh, of: "c", total: [100, 10] });
  write(scratch, { index: 2, session: fresh, of: "other", total: [7, 3] });
  write(scratch, { index: 3, session: exact("c"), of: "c", total: null });
  write(scratch, { index: 4, session: exact("c"), of: "c", total: [350, 30] });
  write(scratch, { index: 5, session: exact("c"), of: "c", total: [351, 30] });
  expect(await Promise.all(["t1", "t2", "t3", "t4", "t5"].map((id) => usageOf(scratch, id)))).toEqual([
    [[100, 10]],
    [[7, 3]],
    [],
    [[250, 20]],
    [[1, 0]],
  ]);
});

test("the first count after a first turn that broke off is all of the conversation", async () => {
  using scratch = createScratch();
  write(scratch, { index: 1, session: fresh, of: "c", total: null });
  write(scratch, { index: 2, session: exact("c"), of: "c", total: [120, 9] });
  expect(await usageOf(scratch, "t2")).toEqual([[120, 9]]);
});

test("of a conversation that was begun elsewhere the first turn has no count", async () => {
  using scratch = createScratch();
  write(scratch, { index: 1, session: exact("c"), of: "c", total: [900, 90] });
  write(scratch, { index: 2, session: exact("c"), of: "c", total: [950, 91] });
  expect([await usageOf(scratch, "t1"), await usageOf(scratch, "t2")]).toEqual([[], [[50, 1]]]);
});

test("the model is the one that was asked for where the stream names none", async () => {
  using scratch = createScratch();
  write(scratch, { index: 1, session: fresh, of: "c", total: [1, 1], args: ["-m", "gpt-5.4"] });
  const [source] = headlessSources(scratch.files, scratch.folder)();
  expect((await source?.read("t1", { last: false }))?.usage).toMatchObject([{ model: "gpt-5.4" }]);
});
