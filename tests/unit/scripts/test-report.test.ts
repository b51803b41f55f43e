import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readReport } from "../../../scripts/test-report.ts";

// Real reports: what bun test writes may change with Bun.
function report(files: Record<string, string>, ...flags: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "svc-report-"));
  try {
    for (const [name, source] of Object.entries(files)) {
      writeFileSync(join(folder, name), `import { describe, expect, test } from "bun:test";\n${source}`);
    }
    const names = Object.keys(files).map((name) => `./${name}`);
    const command = [
      process.execPath,
      "test",
      "--parallel=2",
      "--reporter=junit",
      "--reporter-outfile=out.xml",
    ];
    const run = Bun.spawnSync([...command, ...flags, ...names], {
      cwd: folder,
      stdout: "pipe",
      stderr: "pipe",
    });
    const junit = Bun.spawnSync(["cat", join(folder, "out.xml")]).stdout.toString();
    return { exitCode: run.exitCode, ...readReport(junit, Object.keys(files)) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const good = 'test("good", () => expect(1).toBe(1));';
const cases: { id: string; files: Record<string, string>; want: object }[] = [
  {
    id: "tests inside groups are counted once",
    files: { "a.test.ts": `describe("x", () => { describe("y", () => { ${good} }); });`, "b.test.ts": good },
    want: { exitCode: 0, passed: 2, failed: 0, skipped: 0, missing: [] },
  },
  {
    id: "a failing test is counted",
    files: { "a.test.ts": `${good}\ntest("bad", () => expect(1).toBe(2));`, "b.test.ts": good },
    want: { exitCode: 1, passed: 2, failed: 1, skipped: 0, missing: [] },
  },
  {
    id: "tests that are skipped or only planned did not pass",
    files: { "a.test.ts": `${good}\ntest.skip("a", () => {});\ntest.todo("b");`, "b.test.ts": good },
    want: { exitCode: 0, passed: 2, failed: 0, skipped: 2, missing: [] },
  },
  {
    id: "a file that breaks on load is missing",
    files: { "a.test.ts": 'throw new Error("load");', "b.test.ts": good },
    want: { exitCode: 1, passed: 1, failed: 0, skipped: 0, missing: ["a.test.ts"] },
  },
  {
    id: "a file without tests is missing",
    files: { "a.test.ts": "", "b.test.ts": good },
    want: { exitCode: 0, passed: 1, failed: 0, skipped: 0, missing: ["a.test.ts"] },
  },
  {
    id: "a test that ends its process with code 0 has failed",
    files: { "a.test.ts": 'test("a", () => process.exit(0));', "b.test.ts": good },
    want: { exitCode: 1, passed: 1, failed: 1, skipped: 0, missing: [] },
  },
  {
    id: "alone in its run, such a file is missing",
    files: { "a.test.ts": 'test("a", () => process.exit(0));' },
    want: { exitCode: 0, passed: 0, failed: 0, skipped: 0, missing: ["a.test.ts"] },
  },
];

describe("what a run of bun test comes to", () => {
  test.each(cases)("$id", ({ files, want }) => expect(report(files)).toMatchObject(want));
});
