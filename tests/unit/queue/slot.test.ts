import { describe, expect, test } from "bun:test";
import type { StoredRequest } from "../../../src/db/gateway/request-store.ts";
import type { RequestAdmission } from "../../../src/protocol/gateway.ts";
import type { Readiness } from "../../../src/services/agent/agent.ts";
import {
  createExecutionSlot,
  decideNext,
  isSlotRunning,
  refuseSlot,
  type SlotClaimant,
  type SlotUse,
} from "../../../src/services/queue/slot.ts";

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
} as const satisfies Record<string, Partial<SlotUse>>;
const delivered = "a reminder is being delivered";
const executed = "a request is being executed";
const { contextMaintenance: compacts } = held.maintenance;

type Case = [SlotClaimant, keyof typeof held, string | null];
const cases: Case[] = [
  ["request", "request", null],
  ["request", "attempt", delivered],
  ["request", "delivery", delivered],
  ["request", "maintenance", compacts],
  ["request", "turn", null],
  ["interrupt", "request", null],
  ["interrupt", "attempt", null],
  ["interrupt", "delivery", null],
  ["interrupt", "maintenance", null],
  ["interrupt", "turn", null],
  ["reminder", "request", executed],
  ["reminder", "attempt", null],
  ["reminder", "delivery", null],
  ["reminder", "maintenance", compacts],
  ["reminder", "turn", null],
  ["direct_prompt", "request", executed],
  ["direct_prompt", "attempt", null],
  ["direct_prompt", "delivery", delivered],
  ["direct_prompt", "maintenance", compacts],
  ["direct_prompt", "turn", null],
];

describe("who may take the execution slot", () => {
  test.each(cases)("%s while %s holds it", (claimant, holder, refusal) => {
    expect(refuseSlot(claimant, { ...free, ...held[holder] })).toBe(refusal);
  });

  test.each<SlotClaimant>(["request", "interrupt", "reminder", "direct_prompt"])(
    "%s while it is free",
    (claimant) => expect(refuseSlot(claimant, free)).toBeNull(),
  );

  test.each<[keyof typeof held, boolean]>([
    ["request", true],
    ["attempt", false],
    ["delivery", true],
    ["maintenance", true],
    ["turn", true],
  ])("the status calls it running while %s holds it: %p", (holder, running) => {
    expect(isSlotRunning({ ...free, ...held[holder] })).toBe(running);
  });
});

const request = (given: Partial<StoredRequest>): StoredRequest => ({
  seq: 1,
  requestId: "r",
  kind: "submit_prompt",
  lane: "turn_boundary",
  state: "accepted",
  payload: { prompt: "p" },
  idempotencyKey: null,
  acceptedAtUtc: "t",
  startedAtUtc: null,
  finishedAtUtc: null,
  errorDetail: null,
  result: null,
  evidence: [],
  epoch: 1,
  ...given,
});
const prompt = request({ requestId: "prompt" });
const immediate = request({ requestId: "immediate", lane: "immediate" });
const interrupt = request({ requestId: "interrupt", kind: "interrupt", lane: "interrupt" });
const stale = request({ requestId: "stale", epoch: 0 });
const busy: Readiness = { ready: false, code: "not_ready", detail: "turn.phase=active" };

const decide = (
  heads: StoredRequest[],
  given: {
    admission?: RequestAdmission;
    slotRefusal?: string;
    typing?: boolean;
    budget?: boolean;
    boundary?: Readiness;
    composer?: Readiness;
  } = {},
) => {
  const next = decideNext({
    admission: given.admission ?? "open",
    block: given.admission ? { reason: "agent_unavailable", detail: "it has ended" } : null,
    epoch: 1,
    heads,
    slotRefusal: given.slotRefusal ?? null,
    typing: given.typing ?? false,
    budget: given.budget ?? false,
    readiness: (policy) => (policy === "composer" ? given.composer : given.boundary) ?? { ready: true },
  });
  switch (next.do) {
    case "rest":
      return "rest";
    case "wait":
      return `${next.head.requestId} waits: ${next.reason} (${next.detail})`;
    case "expire":
      return `${next.request.requestId} expires`;
    case "run":
      return `${next.request.requestId} runs`;
  }
};

describe("which request takes the slot next", () => {
  test.each([
    { id: "none waits", got: decide([]), want: "rest" },
    {
      id: "none waits and admission is closed",
      got: decide([], { admission: "blocked_unavailable" }),
      want: "rest",
    },
    { id: "the oldest", got: decide([prompt, immediate]), want: "prompt runs" },
    {
      id: "admission is closed",
      got: decide([prompt, interrupt], { admission: "blocked_unavailable" }),
      want: "prompt waits: blocked_unavailable (it has ended)",
    },
    { id: "an earlier instance was asked", got: decide([interrupt, stale]), want: "stale expires" },
    {
      id: "an earlier instance was asked and admission is closed",
      got: decide([stale], { admission: "blocked_reconciliation" }),
      want: "stale waits: blocked_reconciliation (it has ended)",
    },
    {
      id: "the agent is busy",
      got: decide([prompt], { boundary: busy }),
      want: "prompt waits: not_ready (turn.phase=active)",
    },
    {
      id: "a prompt for the composer overtakes one for the turn boundary",
      got: decide([prompt, immediate], { boundary: busy }),
      want: "immediate runs",
    },
    {
      id: "an interrupt overtakes a prompt that waits",
      got: decide([prompt, interrupt], { boundary: busy }),
      want: "interrupt runs",
    },
    {
      id: "a reminder holds the slot",
      got: decide([prompt, immediate], { slotRefusal: delivered }),
      want: `prompt waits: execution_slot (${delivered})`,
    },
    {
      id: "an interrupt does not wait for a reminder",
      got: decide([prompt, interrupt], { slotRefusal: delivered }),
      want: "interrupt runs",
    },
  ])("$id", ({ got, want }) => expect(got).toBe(want));
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
    refusal: executed,
    running: true,
  });
});

test("a budget that was reached stops all but an interrupt, and is the reason to wait", () => {
  const use: SlotUse = { ...free, budget: "its budget was reached" };
  const refusals = (["request", "reminder", "direct_prompt", "interrupt"] as const).map((one) =>
    refuseSlot(one, use),
  );
  expect(refusals).toEqual([use.budget, use.budget, use.budget, null]);
  expect(isSlotRunning(use)).toBe(false);
});
