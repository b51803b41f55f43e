import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createScratch } from "../../support/scratch.ts";

describe("a file that is kept", () => {
  test("is made once and only for its owner", () => {
    using at = createScratch();
    at.files.create("file:new", at.path("x"), "one");
    expect(() => at.files.create("file:new", at.path("x"), "two")).toThrow("EEXIST");
    expect(readFileSync(at.path("x"), "utf8")).toBe("one");
    expect(statSync(at.path("x")).mode & 0o777).toBe(0o600);
    const inFolder = (name: string) => at.files.contained(at.folder, name);
    at.files.place("file:placed", inFolder("x"), inFolder("y"));
    expect(existsSync(at.path("x"))).toBe(false);
    expect(at.labels).toEqual(["file:new", "file:placed"]);
  });

  test("is copied to the byte, with its size and hash", () => {
    using at = createScratch();
    const bytes = crypto.getRandomValues(new Uint8Array(65_536)).buffer;
    const content = Buffer.concat(Array.from({ length: 17 }, () => Buffer.from(bytes)));
    writeFileSync(at.path("from"), content, { mode: 0o644 });
    const copied = at.files.copy("file:copied", at.path("from"), at.path("to"), { maxBytes: content.length });
    const sha256 = new Bun.CryptoHasher("sha256").update(content).digest("hex");
    expect(copied).toEqual({ ok: true, size: content.length, sha256 });
    expect(readFileSync(at.path("to")).equals(content)).toBe(true);
    expect(statSync(at.path("to")).mode & 0o777).toBe(0o600);
  });

  test.each([
    { id: "a file that is not there is refused", from: "absent", why: "absent" },
    { id: "a folder is refused", from: "folder", why: "not_regular" },
    { id: "a symbolic link is refused, whatever it points to", from: "link", why: "not_regular" },
    { id: "a pipe is refused without waiting for its writer", from: "pipe", why: "not_regular" },
    { id: "a device that never ends is refused", from: "/dev/zero", why: "of_kernel" },
    { id: "a file that is larger than allowed is refused", from: "large", why: "too_large" },
  ] as const)("$id", ({ from, why }) => {
    using at = createScratch();
    mkdirSync(at.path("folder"));
    writeFileSync(at.path("large"), "12345");
    symlinkSync(at.path("large"), at.path("link"));
    Bun.spawnSync(["mkfifo", at.path("pipe")]);
    const path = from.startsWith("/") ? from : at.path(from);
    expect(at.files.copy("file:copied", path, at.path("to"), { maxBytes: 4 })).toEqual({ ok: false, why });
    expect(existsSync(at.path("to"))).toBe(false);
  });

  test("is known again under another name, and a link by what it says", () => {
    using at = createScratch();
    writeFileSync(at.path("x"), "");
    at.files.symlink("file:linked", "x", at.path("link"));
    expect(at.files.linkTarget(at.path("link"))).toBe("x");
    expect(at.files.linkTarget(at.path("x"))).toBeNull();
    expect(at.files.realPath(at.path("link"))).toBe(at.path("x"));
    expect(at.files.realPath(at.path("nowhere"))).toBeNull();
    expect(at.files.stat(at.path("link"))?.identity).toBe(at.files.stat(at.path("x"))?.identity ?? "");
    expect(() => at.files.symlink("file:linked", "y", at.path("link"))).toThrow("EEXIST");
  });
});
