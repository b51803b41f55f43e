import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { liesBelow, whyOutside } from "../../../src/services/mail/filesystem/maintenance.ts";
import { createScratch } from "../../support/scratch.ts";

describe("what lies below a folder", () => {
  test.each([
    { path: "/mail/messages/a.md", below: true },
    { path: "/mail/..hidden", below: true },
    { path: "/mail", below: false },
    { path: "/mail/../etc/passwd", below: false },
    { path: "/mailbox/a", below: false },
    { path: "/", below: false },
  ])("$path below /mail: $below", ({ path, below }) => expect(liesBelow("/mail", path)).toBe(below));
});

test("a link on the way to a path is named, a link at its end is harmless", () => {
  using scratch = createScratch();
  mkdirSync(scratch.path("root/real"), { recursive: true });
  symlinkSync("/etc", scratch.path("root/link"));
  const root = scratch.path("root");
  expect(whyOutside(scratch.files, root, scratch.path("root/real/a.md"))).toBeNull();
  expect(whyOutside(scratch.files, root, scratch.path("root/link"))).toBeNull();
  expect(whyOutside(scratch.files, root, scratch.path("root/link/passwd"))).toContain("is a symbolic link");
  expect(whyOutside(scratch.files, root, "/etc/passwd")).toBe("it lies outside of the mailbox root");
});
