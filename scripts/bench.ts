import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Bench, Row } from "../tests/bench/bench.ts";
import { quick } from "../tests/bench/effort.ts";
import { flag, readArguments, text, wholeNumber } from "./arguments.ts";
import { renderDocument } from "./bench/document.ts";
import { type BenchResult, rounded } from "./bench/figures.ts";
import { renderPicture } from "./bench/picture.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { runStep } from "./steps.ts";

const folder = join(repositoryRoot, "tests", "bench");
const ending = ".bench.ts";
/**
 * Run after all others, in this order: many rows, many processes, and 100,000 files that were removed again,
 * all of which leave a slower machine behind for a minute. A start was measured at 69 ms right after them,
 * and at 39 a minute later.
 */
const heavy = ["accept", "jmap", "fleet", "hosts", "commands", "hundred", "mail"];
/** Real agent CLIs, some minutes: a quick run measures it only when it is named. */
const notQuick = ["turnaround"];
/** Installs what others make, up to an hour: measured only when it is named. */
const onlyNamed = ["peers"];
const known = readdirSync(folder)
  .filter((file) => file.endsWith(ending))
  .map((file) => file.slice(0, -ending.length))
  .sort((one, other) => heavy.indexOf(one) - heavy.indexOf(other) || one.localeCompare(other));

const usage = `
Usage: bun run bench [NAME...] [--quick] [--json] [--out FOLDER]
       bun run bench peers [--prompts N] [--agents N] [--products A,B]

Measures beside their limits: ${known.join(", ")}. Without a name all of them but ${onlyNamed.join(", ")}. Exit 1 when
something could not be measured, never because something was slow.

  --quick       few rounds and small data, for a first look
  --json        one JSON object a line for each bench, and nothing else
  --out FOLDER  where document, picture and figures go, beside the figures of other benches there; a run of all writes
                them into docs/, a quick one into dist/bench/

  --prompts N, --agents N, --products A,B   makes peers smaller
`;

const { wanted, json, out, sizes } = readArguments(usage, readWishes);

await bootstrap({ tmux: true });
const build = await runStep({ name: "build", command: [process.execPath, "scripts/build.ts"] });
if (!build.ok) console.error(`the executables could not be built:\n${build.output}`);
const machine = describeMachine();
if (!json) console.log(Object.values(machine).join(", "));

const results: BenchResult[] = [];
for (const name of wanted) {
  const startedMs = performance.now();
  try {
    const result = await (wanted.length === 1 || quick ? measure(name) : measureApart(name));
    results.push(result);
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    const notes = (result.notes ?? []).map((line) => `  ${line}\n`).join("");
    console.log(
      json ? JSON.stringify(result) : `\n${result.name} (${seconds} s)\n${notes}${toTable(result.rows)}`,
    );
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
if (out !== null) writeReport(out);

async function measure(name: string): Promise<BenchResult> {
  const { default: bench }: { default: Bench } = await import(join(folder, name + ending));
  const notes: string[] = [];
  const rows = (await bench.run((line) => void notes.push(line))).map(rounded);
  return { name: bench.name, machine, ...(notes.length === 0 ? {} : { notes }), rows };
}

/**
 * In a process of its own, on a disk that has caught up: what one bench leaves behind is no cost of the next.
 */
async function measureApart(name: string): Promise<BenchResult> {
  await Bun.spawn(["sync"]).exited;
  const options = Object.entries(sizes).flatMap(([option, value]) => [`--${option}`, value]);
  const command = [process.execPath, import.meta.path, name, "--json", ...options];
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const line = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("not measured");
  return JSON.parse(line) as BenchResult;
}

function readWishes(args: string[]) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      quick: flag,
      json: flag,
      out: text,
      prompts: text,
      agents: text,
      products: text,
    },
  });
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`no bench ${unknown.join(", ")}; there are ${known.join(", ")}`);
  const { prompts, agents, products } = values;
  for (const [name, value] of Object.entries({ prompts, agents })) wholeNumber(name, value, 1);
  const usual = values.quick ? "dist/bench" : "docs";
  return {
    wanted:
      positionals.length > 0
        ? positionals
        : known.filter((name) => !onlyNamed.includes(name) && !(quick && notQuick.includes(name))),
    json: values.json,
    /** Passed on as they are: the bench reads them. */
    sizes: Object.fromEntries(
      Object.entries({ prompts, agents, products }).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value]],
      ),
    ),
    out: values.out ?? (positionals.length > 0 ? null : usual),
  };
}

function writeReport(place: string): void {
  const target = resolve(repositoryRoot, place);
  mkdirSync(target, { recursive: true });
  const before = JSON.parse(readFileSync(join(folder, "baseline.json"), "utf8")) as BenchResult[];
  const figures = join(target, "benchmarks.json");
  const others = readResults(figures).filter(({ name }) => !results.some((one) => one.name === name));
  const all = [...results, ...others].sort((one, other) => one.name.localeCompare(other.name));
  writeFileSync(figures, `${all.map((one) => JSON.stringify(one)).join("\n")}\n`);
  writeFileSync(join(target, "benchmarks.md"), renderDocument(all, before, quick));
  writeFileSync(join(target, "benchmarks.svg"), renderPicture(all));
  console.error(`written: ${relative(repositoryRoot, target)}/benchmarks.{md,svg,json}`);
}

function readResults(path: string): BenchResult[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as BenchResult);
}

/** What a figure depends on; nothing that tells whose machine it is. */
function describeMachine() {
  const [first] = cpus();
  const tmux = Bun.spawnSync(["tmux", "-V"]).stdout.toString().trim();
  const compiled = existsSync(join(repositoryRoot, "dist", "svc-gateway"));
  return {
    cpu: `${cpus().length} x ${first?.model.trim() ?? "unknown"}`,
    os: `${process.platform} ${/^\d+\.\d+/.exec(release())?.[0] ?? ""} ${process.arch}`,
    bun: `bun ${Bun.version}`,
    tmux,
    gateway: `gateway ${compiled ? "compiled" : "from source"}`,
  };
}

function toTable(rows: Row[]): string {
  const width = Math.max(...rows.map(({ metric }) => metric.length));
  return rows
    .map(({ metric, value, unit, limit, ratio }) => {
      const beside = limit === undefined ? "" : `   limit ${limit} ${unit}   ratio ${ratio}`;
      return `  ${metric.padEnd(width)}  ${value} ${unit}${beside}`;
    })
    .join("\n");
}
