import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plantedSecret } from "../tests/hostile/planted-secrets.ts";
import { type Need, needsOf } from "../tests/needs.ts";
import { promises, type UserPromise } from "../tests/promises.ts";
import { readArguments } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { importedFiles, reachedTests } from "./changed-tests.ts";
import { findLeftSecrets } from "./left-secrets.ts";
import { endLeftovers } from "./leftovers.ts";
import { targetOfThisMachine } from "./release-targets.ts";
import { runStep } from "./steps.ts";
import {
  ofShard,
  planTests,
  readTestWish,
  type TestFacts,
  type TestGroup,
  type Timings,
} from "./test-plan.ts";
import { readReport, type TestCounts } from "./test-report.ts";

const usage = `
Usage: bun run test [--all] [--changed[=COMMIT]] [--shard=I/N] [--case=ID] [--record-timings] [--packed]
                    [PART-OF-PATH...]

Answers in some minutes whether the product works: every rule, the parts on this machine, one story for each promise, and
some cases of each exhaustive matrix, chosen by the commit. Needs Bun and tmux. The last line counts what really ran. Words
are parts of paths, whose files run with every case: \`bun run test e2e queue\`.

  --all             every case of every test but those that need a real agent CLI; installs what they need
  --changed         leaves out what the changes since the last commit cannot reach; --changed=COMMIT since that commit
  --shard=I/N       one of N parts
  --case=ID         the one case of a matrix, as a failed case prints it
  --record-timings  keeps how long each file took, for the order of the files and for the shards
  --packed          the stories that take their programs from the environment, such as two-users, run those of the npm package,
                    installed from its file
`;

const switches = ["--record-timings", "--packed"];
const { wish, recordsTimings, isPacked } = readArguments(usage, (words) => ({
  wish: readTestWish(words.filter((word) => !switches.includes(word))),
  recordsTimings: words.includes("--record-timings"),
  isPacked: words.includes("--packed"),
}));

await bootstrap({ tmux: true });

/** Of one test that names none: beside other work it may take many times its usual seconds. */
const timeoutMs = 120_000;
const timingsPath = "tests/timings.json";
const { files: timings } = (await Bun.file(join(repositoryRoot, timingsPath)).json()) as { files: Timings };
const all = readdirSync(join(repositoryRoot, "tests"), { recursive: true, encoding: "utf8" })
  .map((path) => `tests/${path}`)
  .filter((path) => path.endsWith(".test.ts") && !path.startsWith("tests/live/"))
  .filter((path) => wish.parts.length === 0 || wish.parts.some((part) => path.includes(part)))
  .sort();
const sources = [...new Bun.Glob("{src,scripts,tests}/**/*.{ts,tsx}").scanSync(repositoryRoot)].map(
  (path) => ({ path, text: readFileSync(join(repositoryRoot, path), "utf8") }),
);
const imports = importedFiles(sources, all);
const needsOfFile = (file: string) => needsOf([file, ...(imports.get(file) ?? [])]);
const facts: TestFacts = {
  timings,
  promised: new Set(promises.flatMap(({ tests }) => tests.map((path) => `tests/${path}`))),
  hasNeeds: (file) => needsOfFile(file).length > 0,
};
const wanted = wish.changedSince === null ? all : reachedBy(wish.changedSince, all);
const isWhole = wish.all || wish.parts.length > 0 || wish.changedSince !== null || wish.shard !== null;
const groups = planTests(ofShard(wanted, timings, wish.shard), facts, isWhole);
const files = groups.flatMap((group) => group.files);

// Before the clocks of the tests run: it takes a minute where it was never installed.
const isNeeded = (need: Need) => files.some((file) => needsOfFile(file).includes(need));
if (isNeeded("a mail server")) {
  const { installCyrus } = await import("../tests/support/cyrus/install.ts");
  await installCyrus();
}
if (isNeeded("a browser")) {
  const { installChromium } = await import("../tests/support/chromium.ts");
  await installChromium();
}
if (isNeeded("a NATS server")) {
  const { natsServer } = await import("../tests/support/bus.ts");
  await natsServer();
}
if (isNeeded("further shells")) {
  const { installShells } = await import("../tests/support/shells.ts");
  await installShells();
}

const playground = mkdtempSync(join(tmpdir(), "svc-test-"));
const environment: Record<string, string> = {
  PATH: process.env["PATH"] ?? "",
  CI: "true",
  SVC_TEST_TIMEOUT_MS: String(timeoutMs),
  ...(wish.case === null ? {} : { SVC_TEST_CASE: wish.case }),
};
/** Marks the processes of a group; the value is its folder. */
const markOf = (group: TestGroup) => ({
  name: "SVC_TEST_RUN",
  value: join(playground, String(groups.indexOf(group))),
});

const total: TestCounts = { passed: 0, failed: 0 };
let interrupted = false;
const onInterrupt = () => {
  interrupted = true;
};
process.on("SIGINT", onInterrupt).on("SIGTERM", onInterrupt);

