import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findExposure } from "../../../src/system/ownership.ts";
import { createScratch } from "../../support/scratch.ts";

const uid = process.geteuid?.() ?? 0;

/** `top/project/deep` with a file in it; only the parts that a case names have another mode. */
function tree(modes: Readonly<Record<string, number>> = {}) {
  const scratch = createScratch();
  mkdirSync(scratch.path("top/project/deep"), { recursive: true, mode: 0o755 });
  writeFileSync(scratch.path("top/project/deep/file"), "text", { mode: 0o600 });
  for (const [name, mode] of Object.entries(modes)) {
    if (!existsSync(scratch.path(name))) mkdirSync(scratch.path(name), { recursive: true });
    chmodSync(scratch.path(name), mode);
  }
  return scratch;
}

describe("what another user could change", () => {
  test.each([
    { id: "nothing, with the modes that we give", modes: {}, path: "top/project/deep/file", want: null },
    { id: "nothing below a setgid folder", modes: { top: 0o2755 }, path: "top/project/deep", want: null },
    { id: "a folder of its group", modes: { top: 0o775 }, path: "top/project/deep", want: "top" },
    { id: "a setgid folder of its group", modes: { top: 0o2775 }, path: "top/project", want: "top" },
    { id: "a folder of all", modes: { "top/project": 0o757 }, path: "top/project/deep", want: "top/project" },
    { id: "a file of its group", modes: { "top/project/deep/file": 0o660 }, path: "top/project/deep/file" },
    { id: "nothing below a sticky folder", modes: { top: 0o1777 }, path: "top/project/deep", want: null },
    { id: "a sticky folder itself", modes: { top: 0o1777 }, path: "top", want: "top" },
    {
      id: "a sticky folder in an overlay",
      modes: { "top/.svc/runtime": 0o1777, "top/.svc/runtime/one": 0o700 },
      path: "top/.svc/runtime/one",
      want: "top/.svc/runtime",
    },
    {
      id: "what is above a path that does not exist",
      modes: { top: 0o777 },
      path: "top/no/such",
      want: "top",
    },
    { id: "nothing below a sticky folder yet", modes: { top: 0o1777 }, path: "top/no/such", want: null },
  ])("$id", ({ modes, path, want = path }) => {
    using at = tree(modes as unknown as Record<string, number>);
    expect(findExposure(at.path(path), { uid, home: "/nowhere" })?.path ?? null).toBe(
      want === null ? null : at.path(want),
    );
  });

  test("is judged through links: what they lead to, and where they lie", () => {
    using at = tree({ "top/project": 0o777 });
    mkdirSync(at.path("home"));
    symlinkSync(at.path("top/project/deep"), at.path("home/link"));
    const exposure = findExposure(at.path("home/link"), { uid, home: at.path("home") });
    expect(exposure).toMatchObject({
      path: at.path("top/project"),
      command: ["chmod", "go-w", at.path("top/project")],
    });
    symlinkSync(at.path("home"), at.path("top/project/back"));
    expect(findExposure(join(at.path("top/project/back"), "x"), { uid, home: "/nowhere" })?.path).toBe(
      at.path("top/project"),
    );
    symlinkSync("loop", at.path("home/loop"));
    expect(findExposure(at.path("home/loop/x"), { uid, home: "/nowhere" })).toBeNull();
  });

  test("above the home folder is not judged for what lies in it, and is for the rest", () => {
    using at = tree({ top: 0o777 });
    const facts = { uid, home: at.path("top/project") };
    expect(findExposure(at.path("top/project/deep"), facts)).toBeNull();
    mkdirSync(at.path("top/other"));
    expect(findExposure(at.path("top/other"), facts)?.path).toBe(at.path("top"));
    chmodSync(at.path("top/project"), 0o770);
    expect(findExposure(at.path("top/project/deep"), facts)?.path).toBe(at.path("top/project"));
  });
});

test("a file of ours that others may write reads as absent", () => {
  using at = tree();
  const path = at.path("top/project/deep/file");
  expect(at.files.read(path)).toBe("text");
  chmodSync(path, 0o620);
  expect([at.files.read(path), at.files.readPart(path, 0, 4).length]).toEqual([null, 0]);
});
