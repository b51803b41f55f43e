import { expect, test } from "bun:test";
import { shortCommands } from "../../src/cli/short/short.ts";
import { commandPattern, findCommandSpellings } from "./command-spellings.ts";
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
