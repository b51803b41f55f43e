import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { findLeftSecrets } from "../../../scripts/left-secrets.ts";
import { createScratch } from "../../support/scratch.ts";

test("a file that holds such a text is found wherever it lies, and no other", () => {
  using scratch = createScratch();
  mkdirSync(scratch.path("a/b"), { recursive: true });
  writeFileSync(scratch.path("a/b/log"), new Uint8Array([0xff, 0, ...Buffer.from("x mark-1 y")]));
  writeFileSync(scratch.path("plain"), "mar k");
  symlinkSync(scratch.path("absent"), scratch.path("dangling"));
  expect(findLeftSecrets(scratch.folder, /mark-\d/)).toEqual(["a/b/log"]);
});
