import { expect, test } from "bun:test";
import type { GatewayStatus } from "../../../src/protocol/gateway.ts";
import { createLiveFiles } from "../../../src/services/sessions/live-files.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";
import { sampleManifest } from "../../support/session-samples.ts";

test("a full disk does not keep a gateway from its end", () => {
  using scratch = createScratch();
  const told: string[] = [];
  const live = createLiveFiles({
    files: scratch.files,
    clock: createFakeClock(),
    folder: { manifest: sampleManifest(), sessionRoot: scratch.folder },
    gone: () => false,
    onError: (error) => told.push((error as Error).message),
  });
  scratch.beforeStep = () => {
    throw new Error("no space left");
  };
  live.retire(1);
  expect(told).toEqual(["no space left"]);
});

test("a status is written after the turn that changed it, and nothing once the place is another's", async () => {
  using scratch = createScratch();
  const clock = createFakeClock();
  const told: unknown[] = [];
  let gone = false;
  const live = createLiveFiles({
    files: scratch.files,
    clock,
    folder: { manifest: sampleManifest(), sessionRoot: scratch.folder },
    gone: () => gone,
    onError: (error) => told.push(error),
  });
  const status = (queue_depth: number) => ({ queue_depth }) as GatewayStatus;
  const written = () => scratch.files.read(scratch.path("gateway/state.json"));
  scratch.files.ensureDirectory("x", scratch.path("gateway"));
  live.saveStatus(status(1));
  await settle();
  expect(JSON.parse(written() ?? "")).toEqual({ queue_depth: 1 });
  // This one waits for the 100 ms between two to pass.
  live.saveStatus(status(2));
  scratch.files.write("x", scratch.path("gateway/state.json"), "of another");
  gone = true;
  await clock.advance(1000);
  live.saveStatus(status(3));
  await settle();
  await clock.advance(1000);
  expect([written(), told]).toEqual(["of another", []]);
});
