import { expect, test } from "bun:test";
import { shortCommands } from "../../src/cli/short/short.ts";
import { commandPattern, findCommandSpellings, findInnerPrograms } from "./command-spellings.ts";
import { plantedTree, readTree } from "./tree.ts";

const pattern = commandPattern(Object.keys(shortCommands.subCommands ?? {}));

test("no module below the programs spells a command line", () => {
  expect(findCommandSpellings(readTree("src"), pattern)).toEqual([]);
});

test.each([
  "`Start one with: svc-mgr agents single --agent-name ${name} gateway attach`",
  '"svc-coord serve"',
  "`svc fix worker` starts it",
  "// as svc ls does",
])("a planted %s is found", (line) => {
  const tree = plantedTree({ "src/services/fleet/x.ts": line, "src/cli/x.ts": line });
  expect(findCommandSpellings(tree, pattern)).toEqual([
    `src/services/fleet/x.ts:1 spells a command: ${line}`,
  ]);
});

test.each(["svc demo agent", "svc-mgr", "dist/svc-coord", "no archive of svc: x"])("%s is none", (line) => {
  expect(findCommandSpellings(plantedTree({ "src/db/x.ts": line }), pattern)).toEqual([]);
});

test("no command runs a command line inside its process", () => {
  expect(findInnerPrograms(readTree("src"))).toEqual([]);
});

test.each([
  { id: "a command", path: "src/cli/commands/x.ts", want: 1 },
  { id: "a program", path: "src/cli/mgr.ts", want: 0 },
])("a planted run of a program in $id", ({ path, want }) => {
  const dispatch = path === "src/cli/mgr.ts" ? "./command-line/dispatch.ts" : "../command-line/dispatch.ts";
  const tree = plantedTree({ [path]: `import { runProgram } from "${dispatch}";` });
  expect(findInnerPrograms(tree)).toHaveLength(want);
});
