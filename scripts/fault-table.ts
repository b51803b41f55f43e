import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HeldRow } from "../tests/support/fault-table.ts";
import { repositoryRoot } from "./bootstrap.ts";
import { runStep } from "./steps.ts";

// The table of faults, from the tests themselves: each test file is loaded, its tests are not run, and what
// `faultTest` was given is gathered (tests/support/fault-table.ts).

const head = `# Faults and their results

Each row names the test that injects the fault into the real thing. \`bun run docs\` generates the table from the tests.`;

const sections: Record<HeldRow["area"], string> = {
  processes: "Processes that die or hang",
  terminal: "tmux and the agent",
  machine: "The machine",
  files: "Damaged and missing files",
  mail: "Mail",
  callers: "Hostile callers",
  simulation: "Whole lives, simulated",
};

/** `docs/faults.md`. Throws when a test file cannot be loaded. */
export async function renderFaultTable(): Promise<string> {
  const rows = await collectRows();
  const parts = Object.entries(sections).flatMap(([area, title]) => {
    const mine = merge(rows.filter((row) => row.area === area));
    return mine.length === 0 ? [] : [`## ${title}\n\n${[...columns, ...mine.map(renderRow)].join("\n")}`];
  });
  return `${[head, ...parts].join("\n\n")}\n`;
}

const columns = [
  "| fault | what happens | what is seen | recovery | held by |",
  "| --- | --- | --- | --- | --- |",
];

const renderRow = ({ fault, outcome, seen, recovery, file, tests }: MergedRow) =>
  `| ${[fault, outcome, seen, recovery, `\`${file}\`: ${named(tests)}`].join(" | ")} |`;

const named = ([first, ...more]: readonly string[]) =>
  more.length === 0 ? first : `${first}; and ${more.length} like it`;

interface MergedRow extends HeldRow {
  tests: string[];
}

/** What several tests of a file say in the same words is one row. */
function merge(rows: readonly HeldRow[]): MergedRow[] {
  const merged = new Map<string, MergedRow>();
  for (const row of rows) {
    const key = JSON.stringify({ ...row, test: "" });
    const known = merged.get(key);
    if (known) known.tests.push(row.test);
    else merged.set(key, { ...row, tests: [row.test] });
  }
  return [...merged.values()];
}

async function collectRows(): Promise<HeldRow[]> {
  const files = readdirSync(join(repositoryRoot, "tests"), { recursive: true, encoding: "utf8" })
    .map((path) => `./tests/${path}`)
    .filter((path) => path.endsWith(".test.ts"))
    .filter((path) => readFileSync(join(repositoryRoot, path), "utf8").includes("support/fault-table.ts"))
    .sort();
  const folder = mkdtempSync(join(tmpdir(), "svc-fault-table-"));
  const gathered = join(folder, "rows.jsonl");
  writeFileSync(gathered, "");
  try {
    const run = await runStep({
      name: "faults",
      // No test has an empty name: everything is loaded and nothing run.
      command: [process.execPath, "test", "--test-name-pattern", "^$", ...files],
      env: { SVC_FAULT_TABLE: gathered },
    });
    if (run.timedOut || /^ *[1-9]\d* (?:fail|error)/m.test(run.output)) throw new Error(run.output);
    const rows = readFileSync(gathered, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as HeldRow)
      .sort((left, right) => files.indexOf(`./${left.file}`) - files.indexOf(`./${right.file}`));
    const silent = files.filter((file) => !rows.some((row) => `./${row.file}` === file));
    if (silent.length > 0) throw new Error(`no row came from ${silent.join(", ")}\n${run.output}`);
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
