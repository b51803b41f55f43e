import { describe, expect, test } from "bun:test";
import { openGatewayDatabase, requestStoreOn } from "../../../src/db/gateway/request-store.ts";
import type { EventKind, GatewayEvent } from "../../../src/protocol/events.ts";
import type { RequestState } from "../../../src/protocol/gateway.ts";
import { createEventLog } from "../../../src/services/diagnostics/event-log.ts";
import { planRecovery, recoverFromEventLog } from "../../../src/services/queue/recovery.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";

const at = { epoch: 3, nowUtc: "2026-01-01T01:00:00.000+00:00" };
const kinds = { request_kind: "submit_prompt" };

function history(...events: Record<string, unknown>[]): GatewayEvent[] {
  return events.map(
    (event, index) => ({ seq: index + 1, at_utc: `t${index + 1}`, ...event }) as GatewayEvent,
  );
}
const accepted = (id: string) => ({ kind: "accepted", request_id: id, ...kinds, accepted_at_utc: "t" });
const executing = (id: string) => ({ kind: "executing", request_id: id, ...kinds });
const completed = (id: string) => ({
  kind: "completed",
  request_id: id,
  ...kinds,
  result_json: { outcome: "done" },
});
const plan = (events: GatewayEvent[], stored: Record<string, RequestState> = {}) =>
  planRecovery(events, (id) => stored[id] ?? null, at);

test("requests with the same state in the database and in the log are unchanged", () => {
  const events = history(
    accepted("a"),
    executing("a"),
    completed("a"),
    accepted("b"),
    accepted("c"),
    executing("c"),
  );
  expect(plan(events, { a: "completed", b: "accepted", c: "running" })).toEqual({ lost: [], setBack: [] });
});

test.each<{ id: string; events: GatewayEvent[]; want: object }>([
  {
    id: "a lost request that waited ends as unknown",
    events: history(accepted("a")),
    want: { state: "failed", result: { outcome: "unknown", seen: [] } },
  },
  {
    id: "a lost request that had started ends as unknown",
    events: history(accepted("a"), executing("a")),
    want: { state: "failed", result: { outcome: "unknown", seen: [] } },
  },
  {
    id: "a lost request that was completed is completed",
    events: history(accepted("a"), executing("a"), completed("a")),
    want: { state: "completed", result: { outcome: "done" } },
  },
  {
    id: "a lost request that failed keeps its reason",
    events: history(accepted("a"), { kind: "failed", request_id: "a", ...kinds, error_detail: "no" }),
    want: { state: "failed", errorDetail: "no" },
  },
  {
    id: "a lost request that was coalesced is coalesced",
    events: history(accepted("a"), { kind: "coalesced", coalesced_request_ids: ["a"] }),
    want: { state: "coalesced" },
  },
])("$id", ({ events, want }) => {
  const { lost, setBack } = plan(events);
  expect(setBack).toEqual([]);
  expect(lost).toEqual([
    expect.objectContaining({ requestId: "a", kind: "submit_prompt", epoch: 3, ...want }),
  ]);
});

test.each<{ id: string; events: GatewayEvent[]; want: object }>([
  {
    id: "a started request that the database set back to accepted is not executed again",
    events: history(accepted("a"), executing("a")),
    want: { from: "accepted", to: "failed", result: { outcome: "unknown", seen: [] } },
  },
  {
    id: "a completed request that the database set back to accepted is completed",
    events: history(accepted("a"), executing("a"), completed("a")),
    want: { from: "accepted", to: "completed", result: { outcome: "done" } },
  },
])("$id", ({ events, want }) => {
  const { lost, setBack } = plan(events, { a: "accepted" });
  expect(lost).toEqual([]);
  expect(setBack).toEqual([expect.objectContaining({ requestId: "a", ...want })]);
});

test("a completed request that the database set back to running is completed", () => {
  const events = history(accepted("a"), executing("a"), completed("a"));
  expect(plan(events, { a: "running" }).setBack).toEqual([
    expect.objectContaining({
      requestId: "a",
      from: "running",
      to: "completed",
      result: { outcome: "done" },
    }),
  ]);
});

test("events without a request, and malformed events, are ignored", () => {
  const events = history(
    { kind: "instance_changed" },
    { kind: "accepted", request_id: 7, ...kinds },
    { kind: "accepted", request_id: "x" },
    { kind: "coalesced", coalesced_request_ids: "x" },
    { kind: "request_waiting", request_id: "x" },
  );
  expect(plan(events)).toEqual({ lost: [], setBack: [] });
});

describe("at the start of a queue", () => {
  /** `had`: what the file holds; `told`: how many events of no request follow the last of one. */
  async function startAfter(
    told: Record<string, unknown>[],
    { others, had = [] }: { others: number; had?: string[] },
  ) {
    const clock = createFakeClock();
    using scratch = createScratch();
    const path = scratch.path("events.jsonl");
    const events = createEventLog({ files: scratch.files, clock, path, onError: () => {} });
    for (const { kind, ...fields } of told) events.append(kind as EventKind, fields);
    for (let nth = 0; nth < others; nth++) events.append("control_input", { sequence: "y" });
    events.flush();
    const store = requestStoreOn(openGatewayDatabase({ path: ":memory:", clock, steps: quietSteps }));
    const row = { kind: "submit_prompt", lane: "turn_boundary", payload: {} } as const;
    for (const requestId of had)
      await store.insertAccepted({ ...row, requestId, acceptedAtUtc: "t", epoch: 1 });
    recoverFromEventLog({ events, store, clock, log: { line: () => {} } });
    events.flush();
    const states = Object.fromEntries(
      store.list({ limit: 10 }).map((one) => [one.requestId, one.state] as const),
    );
    const recalled = [...events.storedWith("requests_recalled")].map(
      ({ request_ids }: Record<string, unknown>) => request_ids,
    );
    store.close();
    return { states, recalled };
  }

  test.each([0, 199, 200, 5000])(
    "a lost queue is noticed although %i later events name no request",
    async (others) => {
      const told = [accepted("a"), executing("a"), completed("a"), accepted("b")];
      expect(await startAfter(told, { others })).toEqual({
        states: { a: "completed", b: "failed" },
        recalled: [["a", "b"]],
      });
    },
  );

  test("an older copy of the file is noticed although many later events name no request", async () => {
    const told = [accepted("a"), accepted("b"), executing("a"), completed("a")];
    expect(await startAfter(told, { others: 5000, had: ["a"] })).toEqual({
      states: { a: "completed", b: "failed" },
      recalled: [["b", "a"]],
    });
  });

  test("an intact queue and a queue that never had a request are unchanged", async () => {
    expect(await startAfter([accepted("a")], { others: 5000, had: ["a"] })).toEqual({
      states: { a: "accepted" },
      recalled: [],
    });
    expect(await startAfter([], { others: 300 })).toEqual({ states: {}, recalled: [] });
  });
});
