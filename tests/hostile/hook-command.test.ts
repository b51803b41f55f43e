import { expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ToolReport } from "../../src/protocol/tool-report.ts";
import { maxLineBytes, maxSpoolBytes } from "../../src/services/extensions/bridges/signals/spool-line.ts";
import { sha256 } from "../../src/system/digest.ts";

const executable = join(import.meta.dir, "../../dist/svc-gateway");
const prompt = (text: string) =>
  JSON.stringify({ session_id: "s", prompt_id: "p", hook_event_name: "UserPromptSubmit", prompt: text });

/** A folder with a spool in it, and the compiled hook command. */
function createBench() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-hook-")));
  const spool = join(folder, "reports.jsonl");
  return {
    folder,
    spool,
    /** As a tool runs it; `stdin` as given, or a pipe that stays open. */
    async run(
      stdin: string | Uint8Array<ArrayBuffer> | "held open",
      words: readonly string[] = ["claude", spool],
    ) {
      const child = Bun.spawn([executable, "gateway", "signal", ...words], {
        cwd: folder,
        env: {},
        stdout: "pipe" as const,
        stderr: "pipe" as const,
        stdin: stdin === "held open" ? ("pipe" as const) : new Blob([stdin]),
      });
      const startedMs = performance.now();
      const [out, err, code] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
        child.exited,
      ]);
      return { said: { code, out, err }, tookMs: performance.now() - startedMs };
    },
    reports: () =>
      existsSync(spool)
        ? readFileSync(spool, "utf8")
            .split("\n")
            .filter((line) => line !== "")
            .map((line) => JSON.parse(line) as ToolReport)
        : [],
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const silent = { code: 0, out: "", err: "" };

test("a prompt is in the spool with its hash, for this user alone", async () => {
  using bench = createBench();
  const { said } = await bench.run(prompt("Grüße\n\u{1f600}"));
  expect(said).toEqual(silent);
  const [report, ...others] = bench.reports();
  expect(others).toEqual([]);
  expect(report).toMatchObject({
    tool: "claude",
    kind: "prompt_submitted",
    session_id: "s",
    turn_id: "p",
    prompt: "Grüße\n\u{1f600}",
    prompt_sha256: sha256("Grüße\n\u{1f600}"),
  });
  expect(statSync(bench.spool).mode & 0o777).toBe(0o600);
});

test("codex gives it the notification as its last argument", async () => {
  using bench = createBench();
  const notification = JSON.stringify({
    type: "agent-turn-complete",
    "thread-id": "t",
    "input-messages": ["a", "b"],
  });
  expect((await bench.run("", ["codex", bench.spool, notification])).said).toEqual(silent);
  expect(bench.reports()).toMatchObject([
    { tool: "codex", kind: "turn_ended", session_id: "t", prompt: "b" },
  ]);
});

test.each<{ id: string; stdin: string | Uint8Array<ArrayBuffer>; words?: string[] }>([
  { id: "nothing", stdin: "" },
  { id: "no JSON", stdin: "hello" },
  { id: "no text", stdin: new Uint8Array(5000).fill(0xff) },
  { id: "an event that says nothing to us", stdin: '{"hook_event_name":"Elsewhere"}' },
  { id: "no arguments", stdin: prompt("x"), words: [] },
  { id: "an unknown tool", stdin: prompt("x"), words: ["nobody", "/nowhere/reports.jsonl"] },
  { id: "a folder that is gone", stdin: prompt("x"), words: ["claude", "/nowhere/reports.jsonl"] },
])("$id is silence and success", async ({ stdin, words }) => {
  using bench = createBench();
  expect((await bench.run(stdin, words)).said).toEqual(silent);
  expect(bench.reports()).toEqual([]);
});

test("a tool that never closes the pipe waits about a second", async () => {
  using bench = createBench();
  const { said, tookMs } = await bench.run("held open");
  expect(said).toEqual(silent);
  expect(tookMs).toBeGreaterThan(900);
  expect(tookMs).toBeLessThan(5000);
});

test("of 5 MiB the event and its ids remain, and the writer meets no closed pipe", async () => {
  using bench = createBench();
  expect((await bench.run(prompt("x".repeat(5 * 2 ** 20)))).said).toEqual(silent);
  expect(bench.reports()).toMatchObject([{ kind: "prompt_submitted", turn_id: "p", prompt: null }]);
});

test("a line is never longer than a line may be", async () => {
  using bench = createBench();
  const text = "\u0001".repeat(150_000);
  expect((await bench.run(prompt(text))).said).toEqual(silent);
  expect(bench.reports()).toMatchObject([{ prompt_sha256: sha256(text) }]);
  expect(statSync(bench.spool).size).toBeLessThanOrEqual(maxLineBytes);
});

const plants: { id: string; plant: (spool: string, folder: string) => void }[] = [
  { id: "a link", plant: (spool, folder) => symlinkSync(join(folder, "victim"), spool) },
  { id: "a link to nothing", plant: (spool, folder) => symlinkSync(join(folder, "absent"), spool) },
  { id: "a pipe", plant: (spool) => void Bun.spawnSync(["mkfifo", spool]) },
  { id: "a folder", plant: (spool) => void mkdirSync(spool) },
  {
    id: "a file that others may write",
    plant: (spool) => {
      writeFileSync(spool, "");
      chmodSync(spool, 0o666);
    },
  },
  {
    id: "a spool that nobody reads",
    plant: (spool) => {
      writeFileSync(spool, "", { mode: 0o600 });
      truncateSync(spool, maxSpoolBytes);
    },
  },
];

test.each(plants)("$id in place of the spool gets nothing", async ({ plant }) => {
  using bench = createBench();
  writeFileSync(join(bench.folder, "victim"), "mine", { mode: 0o600 });
  plant(bench.spool, bench.folder);
  const before = statSync(bench.spool, { throwIfNoEntry: false })?.size;
  const { said, tookMs } = await bench.run(prompt("secret"));
  expect(said).toEqual(silent);
  expect(tookMs).toBeLessThan(5000);
  expect(statSync(bench.spool, { throwIfNoEntry: false })?.size).toBe(before);
  expect(readFileSync(join(bench.folder, "victim"), "utf8")).toBe("mine");
});

test("the lines of forty at once stay whole", async () => {
  using bench = createBench();
  const texts = Array.from({ length: 40 }, (_, index) => `${index} ${"é".repeat(20_000)}`);
  await Promise.all(texts.map((text) => bench.run(prompt(text))));
  const got = bench.reports().map((report) => report.prompt_sha256);
  expect(got.toSorted()).toEqual(texts.map(sha256).toSorted());
});
