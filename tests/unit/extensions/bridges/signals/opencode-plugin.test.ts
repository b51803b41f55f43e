import { expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { type ToolReport, ToolReportSchema } from "../../../../../src/protocol/tool-report.ts";
import { opencodePlugin } from "../../../../../src/services/extensions/bridges/signals/handover.ts";
import { maxLineBytes } from "../../../../../src/services/extensions/bridges/signals/spool-line.ts";
import { sha256 } from "../../../../../src/system/digest.ts";
import { createScratch, type Scratch } from "../../../../support/scratch.ts";

type Hooks = Record<string, (input: unknown, output?: unknown) => Promise<void>>;

/** The plugin as opencode loads it. */
async function load(scratch: Scratch): Promise<Hooks> {
  const path = scratch.path("plugin.mjs");
  writeFileSync(path, opencodePlugin(scratch.path("reports.jsonl")));
  const plugin = (await import(path)) as { SvcSignals: () => Promise<Hooks> };
  return plugin.SvcSignals();
}

/** Plays what opencode 1.18.33 sent to a plugin. */
async function play(hooks: Hooks): Promise<void> {
  const names = { chat: "chat.message", before: "tool.execute.before", after: "tool.execute.after" };
  const lines = readFileSync(
    join(import.meta.dir, "../../../../signals/opencode/1.18.33/events.jsonl"),
    "utf8",
  );
  for (const line of lines.trimEnd().split("\n")) {
    const sent = JSON.parse(line) as Record<string, { input?: unknown; output?: unknown }>;
    if (sent["event"]) await hooks["event"]?.({ event: sent["event"] });
    for (const [key, name] of Object.entries(names)) {
      if (sent[key]) await hooks[name]?.(sent[key].input, sent[key].output);
    }
  }
}

const read = (scratch: Scratch) =>
  readFileSync(scratch.path("reports.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as ToolReport);

test("reports each step of a recorded day once, as records of the spool", async () => {
  using scratch = createScratch();
  await play(await load(scratch));
  const reports = read(scratch);
  expect(reports.filter((one) => !Value.Check(ToolReportSchema, one))).toEqual([]);
  expect(new Set(reports.map(({ id }) => id)).size).toBe(reports.length);
  expect(
    reports.map(({ kind, prompt, action, message }) =>
      [kind, prompt, action, message].filter((one) => one !== null).join(" "),
    ),
  ).toEqual([
    "session_started",
    "prompt_submitted Hello FAST",
    // It puts a blank behind a paste that it shows as a chip.
    "prompt_submitted line one\nline two with ünïcode \u{1f600}\n\nlast FAST ",
    "prompt_submitted Do RUNTOOL",
    "tool_started bash",
    "question_asked bash touch tool-out.txt",
    "tool_finished bash",
    "turn_ended",
    "prompt_submitted Go SLOWTURN",
    "turn_ended",
    "prompt_submitted Now FAIL400",
    "turn_failed scripted failure 400",
    "session_started",
    "prompt_submitted Again FAST",
    "turn_ended",
  ]);
  const [, first] = reports;
  expect(first?.prompt_sha256).toBe(sha256("Hello FAST"));
  expect(statSync(scratch.path("reports.jsonl")).mode & 0o777).toBe(0o600);
});

test("a helper's session is no turn of the agent", async () => {
  using scratch = createScratch();
  const hooks = await load(scratch);
  const info = { id: "ses_helper", parentID: "ses_main" };
  await hooks["event"]?.({ event: { type: "session.created", properties: { sessionID: info.id, info } } });
  await hooks["chat.message"]?.(
    { sessionID: info.id },
    { message: { id: "m" }, parts: [{ type: "text", text: "x" }] },
  );
  await hooks["event"]?.({ event: { type: "session.idle", properties: { sessionID: info.id } } });
  expect(existsSync(scratch.path("reports.jsonl"))).toBe(false);
});

test("a long prompt fits a line, with the hash of all of it", async () => {
  using scratch = createScratch();
  const hooks = await load(scratch);
  const text = "\u0001\u{1f600}".repeat(50_000);
  await hooks["chat.message"]?.(
    { sessionID: "s" },
    { message: { id: "m" }, parts: [{ type: "text", text }] },
  );
  const [report] = read(scratch);
  expect(report?.prompt_sha256).toBe(sha256(text));
  expect(statSync(scratch.path("reports.jsonl")).size).toBeLessThanOrEqual(maxLineBytes);
});

test("foreign files are left alone, and no call throws", async () => {
  using scratch = createScratch();
  writeFileSync(scratch.path("elsewhere"), "", { mode: 0o600 });
  symlinkSync(scratch.path("elsewhere"), scratch.path("reports.jsonl"));
  const hooks = await load(scratch);
  await play(hooks);
  expect(readFileSync(scratch.path("elsewhere"), "utf8")).toBe("");
  for (const hook of Object.values(hooks)) await hook({ event: { type: "session.idle" } }, {});
  await hooks["event"]?.({ event: {} });
});

test("a spool that others may write gets nothing", async () => {
  using scratch = createScratch();
  writeFileSync(scratch.path("reports.jsonl"), "");
  chmodSync(scratch.path("reports.jsonl"), 0o666);
  await play(await load(scratch));
  expect(statSync(scratch.path("reports.jsonl")).size).toBe(0);
});
