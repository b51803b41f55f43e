import { expect, test } from "bun:test";
import { renderMoment, renderRecorder } from "../../../src/cli/extensions/observe/moment-text.ts";
import type { RecorderStatus } from "../../../src/protocol/recorder.ts";
import { createRecorderFixture, terminal } from "../../support/recorder-fixture.ts";

const status: Omit<RecorderStatus, "bytes" | "segments"> = {
  schema_version: 1,
  enabled: true,
  recording: true,
  problem: null,
  recorded_from_utc: null,
  max_bytes: 2 ** 20,
  max_age_seconds: 3600,
};

test.each([
  { bytes: 25_676, segments: 1, want: "25.1 KiB in 1 part\n" },
  { bytes: 3 * 2 ** 20, segments: 2, want: "3.0 MiB in 2 parts\n" },
])("what is on disk: $want", ({ want, ...size }) => {
  expect(renderRecorder({ ...status, ...size })).toContain(want);
});

test("the command that shows the screen is named where one can show it", async () => {
  const fixture = createRecorderFixture();
  const recorder = fixture.open();
  await fixture.written(() => recorder.start());
  await fixture.written(() => fixture.tell.terminal(terminal()));
  await recorder.stop();
  expect(renderMoment(fixture.why(), "svc replay worker --at now")).toContain(
    "its screen: svc replay worker",
  );
  expect(renderMoment(fixture.why(fixture.clock.nowMs() + 1), null)).not.toContain("its screen");
});
