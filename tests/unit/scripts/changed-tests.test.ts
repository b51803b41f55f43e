import { expect, test } from "bun:test";
import { reachedTests } from "../../../scripts/changed-tests.ts";

const sources = Object.entries({
  "src/a.ts": "export const a = 1;",
  "src/b.ts": 'import { a } from "./a.ts"; import type { T } from "./types.ts"; export const b = a;',
  "src/types.ts": "export type T = 1;",
  "src/cli/svc-mgr.ts": '#!/usr/bin/env bun\nimport "../late.ts";',
  "src/late.ts": 'export const late = <T>(x: T) => import("./later.ts");',
  "src/later.ts": "",
  "src/console/app.tsx": "export const App = () => <p>hello</p>;",
  "src/services/mail/facade.ts": "",
  "src/system/clock.ts": "",
  "src/other/a.ts": "",
  "tests/support/fixture.ts": "",
  "tests/unit/b.test.ts": 'import { b } from "../../src/b.ts";',
  "tests/unit/alone.test.ts": 'import { expect } from "bun:test";',
  "tests/unit/screen.test.ts": 'read("tests/screens/claude/idle.txt");',
  "tests/unit/corpus.test.ts": 'for (const path of walk("tests/screens")) read(path);',
  "tests/unit/documents.test.ts": 'readFileSync(join(root, "docs", name));',
  "tests/e2e/cli-mail.test.ts": 'import { fixture } from "../support/fixture.ts";',
  "tests/browser/screens.test.ts": "",
  "tests/e2e/started.test.ts": 'spawn("bun", ["src/b.ts"]);',
  "tests/guards/layers.test.ts": "",
}).map(([path, text]) => ({ path, text }));
const tests = sources.map(({ path }) => path).filter((path) => path.endsWith(".test.ts"));
const guards = "tests/guards/layers.test.ts";

const cases: { changed: string[]; want: string[] }[] = [
  { changed: ["src/a.ts"], want: ["tests/unit/b.test.ts"] },
  { changed: ["src/b.ts"], want: ["tests/unit/b.test.ts", "tests/e2e/started.test.ts"] },
  { changed: ["src/types.ts"], want: [] },
  { changed: ["src/other/a.ts"], want: [] },
  { changed: ["src/services/mail/facade.ts"], want: ["tests/e2e/cli-mail.test.ts"] },
  { changed: ["src/console/app.tsx"], want: ["tests/browser/screens.test.ts"] },
  {
    changed: ["src/system/clock.ts"],
    want: ["tests/e2e/cli-mail.test.ts", "tests/browser/screens.test.ts", "tests/e2e/started.test.ts"],
  },
  { changed: ["tests/support/fixture.ts"], want: ["tests/e2e/cli-mail.test.ts"] },
  { changed: ["tests/unit/alone.test.ts"], want: ["tests/unit/alone.test.ts"] },
  {
    changed: ["tests/screens/claude/idle.txt"],
    want: ["tests/unit/screen.test.ts", "tests/unit/corpus.test.ts"],
  },
  {
    changed: ["tests/screens/claude/new.txt"],
    want: ["tests/unit/screen.test.ts", "tests/unit/corpus.test.ts"],
  },
  { changed: ["docs/limits.md"], want: ["tests/unit/documents.test.ts"] },
  { changed: ["src/gone.ts"], want: [] },
];

test.each(cases)("a change of $changed reaches $want, and every guard", ({ changed, want }) => {
  expect(reachedTests(sources, changed, tests).sort()).toEqual([...want, guards].sort());
});

test("no change reaches no test, one of the dependencies reaches each", () => {
  expect(reachedTests(sources, [], tests)).toEqual([]);
  expect(reachedTests(sources, ["docs/x.md", "bun.lock"], tests)).toEqual(tests);
});

test("only the tests that may run are among them", () => {
  expect(reachedTests(sources, ["src/a.ts"], ["tests/unit/alone.test.ts"])).toEqual([]);
});
