import { expect, test } from "bun:test";
import { utimesSync, writeFileSync } from "node:fs";
import { removeLeftScripts } from "../../../src/services/terminal/tmux/launch.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";

test("scripts that a killed launch left are removed, young ones and other files are not", () => {
  using scratch = createScratch();
  const clock = createFakeClock();
  const put = (name: string, ageMs: number) => {
    writeFileSync(scratch.path(name), "");
    const at = new Date(clock.nowMs() - ageMs);
    utimesSync(scratch.path(name), at, at);
  };
  put("launch-0123456789abcdef.sh", 61_000);
  put("launch-0123456789abcde0.sh", 59_000);
  put("launch-0123456789abcde1.sh", -10_000);
  put("launch-mine.sh", 3_600_000);
  put("manifest.json", 3_600_000);
  removeLeftScripts(scratch.files, clock, scratch.folder);
  expect(scratch.files.list(scratch.folder)).toEqual([
    "launch-0123456789abcde0.sh",
    "launch-0123456789abcde1.sh",
    "launch-mine.sh",
    "manifest.json",
  ]);
});
