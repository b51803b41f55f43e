import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { findDrift } from "./generated.ts";
import { runStep, type Step, type StepResult, tool } from "./steps.ts";

// Everything that can be known without starting an agent, in well under a minute.

await bootstrap({ tmux: false });

const testsOf = (...tiers: string[]) =>
  tiers
    .flatMap((tier) => [...new Bun.Glob(`tests/${tier}/**/*.test.ts`).scanSync(repositoryRoot)].sort())
    .filter((path) => path !== underDeno && !long.includes(path));
/** Starts another runtime on much of the rest: it runs beside it. */
const underDeno = "tests/contract/under-deno.test.ts";
/** They try many variants of the same for seconds each, and run in `bun run test` alone. */
const long = [
  "tests/unit/headless/turn-reader.test.ts",
  "tests/unit/terminal/explain.test.ts",
  "tests/unit/terminal/mutated-corpus.test.ts",
  "tests/unit/terminal/profile-pattern.test.ts",
];
/** Beside other work the tests may take many times their usual seconds. */
const busyMachineMs = 10 * 60_000;
const test = (...files: string[]) => [
  ...[process.execPath, "test", "--only-failures", "--timeout=30000"],
  ...files,
];
/** What the compiler knew last time: a check of a small change then takes it a second. */
const typesKnown = "node_modules/.cache/svc/types.json";

const steps: Step[] = [
  { name: "format and lint", command: tool("biome", "check", "--error-on-warnings", ".") },
  { name: "types", command: tool("tsc", "-p", ".", "--incremental", "--tsBuildInfoFile", typesKnown) },
  { name: "dead code", command: tool("knip") },
  {
    name: "rules",
    command: test(...testsOf("unit", "guards")),
    timeoutMs: busyMachineMs,
  },
  // In worker processes: the garbage of some thousand apps makes each next test slower.
  {
    name: "the contract",
    command: test("--parallel=2", ...testsOf("contract")),
    env: { SVC_TEST_SURFACES: "one" },
    timeoutMs: busyMachineMs,
  },
  { name: "the contract under Deno", command: test(underDeno), timeoutMs: busyMachineMs },
];

const started = performance.now();
const report = (result: StepResult) => {
  const verdict = result.ok ? "ok    " : "FAILED";
  console.log(`${verdict} ${result.name} (${result.seconds.toFixed(1)} s)`);
  if (!result.ok) console.log(result.output.replace(/^/gm, "  "));
  return result;
};
const drift = findDrift().then(
  (drifted): StepResult => ({
    name: "generated files",
    ok: drifted.length === 0,
    exitCode: 0,
    timedOut: false,
    output: drifted.join("\n"),
    seconds: (performance.now() - started) / 1000,
  }),
);
const results = await Promise.all(
  [...steps.map((step) => runStep(step)), drift].map((step) => step.then(report)),
);
const failed = results.filter((result) => !result.ok);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(
  failed.length === 0
    ? `all is well (${seconds} s)`
    : `${failed.length} of ${results.length} failed (${seconds} s)`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
