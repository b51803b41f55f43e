import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import {
  containedPath,
  type ExpectedKind,
  isOneName,
  PathRefused,
} from "../../../src/system/contained-path.ts";
import { createScratch, type Scratch } from "../../support/scratch.ts";

function setup(): Scratch {
  const at = createScratch();
  mkdirSync(at.path("folder/inner"), { recursive: true });
  writeFileSync(at.path("folder/file"), "");
  symlinkSync(at.path("folder"), at.path("link"));
  symlinkSync("/nowhere", at.path("folder/dangling"));
  return at;
}

describe("a path below a root", () => {
  test.each<{ id: string; names: string | string[]; expected?: ExpectedKind }>([
    { id: "a folder", names: "folder/inner", expected: "folder" },
    { id: "a file", names: ["folder", "file"], expected: "file" },
    { id: "nothing yet", names: "folder/new/deeper", expected: "file" },
    { id: "a link, as an entry", names: "link" },
    { id: "a name that begins with dots", names: "..a" },
    { id: "a name with a backslash", names: "a\\..\\b" },
  ])("is made of $id", ({ names, expected }) => {
    using at = setup();
    const path: string = containedPath(at.folder, names, expected);
    expect(path).toBe(at.path([names].flat().join("/")));
  });

  test.each<{ id: string; names: string | string[]; expected?: ExpectedKind; why: string }>([
    { id: "an absolute one", names: "/etc/passwd", why: "absolute" },
    { id: "an absolute name", names: ["folder", "/etc"], why: "slash" },
    { id: "the way up", names: "../x", why: '".."' },
    { id: "the way up further on", names: "folder/../../x", why: '".."' },
    { id: "the same folder", names: "./x", why: '"."' },
    { id: "an empty segment", names: "folder//x", why: "empty segment" },
    { id: "an end of a folder", names: "folder/", why: "empty segment" },
    { id: "no name", names: "", why: "empty segment" },
    { id: "no names", names: [], why: "names nothing" },
    { id: "two names in one", names: ["folder/inner"], why: "slash" },
    { id: "a NUL", names: "a\0b", why: "control character" },
    { id: "a line break", names: "a\nb", why: "control character" },
    { id: "a C1 character", names: "a\u009bb", why: "control character" },
    { id: "a long name", names: "x".repeat(256), why: "255 bytes" },
    { id: "a link on the way", names: "link/inner", why: '"link" is a symbolic link' },
    { id: "a file on the way", names: "folder/file/x", why: "is no folder" },
    { id: "a link for a file", names: "folder/dangling", expected: "file", why: "is a symbolic link" },
    { id: "a link for a folder", names: "link", expected: "folder", why: "is a symbolic link" },
    { id: "a folder for a file", names: "folder/inner", expected: "file", why: "is no regular file" },
    { id: "a file for a folder", names: "folder/file", expected: "folder", why: "is no folder" },
    { id: "a device for a file", names: "dev", expected: "file", why: "is a symbolic link" },
  ])("is not made of $id", ({ names, expected, why }) => {
    using at = setup();
    symlinkSync("/dev/zero", at.path("dev"));
    expect(() => containedPath(at.folder, names, expected)).toThrow(PathRefused);
    expect(() => containedPath(at.folder, names, expected)).toThrow(why);
  });

  test("needs an absolute root, which may itself lie behind a link", () => {
    using at = setup();
    expect(() => containedPath("folder", "x")).toThrow("not absolute");
    expect(containedPath(at.path("link"), "inner", "folder") as string).toBe(at.path("link/inner"));
  });

  test("reports the value on one line and cut", () => {
    using at = setup();
    expect(() => containedPath(at.folder, "../\u202e\x1b[2J")).toThrow('"../?\\u001b[2J"');
    expect(() => containedPath(at.folder, `../${"x".repeat(10_000)}`)).toThrow(/^.{0,200}$/);
  });

  test("a name is one segment", () => {
    expect(["a", "..a", "a b"].every(isOneName)).toBe(true);
    expect(["", ".", "..", "a/b", "a\tb"].some(isOneName)).toBe(false);
  });
});
