import { describe, expect, test } from "bun:test";
import type { StoredRequest } from "../../../src/db/gateway/request-store.ts";
import type { RequestAdmission } from "../../../src/protocol/gateway.ts";
import type { Readiness } from "../../../src/services/agent/agent.ts";
import {
  decideAdmission,
  decideDirectPrompt,
  decideNext,
  isSlotRunning,
  refuseRequest,
  refuseSlot,
  type SlotClaimant,
  type SlotUse,
} from "../../../src/services/queue/eligibility.ts";
import type { ServiceError } from "../../../src/system/errors.ts";

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
const typing = { holder: "ada", since_utc: "2026-01-01T00:00:00Z", until_utc: "2026-01-01T00:01:00Z" };
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

describe("refuseSlot", () => {
  test.each(cases)("%s while %s holds it", (claimant, holder, refusal) => {
    expect(refuseSlot(claimant, { ...free, ...held[holder] })).toBe(refusal);
  });

  test.each<SlotClaimant>(["request", "interrupt", "reminder", "direct_prompt"])(
    "%s while it is free",
    (claimant) => expect(refuseSlot(claimant, free)).toBeNull(),
  );
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
    slot?: Partial<SlotUse>;
    boundary?: Readiness;
    composer?: Readiness;
  } = {},
) => {
  const next = decideNext({
    admission: given.admission ?? "open",
    block: given.admission ? { reason: "agent_unavailable", detail: "it has ended" } : null,
    epoch: 1,
    heads,
    slot: { ...free, ...given.slot },
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

describe("decideNext", () => {
  test.each([
    { id: "no request waits", got: decide([]), want: "rest" },
    {
      id: "no request waits and admission is closed",
      got: decide([], { admission: "blocked_unavailable" }),
      want: "rest",
    },
    { id: "the oldest", got: decide([prompt, immediate]), want: "prompt runs" },
    {
      id: "admission is closed",
      got: decide([prompt, interrupt], { admission: "blocked_unavailable" }),
      want: "prompt waits: blocked_unavailable (it has ended)",
    },
    {
      id: "a request was accepted for an earlier instance",
      got: decide([interrupt, stale]),
      want: "stale expires",
    },
    {
      id: "a request was accepted for an earlier instance and admission is closed",
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
      id: "an interrupt overtakes a waiting prompt",
      got: decide([prompt, interrupt], { boundary: busy }),
      want: "interrupt runs",
    },
    {
      id: "a reminder holds the slot",
      got: decide([prompt, immediate], { slot: held.attempt }),
      want: `prompt waits: execution_slot (${delivered})`,
    },
    {
      id: "an interrupt does not wait for a reminder",
      got: decide([prompt, interrupt], { slot: held.attempt }),
      want: "interrupt runs",
    },
    {
      id: "a person types",
      got: decide([prompt, immediate], { slot: { typing } }),
      want: `prompt waits: typing_lease ("ada" types in the terminal, until ${typing.until_utc} at most without a key)`,
    },
    {
      id: "a budget was reached",
      got: decide([prompt], { slot: { budget: "its budget was reached" } }),
      want: "prompt waits: budget (its budget was reached)",
    },
  ])("$id", ({ got, want }) => expect(got).toBe(want));
});

/** One reason that keeps a prompt from its agent: how the facts show it, and the answer. */
type Reason<Facts> = { id: string; given: Partial<Facts>; want: string };

/** The facts of each reason and of all that come after it, and the answer, which is that of the first. */
function precedence<Facts>(reasons: readonly Reason<Facts>[], free: Facts) {
  return reasons.map(({ id, want }, at) => ({
    id,
    facts: Object.assign(
      {},
      free,
      ...reasons
        .slice(at)
        .toReversed()
        .map(({ given }) => given),
    ) as Facts,
    want,
  }));
}

const connected = { connected: true, detail: "connected", instanceId: "one", eligibility: "ready" } as const;
const exited = { ...connected, connected: false, detail: "the agent has exited" };

describe("the precedence of decideAdmission", () => {
  type Facts = Parameters<typeof decideAdmission>[0];
  const reasons: Reason<Facts>[] = [
    { id: "not connected", given: { connectivity: exited }, want: "agent_unavailable" },
    {
      id: "the disk is full",
      given: { storage: { reason: "disk_full", detail: "no space" } },
      want: "disk_full",
    },
    { id: "a new instance", given: { reconciliationRequired: true }, want: "reconciliation_required" },
    { id: "nothing", given: {}, want: "open" },
  ];
  const free: Facts = { connectivity: connected, storage: null, reconciliationRequired: false };
  test.each(precedence(reasons, free))("$id", ({ facts, want }) => {
    const { state, block } = decideAdmission(facts);
    expect(block?.reason ?? state).toBe(want as never);
  });
});

describe("the precedence of refuseRequest", () => {
  interface Facts {
    chat: { mode: "new" | "exact"; id?: string } | null;
    execution: { model: { name: string } } | null;
    reconciliationRequired: boolean;
    connected: boolean;
    taken: boolean;
    problem: string | null;
  }
  const free: Facts = {
    chat: null,
    execution: null,
    reconciliationRequired: false,
    connected: true,
    taken: false,
    problem: null,
  };
  const answer = (facts: Facts, isHeadless: boolean): ServiceError | null =>
    refuseRequest(
      {
        kind: "submit_prompt",
        payload: {
          prompt: "p",
          ...(facts.chat ? { chat_session: facts.chat } : {}),
          ...(facts.execution ? { execution: facts.execution as never } : {}),
          ...(isHeadless ? { turn_id: "turn-1" } : {}),
        },
      },
      {
        reconciliationRequired: facts.reconciliationRequired,
        connected: facts.connected,
        connectivityDetail: "the agent has exited",
        headless: isHeadless
          ? { isTurnIdUsed: () => facts.taken, executionProblem: () => facts.problem }
          : null,
      },
    );
  const always: Reason<Facts>[] = [
    { id: "an invalid chat session", given: { chat: { mode: "exact" } }, want: "invalid_chat_session" },
    { id: "a new instance", given: { reconciliationRequired: true }, want: "reconcile before new work" },
    { id: "not connected", given: { connected: false }, want: "has exited" },
  ];
  const headless: Reason<Facts>[] = [
    ...always,
    { id: "an execution it cannot run", given: { problem: "no such model" }, want: "invalid_execution" },
    { id: "a turn id that is taken", given: { taken: true }, want: "exists or waits already" },
    { id: "nothing", given: {}, want: "" },
  ];
  const terminal: Reason<Facts>[] = [
    ...always,
    {
      id: "an execution",
      given: { execution: { model: { name: "m" } } },
      want: "runs the model it was started with",
    },
    { id: "a chat session", given: { chat: { mode: "new" } }, want: "are for headless agents" },
    { id: "nothing", given: {}, want: "" },
  ];
  test.each(precedence(headless, free))("of a headless agent: $id", ({ facts, want }) => {
    expect(answer(facts, true)?.message ?? "").toContain(want);
  });
  test.each(precedence(terminal, free))("of a terminal agent: $id", ({ facts, want }) => {
    expect(answer(facts, false)?.message ?? "").toContain(want);
  });
  test("an interrupt is refused only for a new instance and without a connection", () => {
    const refused = (given: { reconciliationRequired?: boolean; connected?: boolean }) =>
      refuseRequest(
        { kind: "interrupt" },
        { reconciliationRequired: false, connected: true, connectivityDetail: "", headless: null, ...given },
      )?.reason ?? null;
    expect([refused({}), refused({ reconciliationRequired: true }), refused({ connected: false })]).toEqual([
      null,
      "blocked_reconciliation",
      "unavailable",
    ]);
  });
});

describe("the precedence of decideDirectPrompt", () => {
  type Facts = Parameters<typeof decideDirectPrompt>[0];
  const free: Facts = {
    request: { prompt: "p" } as Facts["request"],
    policy: "ready_only",
    supported: true,
    reconciliationRequired: false,
    connected: true,
    tracked: true,
    connectivityDetail: "the agent has exited",
    running: false,
    queueDepth: 0,
    headless: null,
  };
  const asking = (more: object) => ({ request: { prompt: "p", ...more } as Facts["request"] });
  const always: Reason<Facts>[] = [
    {
      id: "an invalid chat session",
      given: asking({ chat_session: { mode: "exact" } }),
      want: "invalid_chat_session",
    },
    { id: "a backend without direct prompts", given: { supported: false }, want: "unsupported_backend" },
    { id: "a new instance", given: { reconciliationRequired: true }, want: "blocked_reconciliation" },
    { id: "not connected", given: { connected: false }, want: "unavailable" },
  ];
  const terminal: Reason<Facts>[] = [
    ...always,
    {
      id: "another chat session than a new one",
      given: asking({ chat_session: { mode: "current" } }),
      want: "invalid_chat_session",
    },
    { id: "an execution", given: asking({ execution: { model: { name: "m" } } }), want: "invalid_execution" },
    { id: "the slot is held", given: { running: true }, want: "not_ready" },
    { id: "requests wait", given: { queueDepth: 1 }, want: "not_ready" },
    { id: "an unreadable screen", given: { tracked: false }, want: "tracking_unavailable" },
    { id: "nothing", given: {}, want: "dispatch" },
  ];
  const idle = { activeTurn: null, currentPinned: true, executionProblem: null };
  const headless: Reason<Facts>[] = [
    ...always,
    { id: "another policy", given: { policy: "always" }, want: "invalid_admission_policy" },
    {
      id: "an execution it cannot run",
      given: { headless: { activeTurn: "turn-1", currentPinned: false, executionProblem: "no model" } },
      want: "invalid_execution",
    },
    {
      id: "a turn runs",
      given: { headless: { activeTurn: "turn-1", currentPinned: false, executionProblem: null } },
      want: "not_ready",
    },
    {
      id: "no conversation is pinned",
      given: {
        ...asking({ chat_session: { mode: "current" } }),
        headless: { ...idle, currentPinned: false },
      },
      want: "missing_current_chat_session",
    },
    { id: "nothing", given: {}, want: "dispatch" },
  ];
  const codeOf = (facts: Facts) => {
    const decision = decideDirectPrompt(facts);
    return decision.decision === "refuse" ? decision.code : decision.decision;
  };
  test.each(precedence(terminal, free))("of a terminal agent: $id", ({ facts, want }) => {
    expect(codeOf(facts)).toBe(want as never);
  });
  test.each(precedence(headless, { ...free, headless: idle }))(
    "of a headless agent: $id",
    ({ facts, want }) => {
      expect(codeOf(facts)).toBe(want as never);
    },
  );
  test.each(["if_no_pending", "always"] as const)(
    "%s asks neither for a free slot nor an empty queue",
    (policy) => {
      expect(codeOf({ ...free, policy, running: true, queueDepth: 3 })).toBe("dispatch");
    },
  );
});

test("a reached budget stops everything except an interrupt, and is the reason for waiting", () => {
  const use: SlotUse = { ...free, budget: "its budget was reached" };
  const refusals = (["request", "reminder", "direct_prompt", "interrupt"] as const).map((one) =>
    refuseSlot(one, use),
  );
  expect(refusals).toEqual([use.budget, use.budget, use.budget, null]);
});

test.each([
  [held.request, true],
  [held.attempt, false],
  [held.delivery, true],
  [held.maintenance, true],
  [held.turn, true],
  [{ budget: "its budget was reached" }, false],
])("the status calls the slot running under %j: %p", (use: Partial<SlotUse>, running) => {
  expect(isSlotRunning({ ...free, ...use })).toBe(running);
});
