import { describe, expect, test } from "bun:test";
import type { StoredRequest } from "../../../src/db/gateway/request-store.ts";
import { decideWithdrawal } from "../../../src/services/queue/withdrawal.ts";
import { createFakeAgent, notReady } from "../../support/fake-agent.ts";
import { settle } from "../../support/fake-clock.ts";
import { giveTurns } from "../../support/fake-turns.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";

const reviewer = { agent_id: "id-reviewer", agent_name: "reviewer", hops: 1 };

function stored(change: Partial<StoredRequest> = {}): StoredRequest {
  return {
    seq: 1,
    requestId: "gwreq-1",
    kind: "submit_prompt",
    lane: "turn_boundary",
    payload: { prompt: "Run the tests." },
    state: "accepted",
    acceptedAtUtc: "2026-01-01T00:00:00.000+00:00",
    startedAtUtc: null,
    finishedAtUtc: null,
    epoch: 1,
    errorDetail: null,
    result: null,
    evidence: [],
    idempotencyKey: null,
    ...change,
  };
}

const ofReviewer = { payload: { prompt: "x", submitted_by: reviewer } };
const byPerson = { outcome: "withdrawn", withdrawn_by: "person" };
const byReviewer = {
  outcome: "withdrawn",
  withdrawn_by: "agent",
  agent_id: "id-reviewer",
  agent_name: "reviewer",
};

describe("decideWithdrawal", () => {
  test.each<{ id: string; given: Partial<StoredRequest>; by: string | null; want: object }>([
    {
      id: "a person withdraws a prompt of a person",
      given: {},
      by: null,
      want: { do: "withdraw", end: { to: "failed", result: byPerson } },
    },
    {
      id: "a person withdraws a prompt of an agent",
      given: ofReviewer,
      by: null,
      want: { do: "withdraw", end: { errorDetail: "withdrawn by a person before it was typed" } },
    },
    {
      id: "an agent withdraws its own prompt",
      given: ofReviewer,
      by: "id-reviewer",
      want: {
        do: "withdraw",
        end: { errorDetail: 'withdrawn by "reviewer" before it was typed', result: byReviewer },
      },
    },
    {
      id: "a person withdraws a wake-up prompt for mail",
      given: { kind: "mail_notifier_prompt" },
      by: null,
      want: { do: "withdraw" },
    },
    {
      id: "the same agent withdraws it again",
      given: { ...ofReviewer, state: "failed", result: byReviewer },
      by: "id-reviewer",
      want: { do: "nothing" },
    },
    {
      id: "a person withdraws it again",
      given: { state: "failed", result: byPerson },
      by: null,
      want: { do: "nothing" },
    },
  ])("$id", ({ given, by, want }) => {
    expect(decideWithdrawal(stored(given), by)).toMatchObject(want);
  });

  test.each<{ id: string; given: Partial<StoredRequest>; by?: string; want: [reason: string, text: RegExp] }>(
    [
      {
        id: "an agent and a prompt of a person",
        given: {},
        by: "id-reviewer",
        want: ["precondition_failed", /no agent submitted gwreq-1/],
      },
      {
        id: "an agent and a prompt of another agent",
        given: ofReviewer,
        by: "id-other",
        want: ["precondition_failed", /"reviewer" submitted gwreq-1/],
      },
      {
        id: "an agent and an ended prompt of another agent",
        given: { ...ofReviewer, state: "completed" },
        by: "id-other",
        want: ["precondition_failed", /own prompts only/],
      },
      {
        id: "an interrupt",
        given: { kind: "interrupt", payload: {} },
        want: ["conflict", /is an interrupt/],
      },
      { id: "a running prompt", given: { state: "running" }, want: ["conflict", /is being executed/] },
      {
        id: "a delivered prompt",
        given: { state: "completed" },
        want: ["conflict", /was given to the agent already/],
      },
      {
        id: "a coalesced prompt",
        given: { state: "coalesced" },
        want: ["conflict", /another request took its place/],
      },
      {
        id: "a failed prompt",
        given: { state: "failed", errorDetail: "no composer" },
        want: ["conflict", /has ended already: no composer/],
      },
      {
        id: "a person and a prompt that its agent has withdrawn",
        given: { ...ofReviewer, state: "failed", errorDetail: 'withdrawn by "reviewer"', result: byReviewer },
        want: ["conflict", /withdrawn by "reviewer"/],
      },
    ],
  )("refuses $id", ({ given, by = null, want: [reason, text] }) => {
    const decision = decideWithdrawal(stored(given), by);
    expect(decision).toMatchObject({ do: "refuse", error: { reason } });
    expect(decision.do === "refuse" && decision.error.message).toMatch(text);
  });
});

