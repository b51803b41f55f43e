import { describe, expect, test } from "bun:test";
import type { SlotUse } from "../../../src/services/queue/eligibility.ts";
import { createExecutionSlot, isSlotRunning } from "../../../src/services/queue/slot.ts";

const free: SlotUse = {
  request: false,
  reminder: null,
  contextMaintenance: null,
  turn: false,
  typing: null,
  budget: null,
};
const held = {
  request: { request: true },
  attempt: { reminder: "attempt" },
  delivery: { reminder: "execution" },
  maintenance: { contextMaintenance: "the notifier compacts the chat" },
  turn: { turn: true },
  budget: { budget: "its budget was reached" },
} as const satisfies Record<string, Partial<SlotUse>>;

describe("the slot", () => {
  test.each<[keyof typeof held, boolean]>([
    ["request", true],
    ["attempt", false],
    ["delivery", true],
    ["maintenance", true],
    ["turn", true],
    ["budget", false],
  ])("the status calls it running while %s holds it: %p", (holder, running) => {
    expect(isSlotRunning({ ...free, ...held[holder] })).toBe(running);
  });
});

test("a member that changed wakes every other one, in the order in which they joined", () => {
  const slot = createExecutionSlot();
  const woken: string[] = [];
  slot.join("status", { wake: () => void woken.push("status") });
  slot.join("queue", {
    report: (all) => void Object.assign(all, { request: true, depth: 2 }),
    wake: () => void woken.push("queue"),
  });
  slot.join("reminders", {
    report(all) {
      all.reminder = "attempt";
    },
    wake: () => void woken.push("reminders"),
    recount: () => void woken.push("recount"),
  });
  slot.changed("queue");
  expect(woken).toEqual(["status", "reminders"]);
  slot.changed();
  slot.recount();
  expect(woken.slice(2)).toEqual(["status", "queue", "reminders", "recount"]);
  expect({ report: slot.report(), refusal: slot.refusal("reminder"), running: slot.running() }).toEqual({
    report: {
      ...free,
      request: true,
      reminder: "attempt",
      depth: 2,
      waiting: null,
      remindersLost: null,
      wakesHeld: null,
      budgetState: null,
      tokens: null,
      running: true,
    },
    refusal: "a request is being executed",
    running: true,
  });
});
