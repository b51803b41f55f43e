import { existsSync, readdirSync } from "node:fs";
import { cpus, release } from "node:os";
import { join } from "node:path";
import type { Bench, Row } from "../tests/bench/bench.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { runStep } from "./steps.ts";

// `bun run bench [name...] [--json]`. With --json one object a line for each bench, and nothing else on stdout.

await bootstrap({ tmux: true });

const json = process.argv.includes("--json");
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const folder = join(repositoryRoot, "tests", "bench");
const ending = ".bench.ts";
const known = readdirSync(folder)
  .filter((file) => file.endsWith(ending))
  .map((file) => file.slice(0, -ending.length))
  .sort();
const unknown = wanted.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`no bench ${unknown.join(", ")}; there are ${known.join(", ")}`);
  process.exit(2);
}

const build = await runStep({ name: "build", command: [process.execPath, "scripts/build.ts"] });
if (!build.ok) console.error(`the executables could not be built:\n${build.output}`);
const executable = existsSync(join(repositoryRoot, "dist", "svc-gateway"));
const machine = describeMachine();
if (!json) console.log(Object.values(machine).join(", "));

for (const name of wanted.length > 0 ? wanted : known) {
  try {
    const { default: bench }: { default: Bench } = await import(join(folder, name + ending));
    const rows = (await bench.run()).map(rounded);
    console.log(
      json ? JSON.stringify({ name: bench.name, machine, rows }) : `\n${bench.name}\n${toTable(rows)}`,
    );
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}

/** What a figure depends on; nothing that tells whose machine it is. */
function describeMachine() {
  const [first] = cpus();
  const tmux = Bun.spawnSync(["tmux", "-V"]).stdout.toString().trim();
  return {
    cpu: `${cpus().length} x ${first?.model.trim() ?? "unknown"}`,
    os: `${process.platform} ${/^\d+\.\d+/.exec(release())?.[0] ?? ""} ${process.arch}`,
    bun: `bun ${Bun.version}`,
    tmux,
    gateway: `gateway ${executable ? "compiled" : "from source"}`,
  };
}

/** Four digits: more would be noise. */
function rounded(row: Row): Row {
  const short = (value: number) => Number(value.toPrecision(4));
  return {
    ...row,
    value: short(row.value),
    ...(row.limit === undefined ? {} : { limit: short(row.limit) }),
    ...(row.ratio === undefined ? {} : { ratio: short(row.ratio) }),
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
