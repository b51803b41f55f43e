import { expect, test } from "bun:test";
import { createExecutionSlot } from "../../../src/services/queue/slot.ts";

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
      request: true,
      reminder: "attempt",
      contextMaintenance: null,
      turn: false,
      typing: null,
      budget: null,
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
