import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { createScratch } from "../../support/scratch.ts";

const tooLarge = 32 * 2 ** 20 + 1;

test.each([
  { id: "a pipe, without waiting for its writer", name: "pipe", why: "is no regular file" },
  { id: "a device that never ends", name: "device", why: "is no regular file" },
  { id: "a folder", name: "folder", why: "is no regular file" },
  { id: "a socket", name: "socket", why: "is no regular file" },
  { id: "a link to itself", name: "loop", why: "is no regular file" },
  { id: "a file that is larger than any of ours", name: "large", why: "is larger than 32 MiB" },
])("a file that is read whole: $id is refused", async ({ name, why }) => {
  using at = createScratch();
  Bun.spawnSync(["mkfifo", at.path("pipe")]);
  symlinkSync("/dev/zero", at.path("device"));
  symlinkSync("loop", at.path("loop"));
  mkdirSync(at.path("folder"));
  writeFileSync(at.path("large"), "x");
  truncateSync(at.path("large"), tooLarge);
  const listening = Promise.withResolvers<void>();
  const server = createServer().listen(at.path("socket"), listening.resolve);
  await listening.promise;
  expect(() => at.files.read(at.path(name), { owner: "anyone" })).toThrow(`"${name}" ${why}`);
  expect(at.files.read(at.path(name))).toBeNull();
  server.close();
});

test("a file that is read whole is read behind a link, which is no file of ours", () => {
  using at = createScratch();
  writeFileSync(at.path("file"), "text");
  symlinkSync(at.path("file"), at.path("link"));
  expect(at.files.read(at.path("link"), { owner: "anyone" })).toBe("text");
  expect(at.files.read(at.path("link"))).toBeNull();
  expect(at.files.read(at.path("absent"))).toBeNull();
});
