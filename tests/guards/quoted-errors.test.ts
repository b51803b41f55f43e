import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findUnsaidErrors } from "./quoted-errors.ts";
import { readTree, repositoryRoot } from "./tree.ts";

const source = readTree("src")
  .map((file) => file.source)
  .join("\n");

test("the errors that the operations guide explains are those that programs print", () => {
  const guide = "docs/guides/operations.md";
  const markdown = readFileSync(join(repositoryRoot, guide), "utf8");
  expect(findUnsaidErrors(guide, markdown, source)).toEqual([]);
});

test("an error that no program prints is seen", () => {
  const table = "| you see | it means | do |\n| --- | --- | --- |\n| `the … is full` or `x` | a | b |\n";
  expect(findUnsaidErrors("a.md", table, "the disk is full")).toEqual(['a.md: no program says "x"']);
  expect(findUnsaidErrors("a.md", table, "the disk is full, x")).toEqual([]);
});
