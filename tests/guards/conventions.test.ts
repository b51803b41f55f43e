import { describe, expect, test } from "bun:test";
import {
  findBlockingMatchers,
  findEmptyNames,
  findIssueNumbers,
  findNotesToSelf,
  findSilencedTests,
  findSleepingTests,
  findSpreadLiterals,
  findTinyModules,
} from "./conventions.ts";
import { plantedTree, readTree } from "./tree.ts";

const everything = readTree("src", "tests", "scripts");
const below = (folder: string) => everything.filter(({ path }) => path.startsWith(`${folder}/`));
const tests = below("tests");
const sources = below("src");

const tinyModules = {
  "src/system/yaml.ts": "the runtime's parser; Deno has another",
};

describe("the conventions", () => {
  test("names say what a file holds", () =>
    expect(findEmptyNames(everything.map(({ path }) => path))).toEqual([]));
  test("no module of less than 30 lines has one importer", () =>
    expect(findTinyModules(sources, 30, tinyModules)).toEqual([]));
  test("no object is spread where it is written", () => expect(findSpreadLiterals(everything)).toEqual([]));
  test("no notes to self in comments", () => expect(findNotesToSelf(everything)).toEqual([]));
  test("no source cites an issue tracker", () => expect(findIssueNumbers(sources)).toEqual([]));
  test("every test runs", () => expect(findSilencedTests(tests)).toEqual([]));
  test("no test beside other processes blocks its event loop", () =>
    expect(findBlockingMatchers(tests)).toEqual([]));
  test("no test sleeps", () => expect(findSleepingTests(tests)).toEqual([]));
});

describe("a planted violation is seen", () => {
  const names = [
    "src/db/utils.ts",
    "src/services/queue-manager/a.ts",
    "tests/support/helpers.ts",
    "src/db/openDb.ts",
  ];
  test.each(names)("the name %s", (path) => expect(findEmptyNames([path])).toHaveLength(1));
  const good = ["src/cli/svc-mgr.ts", "tests/unit/coalesce.test.ts", "src/sql.d.ts"];
  test.each(good)("not the name %s", (path) => expect(findEmptyNames([path])).toEqual([]));

  test("a tiny module with one importer", () => {
    const tree = plantedTree({
      "src/db/a.ts": 'import "./b.ts";\nimport "./c.ts";\nimport "./d.ts";',
      "src/db/b.ts": "x;\n".repeat(29),
      "src/db/c.ts": "x;\n".repeat(30),
      "src/db/d.ts": "x;\n",
      "src/db/e.ts": 'import type { D } from "./d.ts";',
    });
    expect(findTinyModules(tree, 30)).toEqual(["src/db/b.ts: 29 lines that only src/db/a.ts imports"]);
    expect(findTinyModules(tree, 30, { "src/db/b.ts": "data" })).toEqual([]);
  });
  test("a spread of an object that is written there, and not of one with a name or a condition", () => {
    const tree = plantedTree({
      "src/a.ts": "const a = { ...{ b, c }, d };",
      "src/b.ts": "const a = { ...b, ...(c ? { d } : {}) };",
    });
    expect(findSpreadLiterals(tree)).toHaveLength(1);
  });
  test("a note to self", () => {
    const note = ["TO", "DO: later"].join("");
    expect(findNotesToSelf(plantedTree({ "src/a.ts": `// ${note}\nconst x = "${note}";` }))).toHaveLength(1);
  });

  test("the number of an issue, and not another use of the word", () => {
    const tree = plantedTree({
      "src/a.ts": "/** Source: issue 4; issues 5. */\nconst x = 1;",
      "src/b.ts": '// The issue of a token.\nconst x = "issue 4";',
    });
    expect(findIssueNumbers(tree)).toEqual(["src/a.ts: issue 4", "src/a.ts: issues 5"]);
  });

  // Source texts that the guard must refuse in a planted tree. No test of this project is skipped, narrowed
  // or expected to fail.
  const silenced = [
    'test.skip("x", f);',
    'it.todo("x");',
    'describe.skip("x", f);',
    'test.skipIf(ci)("x", f);',
    'test.concurrent.skip("x", f);',
    'test.if(linux)("x", f);',
    'test.failing("x", f);',
  ];
  test.each(silenced)("the test %s", (source) => {
    expect(findSilencedTests(plantedTree({ "tests/unit/a.test.ts": source }))).toHaveLength(1);
  });
  test("not a word in a string or another method", () => {
    const source = 'test("does not .skip( rows", f);\nreader.skip(3);';
    expect(findSilencedTests(plantedTree({ "tests/unit/a.test.ts": source }))).toEqual([]);
  });

  test("a test that sleeps", () => {
    const tree = plantedTree({
      "tests/unit/a.test.ts": "await Bun.sleep(5);",
      "tests/unit/b.test.ts": "await new Promise((resolve) => setTimeout(resolve, 5));",
      "tests/support/until.ts": "await Bun.sleep(5);",
    });
    expect(findSleepingTests(tree)).toHaveLength(2);
  });

  test("a matcher that blocks the event loop", () => {
    const source = "await expect(run()).rejects.toThrow();\nexpect(\n  run(),\n).resolves.toBe(1);";
    const tree = plantedTree({ "tests/e2e/a.test.ts": source, "tests/unit/a.test.ts": source });
    expect(findBlockingMatchers(tree)).toHaveLength(2);
  });
});