describe("the queue", () => {
  const prompt = (text: string) => ({ kind: "submit_prompt", payload: { prompt: text } }) as const;

  test("never types a withdrawn prompt, and record, status and events show the withdrawal", async () => {
    await using bundle = createGatewayBundle();
    bundle.agent.setReadiness(notReady);
    const { request_id } = await bundle.queue.accept(prompt("secret words"));
    await bundle.queue.accept(prompt("next"));
    await settle();
    expect(bundle.queue.withdraw(request_id, null)).toMatchObject({
      state: "failed",
      started_at_utc: null,
      finished_at_utc: expect.any(String),
      error_detail: "withdrawn by a person before it was typed",
      result_json: byPerson,
    });
    await settle();
    expect(bundle.board.status()).toMatchObject({ queue_depth: 1, waiting: { reason: "not_ready" } });
    expect(bundle.events.at(-1)).toMatchObject({ kind: "failed", request_id, result_json: byPerson });
    expect(JSON.stringify(bundle.events)).not.toContain("secret words");
    bundle.agent.setReadiness({ ready: true });
    await settle();
    expect(bundle.agent.prompts).toEqual(["next"]);
    expect(bundle.queue.depth()).toBe(0);
  });

  test("reports no waiting request after the only prompt was withdrawn", async () => {
    await using bundle = createGatewayBundle();
    bundle.agent.setReadiness(notReady);
    const { request_id } = await bundle.queue.accept(prompt("x"));
    await settle();
    bundle.queue.withdraw(request_id, null);
    await settle();
    expect(bundle.board.status()).toMatchObject({ queue_depth: 0 });
    expect(bundle.board.status().waiting).toBeUndefined();
  });

  test("writes a withdrawal once, and answers it again", async () => {
    const labels: string[] = [];
    await using bundle = createGatewayBundle({ onWrite: (label) => labels.push(label) });
    bundle.agent.setReadiness(notReady);
    const { request_id } = await bundle.queue.accept(prompt("x"));
    const first = bundle.queue.withdraw(request_id, null);
    await bundle.clock.advance(1000);
    expect(bundle.queue.withdraw(request_id, null)).toEqual(first);
    expect(labels.filter((label) => label === "sql:request-withdrawn")).toHaveLength(1);
    expect(bundle.queue.withdraw("gwreq-none", null)).toBeNull();
  });

  test("delivers the next prompt at once when one is withdrawn while the agent is reserved", async () => {
    await using bundle = createGatewayBundle();
    const looking = Promise.withResolvers<void>();
    const { reserve } = bundle.agent;
    const tried: string[] = [];
    bundle.agent.reserve = async (submission) => {
      tried.push(submission.prompt);
      if (tried.length === 1) await looking.promise;
      return reserve(submission);
    };
    const { request_id } = await bundle.queue.accept(prompt("first"));
    await bundle.queue.accept(prompt("second"));
    await settle();
    expect(bundle.queue.withdraw(request_id, null)).toMatchObject({ result_json: byPerson });
    looking.resolve();
    await settle();
    expect(tried).toEqual(["first", "second"]);
    expect(bundle.agent.prompts).toEqual(["second"]);
    expect(bundle.queue.record(request_id)).toMatchObject({ state: "failed", result_json: byPerson });
  });

  test("refuses a prompt whose promotion came first", async () => {
    await using bundle = createGatewayBundle();
    const taken = Promise.withResolvers<{ outcome: "submitted" }>();
    bundle.agent.onSubmit = () => taken.promise;
    const { request_id } = await bundle.queue.accept(prompt("first"));
    await settle();
    expect(() => bundle.queue.withdraw(request_id, null)).toThrow("is being executed");
    taken.resolve({ outcome: "submitted" });
    await settle();
    expect(bundle.queue.record(request_id)).toMatchObject({ state: "completed" });
  });

  test("frees the turn id of a withdrawn prompt", async () => {
    const agent = createFakeAgent();
    giveTurns(agent);
    await using bundle = createGatewayBundle({ agent });
    agent.setReadiness(notReady);
    const request = { kind: "submit_prompt", payload: { prompt: "x", turn_id: "turn-7" } } as const;
    const { request_id } = await bundle.queue.accept(request);
    await expect(bundle.queue.accept(request)).rejects.toMatchObject({ reason: "conflict" });
    bundle.queue.withdraw(request_id, null);
    expect(await bundle.queue.accept(request)).toMatchObject({ state: "accepted" });
  });
});
