import { expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import type { ToolReport } from "../../../../../src/protocol/tool-report.ts";
import {
  maxLineBytes,
  toSpoolLine,
} from "../../../../../src/services/extensions/bridges/signals/spool-line.ts";
import {
  createSpoolSource,
  signalPaths,
} from "../../../../../src/services/extensions/bridges/signals/spool-source.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { sampleReport } from "../../../../support/sample-report.ts";
import { createScratch, type Scratch } from "../../../../support/scratch.ts";

/** A spool on the real file system, and gateways that read it one after the other. */
function createBench() {
  const scratch = createScratch();
  const paths = signalPaths(scratch.folder);
  mkdirSync(paths.root, { mode: 0o700 });
  const write = (text: string) => appendFileSync(paths.spool, text, { mode: 0o600 });
  return {
    paths,
    scratch,
    write,
    add: (...ids: string[]) => write(ids.map((id) => toSpoolLine(sampleReport({ id }))).join("")),
    gateway: () => openGateway(scratch),
    [Symbol.dispose]: () => scratch[Symbol.dispose](),
  };
}

function openGateway(scratch: Scratch) {
  const clock = createFakeClock();
  const log: string[] = [];
  const got: ToolReport[] = [];
  let notice = (_name: string | null) => {};
  const source = createSpoolSource({
    files: scratch.files,
    clock,
    watch: {
      watchFolder(_folder, listener) {
        notice = listener;
        return () => {};
      },
    },
    log: { line: (text, fields) => log.push(`${text} ${JSON.stringify(fields ?? {})}`) },
    sessionRoot: scratch.folder,
  });
  source.subscribe((report) => got.push(report));
  source.start();
  return {
    log,
    ids: () => got.map(({ id }) => id),
    got,
    clock,
    changed: (name: string | null = "reports.jsonl") => notice(name),
    stop: () => source.stop(),
    /** Lets it look once. */
    look: () => clock.advance(10_000),
  };
}

test("passes on what was reported before it started and what comes after, in order", async () => {
  using bench = createBench();
  bench.add("a", "b");
  const gateway = bench.gateway();
  await gateway.clock.advance(0);
  expect(gateway.ids()).toEqual(["a", "b"]);
  bench.add("c");
  gateway.changed();
  await gateway.clock.advance(0);
  expect(gateway.ids()).toEqual(["a", "b", "c"]);
  expect(gateway.log).toEqual([]);
});

test("a change that nobody reported is seen at the next poll", async () => {
  using bench = createBench();
  const gateway = bench.gateway();
  await gateway.clock.advance(0);
  bench.add("a");
  await gateway.clock.advance(9999);
  expect(gateway.ids()).toEqual([]);
  await gateway.clock.advance(1);
  expect(gateway.ids()).toEqual(["a"]);
});

test("a line comes once, whatever is written twice", async () => {
  using bench = createBench();
  bench.add("a", "a");
  const gateway = bench.gateway();
  await gateway.look();
  bench.add("a", "b");
  await gateway.look();
  expect(gateway.ids()).toEqual(["a", "b"]);
});

test("the next gateway goes on behind what the one before read", async () => {
  using bench = createBench();
  bench.add("a");
  const first = bench.gateway();
  await first.look();
  await first.stop();
  bench.add("b");
  const second = bench.gateway();
  await second.look();
  expect(second.ids()).toEqual(["b"]);
});

test("how far it read is saved before the reports are passed on", async () => {
  using bench = createBench();
  bench.add("a");
  const first = bench.gateway();
  let saved = "";
  bench.scratch.beforeStep = (label) => {
    if (label === "file:reports-cursor.rename") saved = first.ids().join();
  };
  await first.look();
  expect({ saved, read: first.ids() }).toEqual({ saved: "", read: ["a"] });
  expect(JSON.parse(readFileSync(bench.paths.cursor, "utf8")).read[0].offset).toBe(
    statSync(bench.paths.spool).size,
  );
});

test("a disk that takes no cursor costs no report", async () => {
  using bench = createBench();
  bench.add("a");
  bench.scratch.beforeStep = (label) => {
    if (label === "file:reports-cursor") throw Object.assign(new Error("no space"), { code: "ENOSPC" });
  };
  const gateway = bench.gateway();
  await gateway.look();
  await gateway.look();
  expect(gateway.ids()).toEqual(["a"]);
  expect(gateway.log).toHaveLength(1);
});

test("half a line waits for its end; a line that was cut short costs itself only", async () => {
  using bench = createBench();
  const whole = toSpoolLine(sampleReport({ id: "a" }));
  bench.write(whole.slice(0, 40));
  const gateway = bench.gateway();
  await gateway.look();
  expect(gateway.ids()).toEqual([]);
  bench.write(whole.slice(40));
  await gateway.look();
  expect(gateway.ids()).toEqual(["a"]);
  bench.write(toSpoolLine(sampleReport({ id: "torn" })).slice(0, 40));
  bench.add("b");
  await gateway.look();
  expect(gateway.ids()).toEqual(["a", "b"]);
  expect(gateway.log).toEqual(['lines among the reports of the tool that are no reports {"count":1}']);
});

test.each([
  { id: "no JSON", line: "hello" },
  { id: "another version", line: JSON.stringify({ ...sampleReport(), schema_version: 2 }) },
  { id: "an unknown key", line: JSON.stringify({ ...sampleReport(), command: "rm" }) },
  { id: "an unknown kind", line: JSON.stringify({ ...sampleReport(), kind: "type_this" }) },
  { id: "no object", line: "[]" },
  { id: "bytes that are no text", line: "\udcff\0" },
])("$id is counted and said once, without its text", async ({ line }) => {
  using bench = createBench();
  bench.write(`${line}\n${line}\n`);
  bench.add("a");
  const gateway = bench.gateway();
  await gateway.look();
  bench.write(`${line}\n`);
  await gateway.look();
  expect(gateway.ids()).toEqual(["a"]);
  expect(gateway.log).toEqual(['lines among the reports of the tool that are no reports {"count":2}']);
});

test("a line without end is passed over", async () => {
  using bench = createBench();
  bench.write("x".repeat(700_000));
  bench.add("a");
  const gateway = bench.gateway();
  await gateway.look();
  expect(gateway.ids()).toEqual(["a"]);
  expect(gateway.log).toHaveLength(1);
});

const fillerOf = (bytes: number) =>
  toSpoolLine(sampleReport({ id: "filler", message: "x".repeat(60_000) })).repeat(Math.ceil(bytes / 60_000));

test("a spool that was read and is large is rotated; what a late hook writes to the old file comes too", async () => {
  using bench = createBench();
  bench.write(fillerOf(4.5 * 2 ** 20));
  const gateway = bench.gateway();
  await gateway.look();
  expect(existsSync(bench.paths.spool)).toBe(false);
  appendFileSync(bench.paths.rotated, toSpoolLine(sampleReport({ id: "late" })));
  bench.add("new");
  await gateway.look();
  expect(gateway.ids()).toEqual(["filler", "late", "new"]);
  await gateway.stop();
  bench.add("newer");
  const next = bench.gateway();
  await next.look();
  expect(next.ids()).toEqual(["newer"]);
});

test("of a flood only the end is read, and that is said once", async () => {
  using bench = createBench();
  bench.add("first");
  bench.write(fillerOf(9 * 2 ** 20));
  bench.add("last");
  const gateway = bench.gateway();
  await gateway.look();
  expect(gateway.ids()).toEqual(["filler", "last"]);
  expect(gateway.log.filter((line) => line.includes("dropped"))).toHaveLength(1);
  expect(existsSync(bench.paths.spool)).toBe(false);
});

test("a spool that somebody emptied is read from its start", async () => {
  using bench = createBench();
  bench.add("a", "b");
  const gateway = bench.gateway();
  await gateway.look();
  truncateSync(bench.paths.spool, 0);
  bench.add("c");
  await gateway.look();
  expect(gateway.ids()).toEqual(["a", "b", "c"]);
});

test("a damaged cursor passes over what is there: nothing is new twice", async () => {
  using bench = createBench();
  bench.add("a");
  writeFileSync(bench.paths.cursor, "{", { mode: 0o600 });
  const gateway = bench.gateway();
  await gateway.look();
  bench.add("b");
  await gateway.look();
  expect(gateway.ids()).toEqual(["b"]);
  expect(gateway.log).toHaveLength(1);
});

const plants: { id: string; plant: (paths: ReturnType<typeof signalPaths>) => void }[] = [
  {
    id: "a link",
    plant: ({ spool, root }) => {
      renameSync(spool, `${root}/elsewhere`);
      symlinkSync(`${root}/elsewhere`, spool);
    },
  },
  { id: "a file that others may write", plant: ({ spool }) => chmodSync(spool, 0o666) },
  {
    id: "a folder",
    plant: ({ spool }) => {
      renameSync(spool, `${spool}.away`);
      mkdirSync(spool);
    },
  },
];

test.each(plants)("$id instead of the spool is refused, said once and no fault", async ({ plant }) => {
  using bench = createBench();
  bench.add("a");
  plant(bench.paths);
  const gateway = bench.gateway();
  await gateway.look();
  await gateway.look();
  expect(gateway.ids()).toEqual([]);
  expect(gateway.log).toHaveLength(1);
  expect(gateway.log[0]).not.toContain(bench.scratch.folder);
});

test("a pipe instead of the spool holds nothing up", async () => {
  using bench = createBench();
  expect(Bun.spawnSync(["mkfifo", bench.paths.spool]).exitCode).toBe(0);
  const gateway = bench.gateway();
  await gateway.look();
  expect(gateway.ids()).toEqual([]);
});

test.each([
  { id: "letters", text: "x".repeat(300_000) },
  { id: "characters that JSON escapes", text: '\u0001"\\'.repeat(100_000) },
  { id: "pairs of surrogates", text: "\u{1f600}".repeat(100_000) },
])("a line of $id is cut to stay whole", ({ text }) => {
  const line = toSpoolLine(sampleReport({ prompt: text, message: text }));
  expect(Buffer.byteLength(line)).toBeLessThanOrEqual(maxLineBytes);
  const report = JSON.parse(line) as ToolReport;
  expect(text.startsWith(report.prompt ?? "?")).toBe(true);
  expect(report.prompt?.isWellFormed()).toBe(true);
  expect(Buffer.byteLength(line)).toBeGreaterThan(maxLineBytes * 0.9);
});
