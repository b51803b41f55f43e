import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { plantedSecret } from "../tests/hostile/planted-secrets.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { reachedTests } from "./changed-tests.ts";
import { findLeftSecrets } from "./left-secrets.ts";
import { endLeftovers } from "./leftovers.ts";
import { runStep } from "./steps.ts";
import { groupTests, ofShard, readTestWish, type TestGroup, type Timings, testUsage } from "./test-plan.ts";
import { readReport, type TestCounts } from "./test-report.ts";

// Runs every test but those that need a real agent CLI, or the files of `--help`'s flags; the last line counts what
// really ran. The times of files decide their order and the shards.

if (process.argv.includes("--help")) {
  console.log(`Usage: ${testUsage}`);
  process.exit(0);
}
const recordsTimings = process.argv.includes("--record-timings");
const wish = readTestWish(process.argv.slice(2).filter((word) => word !== "--record-timings"));
await bootstrap({ tmux: true });

const timingsPath = "tests/timings.json";
const { files: timings } = (await Bun.file(join(repositoryRoot, timingsPath)).json()) as { files: Timings };
const all = readdirSync(join(repositoryRoot, "tests"), { recursive: true, encoding: "utf8" })
  .map((path) => `tests/${path}`)
  .filter((path) => path.endsWith(".test.ts") && !path.startsWith("tests/live/"))
  .filter((path) => wish.parts.length === 0 || wish.parts.some((part) => path.includes(part)))
  .sort();
const files = ofShard(
  wish.changedSince === null ? all : reachedBy(wish.changedSince, all),
  timings,
  wish.shard,
);
const groups = groupTests(files, timings, availableParallelism());

const playground = mkdtempSync(join(tmpdir(), "svc-test-"));
const total: TestCounts = { passed: 0, failed: 0 };
let interrupted = false;
const onInterrupt = () => {
  interrupted = true;
};
process.on("SIGINT", onInterrupt).on("SIGTERM", onInterrupt);

try {
  const beside = groups.filter(({ runs }) => runs === "beside").map(runGroup);
  const stories = groups.filter(({ needsExecutables }) => needsExecutables);
  if (stories.length > 0) {
    // They wait for the network and for dpkg, while the groups beside work.
    const [build] = await Promise.all([
      runStep({ name: "build", command: [process.execPath, "scripts/build.ts"], live: true }),
      installPrograms(),
    ]);
    if (!build.ok) fail(1, "the executables could not be built; nothing that needs them was run");
    for (const group of build.ok ? stories : []) {
      // One at a time can write its times.
      if (group.runs === "alone" || recordsTimings) await Promise.all(beside);
      if (!interrupted) await runGroup(group);
    }
  }
  await Promise.all(beside);
  // Homes, temporary folders and reports of the whole run.
  for (const path of findLeftSecrets(playground, plantedSecret))
    fail(1, `a planted secret was left in ${path}`);
} finally {
  for (const group of groups) await endLeftovers(markOf(group));
  rmSync(playground, { recursive: true, force: true });
}

if (interrupted) fail(1, "interrupted");
if (files.length === 0) console.log(nothingToRun());
console.log(`${total.passed} passed, ${total.failed} failed`);
if (interrupted) process.exit(130);
// Of a change or a shard nothing may be left to run, of parts of paths something must be.
const mayBeNone = files.length === 0 && all.length > 0;
process.exit(total.failed === 0 && (total.passed > 0 || mayBeNone) ? 0 : 1);

/** What all processes of a group have: its folder. A short name, because sockets lie in it. */
function markOf(group: TestGroup) {
  return { name: "SVC_TEST_RUN", value: join(playground, String(groups.indexOf(group))) };
}

/**
 * A home, a temporary folder and tmux sockets of their own: a test sees nothing of the user's, and what it leaves
 * behind is found.
 */
function environmentOf(group: TestGroup): Record<string, string> {
  const mark = markOf(group);
  const places = {
    HOME: join(mark.value, "home"),
    TMPDIR: join(mark.value, "tmp"),
    TMUX_TMPDIR: join(mark.value, "tmux"),
  };
  for (const folder of Object.values(places)) mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    PATH: process.env["PATH"] ?? "",
    CI: "true",
    ...places,
    [mark.name]: mark.value,
    // Those of before a build are never run.
    ...(group.needsExecutables ? { SVC_TEST_PROGRAMS: join(repositoryRoot, "dist") } : {}),
  };
}