try {
  // Rules need no executables: they run while these are built.
  const executables = groups.some((group) => group.needsExecutables)
    ? buildExecutables()
    : Promise.resolve(true);
  for (const group of groups) {
    if (group.needsExecutables && !(await executables)) continue;
    if (!interrupted) await runGroup(group);
  }
  await executables;
  // Homes, temporary folders and reports of the whole run.
  for (const path of findLeftSecrets(playground, plantedSecret))
    fail(1, `a planted secret was left in ${path}`);
} finally {
  for (const group of groups) await endLeftovers(markOf(group));
  rmSync(playground, { recursive: true, force: true });
}

if (interrupted) fail(1, "interrupted");
if (files.length === 0) console.log(nothingToRun());
if (!isWhole) console.log(describeOthers());
console.log(`${total.passed} passed, ${total.failed} failed`);
if (interrupted) process.exit(130);
// Of a change or a shard nothing may be left to run, of parts of paths something must be.
const mayBeNone = files.length === 0 && all.length > 0;
process.exit(total.failed === 0 && (total.passed > 0 || mayBeNone) ? 0 : 1);

/** False when they could not be built; those of before are never run in their place. Never rejects. */
async function buildExecutables(): Promise<boolean> {
  const build = await runStep({
    name: "build",
    command: [process.execPath, "scripts/build.ts"],
    live: true,
  });
  try {
    if (!build.ok) throw new Error("scripts/build.ts failed");
    environment["SVC_TEST_PROGRAMS"] = await programsUnderTest();
    return true;
  } catch (error) {
    fail(1, `no story and no test of the machine was run: the executables were not made: ${String(error)}`);
    return false;
  }
}

async function programsUnderTest(): Promise<string> {
  const built = join(repositoryRoot, "dist");
  if (!isPacked) return built;
  const { installPackage, packPackage } = await import("./npm-package.ts");
  const path = await packPackage(targetOfThisMachine(), built, playground);
  return installPackage(path, mkdtempSync(join(playground, "installed-")));
}

async function runGroup(group: TestGroup): Promise<void> {
  const mark = markOf(group);
  const report = `${mark.value}.xml`;
  // A home, a temporary folder and tmux sockets: a test sees nothing of the user's, and what it leaves behind
  // is found.
  const folders = {
    HOME: join(mark.value, "home"),
    TMPDIR: join(mark.value, "tmp"),
    TMUX_TMPDIR: join(mark.value, "tmux"),
  };
  for (const folder of [mark.value, ...Object.values(folders)]) mkdirSync(folder, { mode: 0o700 });
  const run = await runStep({
    name: group.name,
    // Worker processes, also because a test that ends its process is then seen as a failure.
    command: bunTest(group, report),
    env: {
      ...environment,
      ...folders,
      [mark.name]: mark.value,
      ...(group.sampled ? { SVC_TEST_SAMPLE: `8/${commitOfRun()}` } : {}),
    },
    cleanEnv: true,
    live: true,
    timeoutMs: 35 * 60_000,
  });
  const counts = readReport(readReportFile(report), group.files);
  total.passed += counts.passed;
  fail(counts.failed);
  for (const file of counts.missing) fail(1, `${file}: no test of it ended`);
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

function bunTest({ files, parallel }: TestGroup, report: string): string[] {
  return [
    process.execPath,
    "test",
    `--parallel=${parallel}`,
    // Also the order of the files: the longest first.
    `--timings=${timingsPath}`,
    ...(recordsTimings ? ["--update-timings"] : []),
    "--only-failures",
    `--timeout=${timeoutMs}`,
    "--reporter=junit",
    `--reporter-outfile=${report}`,
    ...files.map((file) => `./${file}`),
  ];
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
  const reached = reachedTests(sources, changed, tests);
  console.log(`${changed.length} files changed since ${commit}: ${reached.length} test files can notice it`);
  return reached;
}

/** What a run of the awaited tests alone did not look at. */
function describeOthers(): string {
  const others = all.filter((file) => !files.includes(file));
  const needed = new Map<string, string[]>();
  const ran = new Set(files);
  const isShown = ({ tests }: UserPromise) => tests.some((path) => ran.has(`tests/${path}`));
  for (const one of promises.filter((promise) => !isShown(promise))) {
    const missing = [...new Set(one.tests.flatMap((path) => needsOfFile(`tests/${path}`)))].join(", ");
    const why = missing === "" ? "long" : `needs ${missing}`;
    needed.set(why, [...(needed.get(why) ?? []), `${one.promise} (${one.source})`]);
  }
  return [
    `not looked at here: ${others.length} test files, and most cases of each matrix (bun run test --all)`,
    ...[...needed].flatMap(([why, which]) => [
      `promises that no test above shows, ${why}:`,
      ...which.map((text) => `  ${text}`),
    ]),
  ].join("\n");
}

/** Chooses the cases of a sample, so that each commit tries others and a second run of one tries the same. */
function commitOfRun(): string {
  const run = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"], { cwd: repositoryRoot });
  return run.exitCode === 0 ? run.stdout.toString().trim() : "none";
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
