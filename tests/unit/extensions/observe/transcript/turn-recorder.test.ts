import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../../../../../src/services/diagnostics/gateway-log.ts";
import { createSessionTranscript } from "../../../../../src/services/extensions/observe/transcript/session-transcript.ts";
import { profileFor } from "../../../../../src/services/terminal/profiles/profile.ts";
import { createFakeClock, settle } from "../../../../support/fake-clock.ts";
import { createScratch } from "../../../../support/scratch.ts";
import { sampleManifest } from "../../../../support/session-samples.ts";

const screens = join(import.meta.dir, "../../../..");
const busyStart = readFileSync(join(screens, "screens/demo/1/ready/screen.ansi.txt"), "utf8");
const finished = readFileSync(join(screens, "screens/demo/1/finished/screen.ansi.txt"), "utf8");

/** One turn of a tool that keeps no record, with this on its screen at the end; the kept lines. */
async function recordOne(screen: string, typed: string | null): Promise<string[]> {
  using scratch = createScratch();
  const clock = createFakeClock();
  const { recorder } = createSessionTranscript({
    files: scratch.files,
    clock,
    log: { line() {} } as unknown as Log,
    manifest: sampleManifest(),
    sessionRoot: scratch.folder,
    env: { HOME: scratch.folder },
    profile: profileFor("demo"),
    capture: async () => ({ text: screen, height: 36 }),
  });
  if (typed !== null) recorder.promptTyped(typed);
  recorder.turnBegan();
  recorder.turnEnded();
  await settle();
  clock.advance(10_000);
  await settle();
  await recorder.stop();
  const kept = scratch.path("transcript/screen-turns.jsonl");
  return existsSync(kept) ? readFileSync(kept, "utf8").trimEnd().split("\n") : [];
}

test("what a tool does before anybody asked it is kept as no turn", async () => {
  expect(await recordOne(busyStart, null)).toEqual([]);
});

test("a turn that a person typed and one that the gateway typed are kept", async () => {
  expect((await recordOne(finished, null)).map((line) => JSON.parse(line))).toMatchObject([
    { prompt: "tell me\nFAST", answer: "and says why it waits first the file" },
  ]);
  expect((await recordOne(busyStart, "hello")).map((line) => JSON.parse(line))).toMatchObject([
    { prompt: "hello" },
  ]);
});
