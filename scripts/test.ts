import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plantedSecret } from "../tests/hostile/planted-secrets.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { findLeftSecrets } from "./left-secrets.ts";
import { endLeftovers } from "./leftovers.ts";
import { runStep } from "./steps.ts";
import { readReport, type TestCounts } from "./test-report.ts";

// Runs every test but those that need a real agent CLI; the last line counts what really ran. Arguments are
// parts of paths: `bun run test e2e queue`.

await bootstrap({ tmux: true });

/** Files that run together; later groups need more of the machine. */
interface Group {
  name: string;
  files: string[];
  needsExecutables: boolean;
}

const filters = process.argv.slice(2);
const files = readdirSync(join(repositoryRoot, "tests"), { recursive: true, encoding: "utf8" })
  .map((path) => `tests/${path}`)
  .filter((path) => path.endsWith(".test.ts") && !path.startsWith("tests/live/"))
  .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
  .sort();
const inTier = (...tiers: string[]) =>
  files.filter((path) => tiers.some((tier) => path.startsWith(`tests/${tier}/`)));
const story = inTier("e2e", "faults", "hostile");
const machine = inTier("integration");
const groups: Group[] = [
  {
    name: "rules",
    files: files.filter((path) => ![...story, ...machine].includes(path)),
    needsExecutables: false,
  },
  { name: "machine", files: machine, needsExecutables: false },
  { name: "stories", files: story, needsExecutables: true },
].filter((group) => group.files.length > 0);

// Before the clocks of the tests run: it takes a minute where it was never installed.
const need = (support: string) =>
  files.some((path) => readFileSync(join(repositoryRoot, path), "utf8").includes(support));
if (need("support/cyrus/")) {
  const { installCyrus } = await import("../tests/support/cyrus/install.ts");
  await installCyrus();
}
if (need("support/shells.ts")) {
  const { installShells } = await import("../tests/support/shells.ts");
  await installShells();
}

// A home, a temporary folder and tmux sockets of their own: a test sees nothing of the user's, and what it
// leaves behind is found.
const playground = mkdtempSync(join(tmpdir(), "svc-test-"));
const mark = { name: "SVC_TEST_RUN", value: playground };
const places = {
  HOME: join(playground, "home"),
  TMPDIR: join(playground, "tmp"),
  TMUX_TMPDIR: join(playground, "tmux"),
};
for (const folder of Object.values(places)) mkdirSync(folder, { mode: 0o700 });
const environment = { PATH: process.env["PATH"] ?? "", CI: "true", ...places, [mark.name]: mark.value };

const total: TestCounts = { passed: 0, failed: 0 };
let interrupted = false;
const onInterrupt = () => {
  interrupted = true;
};
process.on("SIGINT", onInterrupt).on("SIGTERM", onInterrupt);

try {
  let executables = true;
  if (groups.some((group) => group.needsExecutables)) {
    const build = await runStep({
      name: "build",
      command: [process.execPath, "scripts/build.ts"],
      live: true,
    });
    executables = build.ok;
    if (!build.ok) fail(1, "the executables could not be built; nothing that needs them was run");
  }
  for (const group of groups)
    if (!interrupted && (executables || !group.needsExecutables)) await runGroup(group);
  // Homes, temporary folders and reports of the whole run.
  for (const path of findLeftSecrets(playground, plantedSecret))
    fail(1, `a planted secret was left in ${path}`);
} finally {
  await endLeftovers(mark);
  rmSync(playground, { recursive: true, force: true });
}

if (interrupted) fail(1, "interrupted");
if (files.length === 0) console.log(`no test file has ${filters.join(" or ") || "a name"} in its path`);
console.log(`${total.passed} passed, ${total.failed} failed`);
if (interrupted) process.exit(130);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

async function runGroup(group: Group): Promise<void> {
  const report = join(playground, `${group.name}.xml`);
  const run = await runStep({
    name: group.name,
    // Worker processes, also because a test that ends its process is then seen as a failure.
    command: [
      process.execPath,
      "test",
      "--parallel=2",
      "--only-failures",
      "--timeout=120000",
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...group.files.map((file) => `./${file}`),
    ],
    env: environment,
    cleanEnv: true,
    live: true,
    timeoutMs: 35 * 60_000,
  });
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
