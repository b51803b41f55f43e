import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { cacheRoot, installCli, type LabTool, labTools, packageOf } from "../tests/live/lab/cli-cache.ts";
import { bootstrap } from "./bootstrap.ts";
import { endLeftovers } from "./leftovers.ts";
import { runStep } from "./steps.ts";
import { readReport, type TestCounts } from "./test-report.ts";

// Runs the real agent CLIs against a scripted model on loopback: `bun run live [--newest] [all | TOOL[@VERSION]...]`.
// `--newest` runs the newest version that the npm registry has of each tool. The last line counts what really ran.

/** What runs when no tool is named. */
const everyday: readonly LabTool[] = ["claude", "codex"];

const words = process.argv.slice(2).filter((word) => word !== "--newest");
const named = words.map((word) => word.split("@", 2) as [string, string?]);
const asked: readonly string[] = words.includes("all") ? labTools : named.map(([name]) => name);
const unknown = asked.filter((name) => !labTools.some((tool) => tool === name));
if (unknown.length > 0) {
  console.error(`unknown tool: ${unknown.join(", ")}. The lab knows ${labTools.join(", ")} and all.`);
  process.exit(2);
}
const tools = asked.length === 0 ? everyday : labTools.filter((tool) => asked.includes(tool));

const recordings = process.env["SVC_LAB_RECORDINGS"];

await bootstrap({ tmux: true });
const versions = await chosenVersions();

const playground = mkdtempSync(join(tmpdir(), "svc-live-"));
const mark = { name: "LAB_RUN", value: playground };
const total: TestCounts = { passed: 0, failed: 0 };
try {
  for (const tool of tools) await runLab(tool);
} finally {
  await endLeftovers(mark);
  rmSync(playground, { recursive: true, force: true });
}
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

/** As `SVC_LAB_VERSIONS` wants them; tools that are not among them run at their pinned version. */
async function chosenVersions(): Promise<string> {
  const chosen = new Map<string, string>();
  for (const [tool, version] of named) if (version) chosen.set(tool, version);
  if (process.argv.includes("--newest")) {
    for (const tool of tools) if (!chosen.has(tool)) chosen.set(tool, await newestVersion(tool));
  }
  const entries = [...chosen].map(([tool, version]) => `${tool}=${version}`);
  return [...entries, process.env["SVC_LAB_VERSIONS"] ?? ""].filter((part) => part !== "").join(",");
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

/** One tool after the other: each wants the machine for itself, or its times say nothing. */
async function runLab(tool: LabTool): Promise<void> {
  process.env["SVC_LAB_VERSIONS"] = versions;
  try {
    await installCli(cacheRoot(process.env), tool, console.log);
  } catch (error) {
    fail(1, `${tool}: ${error instanceof Error ? error.message : error}`);
    return;
  }
  const file = `tests/live/${tool}.test.ts`;
  const report = join(playground, `${tool}.xml`);
  const run = await runStep({
    name: tool,
    command: [
      process.execPath,
      "test",
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      "--timeout=120000",
      `./${file}`,
    ],
    cleanEnv: true,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: playground,
      CI: "true",
      SVC_LAB_CACHE: cacheRoot(process.env),
      SVC_LAB_VERSIONS: versions,
      ...(recordings === undefined ? {} : { SVC_LAB_RECORDINGS: resolve(recordings) }),
      [mark.name]: mark.value,
    },
    live: true,
    timeoutMs: 20 * 60_000,
  });
  const counts = readReport(readOrEmpty(report), [file]);
  total.passed += counts.passed;
  fail(counts.failed);
  if (counts.skipped > 0) fail(counts.skipped, `${tool}: ${counts.skipped} tests were skipped`);
  if (counts.missing.length > 0) fail(1, `${tool}: ${file} was not run to an end`);
  else if (!run.ok && counts.failed + counts.skipped === 0) {
    fail(1, `${tool}: bun test ended with ${run.timedOut ? "a timeout" : run.exitCode}`);
  }
  for (const one of await endLeftovers(mark))
    fail(1, `${tool}: left behind: process ${one.pid} ${one.command}`);
  console.log(`${tool}: ${counts.passed} tests went well, ${run.seconds.toFixed(1)} s\n`);
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
