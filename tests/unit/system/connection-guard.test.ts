import { expect, test } from "bun:test";
import { chooseIdle } from "../../../src/system/connection-guard.ts";

const connection = { descriptor: 7, peerPort: 4000, bytesReceived: 50, unconfirmed: 0, idleMs: 60_000 };

test.each([
  { id: "silent", change: { bytesReceived: 0, idleMs: 200 }, busy: [], ended: true },
  { id: "just accepted", change: { bytesReceived: 0, idleMs: 5 }, busy: [], ended: false },
  { id: "idle after an answer", change: {}, busy: [], ended: true },
  { id: "answered a moment ago", change: { idleMs: 500 }, busy: [], ended: false },
  { id: "waits for its answer or follows events", change: {}, busy: [4000], ended: false },
  { id: "reads slowly", change: { unconfirmed: 2 }, busy: [], ended: false },
])("a connection that is or does: $id", ({ change, busy, ended }) => {
  expect(chooseIdle([{ ...connection, ...change }], new Set(busy))).toHaveLength(ended ? 1 : 0);
});

test("of many that were answered the longest idle go first, 256 at once", () => {
  const many = Array.from({ length: 300 }, (_, nth) => ({
    ...connection,
    descriptor: nth,
    idleMs: 3000 + nth,
  }));
  const chosen = chooseIdle(many, new Set());
  expect(chosen).toHaveLength(256);
  expect(chosen[0]?.descriptor).toBe(299);
});
