import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createScratch } from "../../support/scratch.ts";

/** A process id that nobody has: beyond the largest that Linux gives out. */
const nobody = 4_194_305;

describe("a file that is written", () => {
  test("is whole under its name or not there, and its steps say when", () => {
    using at = createScratch();
    at.files.write("file:x", at.path("x"), "one");
    at.beforeStep = (label) => {
      if (label === "file:x.rename") throw new Error("no further");
    };
    expect(() => at.files.write("file:x", at.path("x"), "two")).toThrow("no further");
    expect(at.files.read(at.path("x"))).toBe("one");
    expect(readdirSync(at.folder)).toEqual(["x"]);
    expect(at.labels).toEqual(["file:x.rename", "file:x"]);
    expect(statSync(at.path("x")).mode & 0o777).toBe(0o600);
  });

  test("was begun by a process that is no more: what it left is removed, what lives is not", () => {
    using at = createScratch();
    const names = [
      `.${nobody}-0123456789ab.tmp`,
      `.${process.pid}-0123456789ab.tmp`,
      ".mine.tmp",
      "state.json",
    ];
    for (const name of names) writeFileSync(at.path(name), "");
    at.files.removeLeftovers("file:leftovers", at.folder);
    expect(readdirSync(at.folder).sort()).toEqual(names.slice(1).sort());
    expect(at.labels).toEqual(["file:leftovers"]);
    at.files.removeLeftovers("file:leftovers", at.path("nowhere"));
  });
});

/** Writes and removes files in a folder, whether it is there or not, until it is ended. */
const restless = `
  const { rmSync, writeFileSync } = require("node:fs");
  for (;;) {
    try { writeFileSync(process.argv[1] + "/new", "x"); } catch {}
    rmSync(process.argv[1] + "/new", { force: true });
  }
`;

test("a folder is removed whole while another process still writes and removes files in it", async () => {
  using at = createScratch();
  const folder = at.path("session");
  const inner = join(folder, "gateway");
  await using other = Bun.spawn([process.execPath, "-e", restless, inner], { stdout: "ignore" });
  for (let round = 0; round < 300; round++) {
    for (const part of [inner, join(folder, "turns")]) {
      mkdirSync(part, { recursive: true });
      for (const name of ["a", "b", "c"]) writeFileSync(join(part, name), "");
    }
    at.files.remove("file:x", at.files.contained(at.folder, "session"));
    expect(existsSync(folder)).toBe(false);
  }
  expect(other.exitCode).toBeNull();
});
