import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmdirSync } from "node:fs";
import { openJoinedRoots } from "../../../../src/services/extensions/hosts/joined-roots.ts";
import { createScratch } from "../../../support/scratch.ts";

test("a joined folder is known to the next start, and one that was removed is not when it is there again", () => {
  using scratch = createScratch();
  const [kept, gone, later] = ["kept", "gone", "later"].map((name) => scratch.path(name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [kept, gone, later]) mkdirSync(folder);
  const path = scratch.path("roots.json");
  const open = () => openJoinedRoots(scratch.files, path);
  const first = open();
  first.add(kept);
  first.add(gone);
  expect([kept, gone, later].map((root) => open().has(root))).toEqual([true, true, false]);

  rmdirSync(gone);
  open();
  mkdirSync(gone);
  expect([kept, gone].map((root) => open().has(root))).toEqual([true, false]);

  // A process that runs forgets it with the next folder that joins.
  rmdirSync(gone);
  first.add(later);
  expect([kept, gone, later].map((root) => first.has(root))).toEqual([true, false, true]);
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ roots: [kept, later] });
});
