import { beforeAll, expect, test } from "bun:test";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");
const maxFiles = 35;
const maxModules = 8;

/** The cells in backticks of the rows below a heading of docs/how-it-works.md. */
async function tableBelow(heading: string): Promise<string[][]> {
  const text = await Bun.file(join(root, "docs/how-it-works.md")).text();
  const section = text.split(`\n### ${heading}\n`)[1]?.split("\n#")[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| ") && line.includes("`"));
  return rows.map((row) => [...row.matchAll(/`([^`]+)`/g)].map((cell) => cell[1] ?? ""));
}

/** `src/services/queue/slot.ts` is in `services/queue`; everything below src/db is one module. */
const moduleOf = (path: string) => path.replace(/^src\/(db|[^/]+\/[^/]+)\/.*$/, "$1");

const matches = (pattern: string, path: string) => new Bun.Glob(pattern).match(path);

let ran: string[] = [];
let walk: [path: string, name: string][] = [];
let beside: string[] = [];

beforeAll(async () => {
  const command = [process.execPath, "--preload", "./tests/simulation/walk-instrument.ts"];
  const run = Bun.spawn([...command, "tests/simulation/walk-program.ts"], {
    cwd: root,
    stdout: "pipe",
    stderr: "inherit",
  });
  ran = JSON.parse(await new Response(run.stdout).text()) as string[];
  walk = (await tableBelow("The walk")).map(([path = "", name = ""]) => [path, name]);
  beside = (await tableBelow("Beside the walk")).flat();
}, 60_000);

test("each function of the walk runs, in the order of its table", () => {
  const calls = walk.map(([path, name]) => `${path}#${name}`);
  expect(calls.filter((call) => !ran.includes(call))).toEqual([]);
  expect(calls.toSorted((one, other) => ran.indexOf(one) - ran.indexOf(other))).toEqual(calls);
});

test("no other file of the product runs meanwhile, save those beside the walk", () => {
  const known = new Set(walk.map(([path]) => path));
  const files = [...new Set(ran.map((call) => call.split("#")[0] ?? ""))];
  expect(
    files.filter((path) => !known.has(path) && !beside.some((pattern) => matches(pattern, path))),
  ).toEqual([]);
});

test(`the walk has at most ${maxFiles} files and ${maxModules} modules`, () => {
  const files = [...new Set(walk.map(([path]) => path))];
  expect(files.length).toBeGreaterThan(20);
  expect(files.length).toBeLessThanOrEqual(maxFiles);
  expect(new Set(files.map(moduleOf)).size).toBeLessThanOrEqual(maxModules);
});

test("a file beside the walk runs, and is none of the walk", () => {
  const files = new Set(ran.map((call) => call.split("#")[0] ?? ""));
  expect(beside.filter((pattern) => ![...files].some((path) => matches(pattern, path)))).toEqual([]);
  expect(walk.filter(([path]) => beside.some((pattern) => matches(pattern, path)))).toEqual([]);
});
