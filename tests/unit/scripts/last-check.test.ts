import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { changedSince, readFiles, readLastCheck, writeLastCheck } from "../../../scripts/last-check.ts";
import { createScratch } from "../../support/scratch.ts";

const check = (files: Record<string, string>, runtime = "1") => ({ runtime, files });

describe("what changed since the last check", () => {
  test.each([
    { id: "nothing", last: check({ a: "1" }), now: check({ a: "1" }), want: [] },
    { id: "a new file", last: check({}), now: check({ a: "1" }), want: ["a"] },
    { id: "a removed file", last: check({ a: "1", b: "1" }), now: check({ b: "1" }), want: ["a"] },
    { id: "a different file", last: check({ a: "1" }), now: check({ a: "2" }), want: ["a"] },
    { id: "another runtime", last: check({ a: "1" }), now: check({ a: "1" }, "2"), want: null },
    { id: "no check before", last: null, now: check({ a: "1" }), want: null },
  ])("is known for $id", ({ last, now, want }) => {
    expect(changedSince(last, now)).toEqual(want as string[] | null);
  });
});

test("the files of a repository are those that git does not ignore, by their content", () => {
  using scratch = createScratch();
  const root = scratch.path("repository");
  mkdirSync(root);
  const git = (...words: string[]) =>
    expect(Bun.spawnSync(["git", "-c", "init.defaultBranch=main", ...words], { cwd: root }).exitCode).toBe(0);
  git("init", "--quiet");
  const write = (path: string, text: string) => writeFileSync(join(root, path), text);
  write(".gitignore", "ignored\n");
  for (const path of ["ignored", "added", "gone", "new"]) write(path, "one");
  git("add", "added", "gone");
  rmSync(join(root, "gone"));
  const before = readFiles(root, "1");
  expect(Object.keys(before.files).sort()).toEqual([".gitignore", "added", "new"]);
  write("added", "two");
  expect(changedSince(before, readFiles(root, "1"))).toEqual(["added"]);
  write("added", "one");
  expect(changedSince(before, readFiles(root, "1"))).toEqual([]);
});

test("a check is read as it was written, and one that is damaged counts as none", () => {
  using scratch = createScratch();
  const path = scratch.path("cache/last-check.json");
  expect(readLastCheck(path)).toBeNull();
  const written = check({ "src/a.ts": "x" });
  writeLastCheck(path, written);
  expect(readLastCheck(path)).toEqual(written);
  writeFileSync(path, readFileSync(path, "utf8").slice(1));
  expect(readLastCheck(path)).toBeNull();
});
