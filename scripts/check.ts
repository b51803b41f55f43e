import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { flag, readArguments, readFlags } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { reachedTests } from "./changed-tests.ts";
import { findDrift, type Generated, generatorSources } from "./generated.ts";
import { changedSince, readFiles, readLastCheck, writeLastCheck } from "./last-check.ts";
import { runStep, type Step, type StepResult, tool } from "./steps.ts";
import { judgeTypes } from "./type-errors.ts";

const usage = `
Usage: bun run check [--all | --static]

Everything that can be known without starting an agent. Skipped is what the files that changed since the last check without a
fault cannot reach: tests (by imports and by names of files, as in \`bun run test --changed\`), migrations, and formatting and
lint of unchanged files; when nothing changed, the guards and the documents too. Types and dead code are always checked as a
whole.

  --all     skips nothing and runs the long tests too, as CI in the environment does
  --static  runs no tests: with \`bun run test\`, which never skips for what an earlier run found, it is all of it
`;

const wish = readArguments(usage, (words) => readFlags(words, { all: flag, static: flag }));

await bootstrap({ tmux: false });

const cache = "node_modules/.cache/svc";
const lastPath = join(repositoryRoot, cache, "last-check.json");
const all = wish.all || Boolean(process.env["CI"]);
const isStatic = wish.static;
const now = readFiles(repositoryRoot, `${Bun.version} ${process.platform} ${process.arch}`);
const changed = all ? null : changedSince(readLastCheck(lastPath), now);
/** Starts another runtime on much of the rest: it runs beside it. */
const underDeno = "tests/contract/under-deno.test.ts";
/** They try many variants of the same for seconds each, and run in `bun run test` and with `--all`. */
const long = [
  "tests/unit/headless/turn-reader.test.ts",
  "tests/unit/terminal/explain.test.ts",
  "tests/unit/terminal/mutated-corpus.test.ts",
  "tests/unit/terminal/profile-pattern.test.ts",
];
/** Beside other work the tests may take many times their usual seconds. */
const busyMachineMs = 10 * 60_000;
const test = (...files: string[]) => [
  process.execPath,
  "test",
  "--only-failures",
  "--timeout=30000",
  ...files,
];
const tests = [...new Bun.Glob("tests/{unit,guards,contract}/**/*.test.ts").scanSync(repositoryRoot)]
  .filter((path) => !isStatic && (all || !long.includes(path)))
  .sort();
const reached = new Set(changed === null ? tests : reachedBy(changed, [...tests, ...generatorSources]));
const testsOf = (...tiers: string[]) =>
  tests.filter((path) => path !== underDeno && reached.has(path) && tiers.includes(path.split("/")[1] ?? ""));
const rules = testsOf("unit", "guards");
const contract = testsOf("contract");
const lint = changed === null || changed.includes("biome.json") ? ["."] : changed.filter(isLinted);
/** What the compiler knew last time: a check of a small change then takes it two seconds. */
const typesKnown = `${cache}/types.json`;
/**
 * It writes declarations, which nobody reads: only then it knows the shape of each file, and checks what uses
 * a file again only after a change of its shape.
 */
const declarations = [
  "--noEmit",
  "false",
  "--declaration",
  "--emitDeclarationOnly",
  "--outDir",
  `${cache}/types`,
];
const steps: Step[] = [
  ...(lint.length === 0
    ? []
    : [{ name: "format and lint", command: tool("biome", "check", "--error-on-warnings", ...lint) }]),
  {
    name: "dead code",
    command: tool("knip", ...(all ? [] : ["--cache", "--cache-location", `${cache}/knip`])),
  },
  ...(rules.length === 0 ? [] : [{ name: "rules", command: test(...rules), timeoutMs: busyMachineMs }]),
  ...(contract.length === 0
    ? []
    : [
        {
          name: "the contract",
          // In worker processes: the garbage of some thousand apps makes each next test slower.
          command: test("--parallel=2", ...contract),
          env: { SVC_TEST_SAMPLE: "8/check" },
          timeoutMs: busyMachineMs,
        },
      ]),
  ...(reached.has(underDeno)
    ? [{ name: "the contract under Deno", command: test(underDeno), timeoutMs: busyMachineMs }]
    : []),
];
if (changed !== null) {
  const skipped = tests.filter((path) => !reached.has(path)).length;
  console.log(
    `${changed.length} files changed since the last check; ${skipped} test files cannot notice (--all)`,
  );
}

const started = performance.now();
const report = (result: StepResult) => {
  const verdict = result.ok ? "ok    " : "FAILED";
  console.log(`${verdict} ${result.name} (${result.seconds.toFixed(1)} s)`);
  if (!result.ok) console.log(result.output.replace(/^/gm, "  "));
  return result;
};
const drift = (changed?.length === 0 ? Promise.resolve([]) : findDrift(isReached)).then(
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
  [...steps.map((step) => runStep(step)), checkTypes(), drift].map((step) => step.then(report)),
);
const failed = results.filter((result) => !result.ok);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(
  failed.length === 0
    ? `all is well (${seconds} s)`
    : `${failed.length} of ${results.length} failed (${seconds} s)`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
// While something is wrong, all that changed since the last check without a fault is checked again.
if (failed.length === 0 && !isStatic) writeLastCheck(lastPath, now);

async function checkTypes(): Promise<StepResult> {
  const known = ["--pretty", "false", "--incremental", "--tsBuildInfoFile", typesKnown];
  return judgeTypes(
    await runStep({ name: "types", command: tool("tsc", "-p", ".", ...known, ...declarations) }),
  );
}

function reachedBy(paths: readonly string[], targets: readonly string[]): string[] {
  const sources = Object.keys(now.files)
    .filter((path) => /^(src|scripts|tests)\/.*\.tsx?$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(repositoryRoot, path), "utf8") }));
  return reachedTests(sources, paths, targets);
}

function isReached({ folder, source, ofEverything }: Generated): boolean {
  if (changed === null || ofEverything) return true;
  return reached.has(source) || changed.some((path) => path.startsWith(`${folder}/`));
}

function isLinted(path: string): boolean {
  return /\.(ts|tsx|js|jsx|json|jsonc|css|html)$/.test(path) && existsSync(join(repositoryRoot, path));
}