/**
 * What tests would install or build themselves, before their clocks run: it takes minutes where it never was. They wait for
 * the network and for each other's dpkg, so all begin at once.
 */
async function installPrograms(): Promise<void> {
  const texts = files.map((path) => readFileSync(join(repositoryRoot, path), "utf8"));
  const programs: { usedBy: string[]; install: () => Promise<unknown> }[] = [
    {
      usedBy: ["cyrus/"],
      install: async () => (await import("../tests/support/cyrus/install.ts")).installCyrus(),
    },
    {
      usedBy: ["console.ts"],
      install: async () => (await import("../tests/support/chromium.ts")).installChromium(),
    },
    {
      usedBy: ["bus.ts", "host-fleet.ts"],
      install: async () => (await import("../tests/support/bus.ts")).natsServer(),
    },
    {
      usedBy: ["shells.ts"],
      install: async () => (await import("../tests/support/shells.ts")).installShells(),
    },
    {
      usedBy: ["otlp-receiver.ts"],
      install: async () => (await import("../tests/support/otlp-receiver.ts")).buildOtlpReceiver(),
    },
  ];
  const isUsed = (name: string) => texts.some((text) => text.includes(`support/${name}`));
  await Promise.all(programs.filter(({ usedBy }) => usedBy.some(isUsed)).map(({ install }) => install()));
}

async function runGroup(group: TestGroup): Promise<void> {
  const mark = markOf(group);
  const report = `${mark.value}.xml`;
  const beside = group.runs === "beside";
  const run = await runStep({
    name: group.name,
    // Worker processes, also because a test that ends its process is then seen as a failure.
    command: [
      ...(beside ? ["nice", "-n", "10"] : []),
      process.execPath,
      "test",
      `--parallel=${group.parallel}`,
      // Also the order of the files: the longest first.
      `--timings=${timingsPath}`,
      ...(recordsTimings ? ["--update-timings"] : []),
      "--only-failures",
      "--timeout=120000",
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...group.files.map((file) => `./${file}`),
    ],
    env: environmentOf(group),
    cleanEnv: true,
    // Lines of two groups would be mixed.
    live: !beside,
    timeoutMs: 35 * 60_000,
  });
  if (run.output.trim() !== "") console.log(run.output);
  const counts = readReport(readReportFile(report), group.files);
  total.passed += counts.passed;
  fail(counts.failed);
  for (const file of counts.missing) fail(1, `${file}: nothing in it was run to an end`);
  if (counts.skipped > 0) fail(counts.skipped, `${counts.skipped} tests were skipped or only planned`);
  if (run.timedOut) fail(1, `${group.name}: stopped, it took too long`);
  else if (!run.ok && counts.failed + counts.missing.length + counts.skipped === 0) {
    fail(1, `${group.name}: bun test ended with ${run.exitCode ?? "a signal"}`);
  }
  for (const one of await endLeftovers(mark))
    fail(1, `${group.name}: left behind: process ${one.pid} ${one.command}`);
  console.log(
    `${group.name}: ${counts.passed} tests of ${group.files.length} files went well, ${run.seconds.toFixed(1)} s\n`,
  );
}

/** The tests that the changes since `commit`, and what is not committed, can reach. */
function reachedBy(commit: string, tests: readonly string[]): string[] {
  const git = (...words: string[]) => {
    const run = Bun.spawnSync(["git", ...words], { cwd: repositoryRoot });
    if (run.exitCode !== 0) throw new Error(`git ${words.join(" ")}: ${run.stderr.toString().trim()}`);
    return run.stdout.toString().split("\0").filter(Boolean);
  };
  const changed = [
    ...git("diff", "--name-only", "--no-renames", "-z", "--merge-base", commit),
    ...git("ls-files", "--others", "--exclude-standard", "-z"),
  ];
  const sources = [...new Bun.Glob("{src,scripts,tests}/**/*.{ts,tsx}").scanSync(repositoryRoot)].map(
    (path) => ({ path, text: readFileSync(join(repositoryRoot, path), "utf8") }),
  );
  const reached = reachedTests(sources, changed, tests);
  console.log(`${changed.length} files changed since ${commit}: ${reached.length} test files can notice it`);
  return reached;
}

function nothingToRun(): string {
  if (all.length > 0) return "no test file is left to run";
  return `no test file has ${wish.parts.join(" or ") || "a name"} in its path`;
}

function fail(count: number, why?: string): void {
  total.failed += count;
  if (why) console.log(`FAILED ${why}`);
}

function readReportFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
