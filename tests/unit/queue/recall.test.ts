import { expect, test } from "bun:test";
import type { GatewayEvent } from "../../../src/protocol/events.ts";
import type { RequestState } from "../../../src/protocol/gateway.ts";
import { planRecall } from "../../../src/services/queue/recall.ts";

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
  planRecall(events, (id) => stored[id] ?? null, at);

test("what the database knows as the history does is left alone", () => {
  const events = history(
    accepted("a"),
    executing("a"),
    completed("a"),
    accepted("b"),
    accepted("c"),
    executing("c"),
  );
  expect(plan(events, { a: "completed", b: "accepted", c: "running" })).toEqual({ lost: [], begun: [] });
});

test.each<{ id: string; events: GatewayEvent[]; want: object }>([
  {
    id: "a lost request that was waiting ends as unknown",
    events: history(accepted("a")),
    want: { state: "failed", result: { outcome: "unknown", seen: [] } },
  },
  {
    id: "a lost request that was begun ends as unknown",
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
  const { lost, begun } = plan(events);
  expect(begun).toEqual([]);
  expect(lost).toEqual([
    expect.objectContaining({ requestId: "a", kind: "submit_prompt", epoch: 3, ...want }),
  ]);
});

test.each<{ id: string; events: GatewayEvent[]; want: object }>([
  {
    id: "a request that is accepted anew after it was begun is not done again",
    events: history(accepted("a"), executing("a")),
    want: { from: "accepted", to: "failed", result: { outcome: "unknown", seen: [] } },
  },
  {
    id: "a request that is accepted anew after it was completed is completed",
    events: history(accepted("a"), executing("a"), completed("a")),
    want: { from: "accepted", to: "completed", result: { outcome: "done" } },
  },
])("$id", ({ events, want }) => {
  const { lost, begun } = plan(events, { a: "accepted" });
  expect(lost).toEqual([]);
  expect(begun).toEqual([expect.objectContaining({ requestId: "a", ...want })]);
});

test("events that are of no request, or not of our making, tell nothing", () => {
  const events = history(
    { kind: "instance_changed" },
    { kind: "accepted", request_id: 7, ...kinds },
    { kind: "accepted", request_id: "x" },
    { kind: "coalesced", coalesced_request_ids: "x" },
    { kind: "request_waiting", request_id: "x" },
  );
  expect(plan(events)).toEqual({ lost: [], begun: [] });
});
