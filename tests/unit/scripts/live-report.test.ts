import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeReport, readSteps, renderReport, type StepAccount } from "../../../scripts/live/report.ts";
import { geminiProfile } from "../../../src/services/terminal/profiles/gemini.ts";
import { compileProfile } from "../../../src/services/terminal/profiles/profile.ts";
import type { StoredRecording } from "../../../src/services/terminal/recorded/recorded-screen.ts";

const root = join(import.meta.dir, "../../screens");
const stored = (state: string, change = (text: string) => text): StoredRecording => {
  const text = (name: string) => readFileSync(join(root, "gemini/0.61.0", state, name), "utf8");
  return {
    tool: "gemini",
    version: "0.61.0",
    state,
    screen: change(text("screen.ansi.txt")),
    meta: text("meta.json"),
  };
};
const profile = compileProfile({ ...geminiProfile, proved_versions: ["0.61.0", "0.60.0"] });
const junit = `<testsuites tests="2"><testsuite name="a">
  <testcase name="a fresh agent is &quot;ready&quot;" classname="gemini in the lab" time="1.25" file="x" />
  <testcase name="busy is seen" classname="gemini in the lab" time="3" file="x"><failure type="Error" /></testcase>
  <testcase name="later" classname="gemini in the lab" time="0" file="x"><skipped /></testcase>
</testsuite></testsuites>`;
const accounts: StepAccount[] = [
  {
    group: "gemini in the lab",
    step: "busy is seen",
    error: "not within 45000 ms: busy",
    screen: "✦ ok\n```",
  },
];
const base = { tool: "gemini", version: "0.99.0", profile, junit, accounts, recordings: "recordings" };
const known = [stored("busy"), stored("ready")];
const as99 = (recording: StoredRecording): StoredRecording => ({ ...recording, version: "0.99.0" });

test("a report has each step with its verdict, and of a failed one the error and the screen", () => {
  const report = makeReport({ ...base, known, made: [] });
  expect([report.passed, report.failed]).toEqual([1, 1]);
  expect(report.steps.map(({ step, verdict, seconds }) => [step, verdict, seconds])).toEqual([
    ['a fresh agent is "ready"', "passed", 1.25],
    ["busy is seen", "failed", 3],
    ["later", "skipped", 0],
  ]);
  const text = renderReport(report);
  expect(text).toContain("# gemini 0.99.0");
  expect(text).toContain("not proved on this version; proved are 0.61.0, 0.60.0");
  expect(text).toContain('| gemini in the lab: a fresh agent is "ready" | passed | 1.3 |');
  expect(text).toContain("| gemini in the lab: busy is seen | **failed** | 3.0 |");
  expect(text).toContain("not within 45000 ms: busy");
  // A fence in what the tool showed does not end ours.
  expect(text).toContain("✦ ok\n'''");
});

test("of a run that was ended early only the failures are known, and it says so", () => {
  const report = makeReport({ ...base, junit: "", known, made: [] });
  expect(report).toMatchObject({ complete: false, passed: 0, failed: 1 });
  const text = renderReport(report);
  expect(text).toContain("The run did not come to its end; 1 steps failed before.");
  expect(text).toContain("not within 45000 ms: busy");
});

test("a screen is compared with the same state of the last proved version", () => {
  const reworded = as99(stored("busy", (text) => text.replace(/[\u2801-\u28ff]/gu, "~")));
  const unchanged = as99(stored("ready"));
  const unseen = { ...unchanged, state: "brand-new" };
  const report = makeReport({ ...base, known, made: [reworded, unchanged, unseen] });
  const text = renderReport(report);
  const [busy, ready, fresh] = report.changes;
  expect(busy).toMatchObject({
    state: "busy",
    before: "gemini/0.61.0/busy",
    rules: { gone: ["busy.status_row"], come: [] },
  });
  expect(busy?.labels).toContainEqual({ field: "ready_posture", recorded: '"no"', read: '"yes"' });
  expect(ready).toMatchObject({ labels: [], rules: { gone: [], come: [] }, rows: { gone: [], come: [] } });
  expect(fresh).toMatchObject({ before: null });
  expect(text).toContain("### busy, beside gemini/0.61.0/busy");
  expect(text).toContain('- `ready_posture` reads "yes", was "no"');
  expect(text).toContain("- the rule `busy.status_row` does not fire any more");
  expect(text).not.toContain("### ready");
  expect(text).toContain("Without a recording to compare with: brand-new.");
});

test("rows of the composer and the footer that are worded otherwise are named, numbers are not", () => {
  const renamed = as99(stored("ready", (text) => text.replace("Type your message", "Say something")));
  const [ready] = makeReport({ ...base, known, made: [renamed] }).changes;
  expect(ready?.rows.gone).toEqual([expect.stringContaining("Type your message")]);
  expect(ready?.rows.come).toEqual([expect.stringContaining("Say something")]);
  const counted = [{ ...stored("ready", (text) => text.replace("Type your message", "Type 1 of 5")) }];
  const again = as99(stored("ready", (text) => text.replace("Type your message", "Type 2 of 7")));
  expect(makeReport({ ...base, known: counted, made: [again] }).changes[0]?.rows).toEqual({
    gone: [],
    come: [],
  });
});

test("a proved version is compared with its own recordings first", () => {
  const older = { ...stored("busy"), version: "0.60.0" };
  const report = makeReport({ ...base, version: "0.60.0", known: [...known, older], made: [older] });
  expect(report.changes.map(({ before }) => before)).toEqual(["gemini/0.60.0/busy"]);
  expect(renderReport(report)).toContain("The profile was proved on this version.");
});

test("steps are read from what bun test really writes", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-live-report-"));
  try {
    // Not a test of this project: a file that is run elsewhere, so that the report has a skipped step to
    // name.
    const source = `import { describe, expect, test } from "bun:test";
      describe("one <part>", () => {
        test.each([{ id: "good & 'well'" }])("$id", () => {});
        test("bad", () => { throw new Error("no"); });
        test.skip("later", () => {});
      });`;
    writeFileSync(join(folder, "a.test.ts"), source);
    const flags = ["--reporter=junit", "--reporter-outfile=out.xml", "./a.test.ts"];
    Bun.spawnSync([process.execPath, "test", ...flags], { cwd: folder, stdout: "ignore", stderr: "ignore" });
    const steps = readSteps(readFileSync(join(folder, "out.xml"), "utf8"));
    expect(steps.map(({ group, step, verdict }) => [group, step, verdict])).toEqual([
      ["one <part>", "good & 'well'", "passed"],
      ["one <part>", "bad", "failed"],
      ["one <part>", "later", "skipped"],
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
