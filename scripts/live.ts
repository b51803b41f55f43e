import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  cacheRoot,
  installCli,
  type LabTool,
  labTools,
  namedVersions,
  packageOf,
  versionOf,
} from "../tests/live/lab/cli-cache.ts";
import { flag, readArguments } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { buildFirst } from "./build-first.ts";
import { endLeftovers } from "./leftovers.ts";
import { openReport } from "./live/write-report.ts";
import { runStep } from "./steps.ts";
import { readReport, type TestCounts } from "./test-report.ts";

const usage = `
Usage: bun run live [--newest | --report] [--long] [all | TOOL[@VERSION]]...

Runs the real agent CLIs against a scripted model on loopback; without a tool claude and codex. The last line counts what
really ran. Tools: ${labTools.join(", ")}.

  TOOL@VERSION  that version instead of the pinned one; TOOL@named each version that must pass
  --newest      the newest version that the npm registry has of each tool
  --report      writes .live/TOOL-VERSION, as --newest does: report.md and report.json (each step, the screen of one that
                failed, what changed beside the last proved version) and recordings
  --long        two hundred turns of each tool and nothing else
`;

/** What runs when no tool is named. */
const everyday: readonly LabTool[] = ["claude", "codex"];

const { newest, reports, long, named, asked } = readArguments(usage, (args) => {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { newest: flag, report: flag, long: flag },
  });
  const words = positionals.map((word) => word.split("@", 2) as [string, string?]);
  const names: readonly string[] = words.flatMap(([name]) => (name === "all" ? labTools : [name]));
  const unknown = names.filter((name) => !labTools.some((tool) => tool === name));
  if (unknown.length > 0) {
    throw new Error(`unknown tool: ${unknown.join(", ")}. The lab knows ${labTools.join(", ")} and all.`);
  }
  return {
    newest: values.newest,
    reports: values.newest || values.report,
    long: values.long,
    named: words,
    asked: names,
  };
});
interface LabRun {
  tool: LabTool;
  version: string;
}

const tools = asked.length === 0 ? everyday : labTools.filter((tool) => asked.includes(tool));

const recordings = process.env["SVC_LAB_RECORDINGS"];

await bootstrap({ tmux: true });
await buildFirst();
const runs = await chosenRuns();

const playground = mkdtempSync(join(tmpdir(), "svc-live-"));
/** Marks the processes of a run; the value is its home. */
const markOf = ({ tool, version }: LabRun) => ({
  name: "LAB_RUN",
  value: join(playground, `${tool}-${version}`),
});
const total: TestCounts = { passed: 0, failed: 0 };
try {
  const ready = [];
  for (const run of runs) if (await isInstalled(run)) ready.push(run);
  const inTurn = async (some: readonly LabRun[]) => {
    for (const run of some) await runLab(run);
  };
  // A report says times: each tool then has the machine for itself.
  if (reports) await inTurn(ready);
  else await Promise.all([...Map.groupBy(ready, ({ tool }) => tool).values()].map(inTurn));
} finally {
  for (const run of runs) await endLeftovers(markOf(run));
  rmSync(playground, { recursive: true, force: true });
}
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

/** Tools without a version run at the newest, that of `SVC_LAB_VERSIONS`, or the pinned one. */
async function chosenRuns(): Promise<LabRun[]> {
  const chosen = await Promise.all(
    tools.map(async (tool) => {
      const versions = named.flatMap(([name, version]) => {
        if (version === undefined || (name !== tool && name !== "all")) return [];
        return version === "named" ? namedVersions(tool) : [version];
      });
      if (versions.length === 0) {
        versions.push(newest ? await newestVersion(tool) : versionOf(tool, process.env));
      }
      return [...new Set(versions)].map((version) => ({ tool, version }));
    }),
  );
  return chosen.flat();
}

async function newestVersion(tool: LabTool): Promise<string> {
  const npm = Bun.spawn(["npm", "view", packageOf(tool), "version"], { stdout: "pipe", stderr: "inherit" });
  const version = (await new Response(npm.stdout).text()).trim();
  if ((await npm.exited) !== 0 || version === "") {
    throw new Error(`npm could not tell the newest version of ${packageOf(tool)}`);
  }
  console.log(`${tool}: the newest version is ${version}`);
  return version;
}

async function isInstalled({ tool, version }: LabRun): Promise<boolean> {
  try {
    await installCli(cacheRoot(process.env), tool, console.log, version);
    return true;
  } catch (error) {
    fail(1, `${tool}: ${error instanceof Error ? error.message : error}`);
    return false;
  }
}

/** In a separate home. */
async function runLab({ tool, version }: LabRun): Promise<void> {
  const mark = markOf({ tool, version });
  const home = mark.value;
  mkdirSync(home);
  const written = reports ? openReport(tool, version) : null;
  const file = `tests/live/${tool}.test.ts`;
  const report = `${home}.xml`;
  const run = await runStep({
    name: tool,
    command: [
      process.execPath,
      "test",
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      // Ten turns of two hundred take minutes on a busy machine.
      `--timeout=${long ? 1_200_000 : 240_000}`,
      `./${file}`,
    ],
    cleanEnv: true,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      CI: "true",
      SVC_LAB_CACHE: cacheRoot(process.env),
      SVC_TEST_PROGRAMS: join(repositoryRoot, "dist"),
      SVC_LAB_VERSIONS: `${tool}=${version}`,
      ...(long ? { SVC_LAB_LONG: "1" } : {}),
      ...(recordings === undefined ? {} : { SVC_LAB_RECORDINGS: resolve(recordings) }),
      [mark.name]: mark.value,
      ...written?.env,
    },
    live: true,
    // Headless turns of some tools take six seconds each.
    timeoutMs: (long ? 120 : 20) * 60_000,
  });
  const junit = readOrEmpty(report);
  const counts = readReport(junit, [file]);
  total.passed += counts.passed;
  fail(counts.failed);
  if (counts.skipped > 0) fail(counts.skipped, `${tool}: ${counts.skipped} tests were skipped`);
  if (counts.missing.length > 0) fail(1, `${tool} ${version}: ${file} was not run to an end`);
  else if (!run.ok && counts.failed + counts.skipped === 0) {
    fail(1, `${tool}: bun test ended with ${run.timedOut ? "a timeout" : run.exitCode}`);
  }
  for (const one of await endLeftovers(mark))
    fail(1, `${tool}: left behind: process ${one.pid} ${one.command}`);
  if (written) console.log(`report: ${written.write(junit)}`);
  console.log(`${tool} ${version}: ${counts.passed} tests went well, ${run.seconds.toFixed(1)} s\n`);
}

function fail(count: number, why?: string): void {
  total.failed += count;
  if (why) console.log(`FAILED ${why}`);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
