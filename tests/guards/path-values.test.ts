import { describe, expect, test } from "bun:test";
import { findJoinedValues, findRenamedPaths, pathMakers } from "./path-values.ts";
import { plantedTree, readTree } from "./tree.ts";

const files = readTree("src");

describe("paths of values", () => {
  test("are made by the containment functions", () => expect(findJoinedValues(files)).toEqual([]));
  test("are joined under no other name", () => expect(findRenamedPaths(files)).toEqual([]));
  test("no exception outlives its module", () =>
    expect(Object.keys(pathMakers).filter((path) => !files.some((file) => file.path === path))).toEqual([]));

  const planted = (line: string) =>
    findJoinedValues(
      plantedTree({ "src/services/a/b.ts": `import { join, resolve } from "node:path";\n${line}\n` }),
    );
  test.each([
    "join(root, row.path);",
    "join(root, path);",
    'join(root, "mailboxes", row.address);',
    "join(root, `${id}.md`);",
    "join(root, ...names);",
    "join(root, basename(path));",
    "resolve(cwd, wanted);",
    "join(\n  root,\n  row.path,\n);",
  ])("a planted violation is seen: %s", (line) => expect(planted(line)).toHaveLength(1));
  test.each([
    'join(root, "mailboxes");',
    "join(root, `index.sqlite`);",
    "names.join(separator, x);",
    "join(root);",
  ])("not a violation: %s", (line) => expect(planted(line)).toEqual([]));
  test.each([
    'import { join as j } from "node:path";',
    'import * as p from "node:path";',
    'import p from "path";',
  ])("another name is seen: %s", (source) =>
    expect(findRenamedPaths(plantedTree({ "src/db/a.ts": source }))).toHaveLength(1),
  );
});
