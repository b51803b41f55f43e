import { expect, test } from "bun:test";
import { paced } from "../../../../../src/services/extensions/bridges/agui/paced-stream.ts";

test("a minute without an event has a heartbeat in each span of 5 s, and the event after it arrives", async () => {
  let nowMs = 0;
  async function* signals() {
    while (nowMs < 61_000) {
      yield;
      nowMs += 100;
    }
    yield;
  }
  const event = { type: "RUN_FINISHED", threadId: "t", runId: "r" } as const;
  function* events() {
    if (nowMs < 61_000) return false;
    yield event;
    return true;
  }
  const beats: number[] = [];
  const seen: unknown[] = [];
  for await (const item of paced({ signals: signals(), nowMs: () => nowMs, events })) {
    if (item.item === "heartbeat") beats.push(nowMs);
    else seen.push(item.event);
  }
  const spans = beats.map((at, index) => at - (beats[index - 1] ?? 0));
  expect(Math.max(...spans)).toBeLessThan(2500);
  expect(beats.length).toBeGreaterThan(20);
  expect(seen).toEqual([event]);
});
