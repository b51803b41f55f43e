import { expect, test } from "bun:test";
import { createLiveFiles } from "../../../src/services/sessions/live-files.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";
import { sampleManifest } from "../../support/session-samples.ts";

test("a full disk does not keep a gateway from its end", () => {
  using scratch = createScratch();
  const told: string[] = [];
  const live = createLiveFiles({
    files: scratch.files,
    clock: createFakeClock(),
    folder: { manifest: sampleManifest(), sessionRoot: scratch.folder },
    onError: (error) => told.push((error as Error).message),
  });
  scratch.beforeStep = () => {
    throw new Error("no space left");
  };
  live.retire(1);
  expect(told).toEqual(["no space left"]);
});
