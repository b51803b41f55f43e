import { describe, expect, test } from "bun:test";
import type { StoredRequest } from "../../../../../src/db/gateway/request-store.ts";
import {
  toRequestSpans,
  toTurnSpan,
  traceIdOf,
} from "../../../../../src/services/extensions/observe/traces/request-trace.ts";
import { toTimestamp } from "../../../../../src/system/clock.ts";

/** What a request's record becomes as a trace. */

const at = (seconds: number) => toTimestamp(Date.UTC(2026, 0, 1) + seconds * 1000);
const second = (ms: number) => (ms - Date.UTC(2026, 0, 1)) / 1000;
const none = { waits: [], mail: [] };

const evidence = (...steps: [StoredRequest["evidence"][number]["step"], number][]) =>
  steps.map(([step, seconds]) => ({ step, at_utc: at(seconds), proof: "the screen shows hunter2" }));

const completed: StoredRequest = {
  seq: 1,
  requestId: "gwreq-1",
  kind: "submit_prompt",
  lane: "turn_boundary",
  state: "completed",
  payload: { prompt: "hunter2", submitted_by: { agent_id: "a2", agent_name: "other" } },
  acceptedAtUtc: at(0),
  startedAtUtc: at(2),
  finishedAtUtc: at(4),
  epoch: 3,
  errorDetail: null,
  result: { request_kind: "submit_prompt" },
  idempotencyKey: null,
  evidence: evidence(["typed", 3], ["submitted", 4], ["turn_started", 5], ["turn_ended", 9]),
};

const outline = (request: StoredRequest, about = none) =>
  Object.fromEntries(
    toRequestSpans(request, about).map(({ name, startMs, endMs }) => [
      name,
      [second(startMs), second(endMs)],
    ]),
  );

test("a prompt on a terminal: each step with its recorded times", () => {
  expect(outline(completed)).toEqual({ request: [0, 4], queue: [0, 2], deliver: [2, 4], turn: [5, 9] });
  const [root, , deliver] = toRequestSpans(completed, none);
  expect(root?.attributes).toEqual({
    "svc.request.id": "gwreq-1",
    "svc.request.kind": "submit_prompt",
    "svc.request.state": "completed",
    "svc.request.lane": "turn_boundary",
    "svc.instance.epoch": 3,
    "svc.submitter.agent_id": "a2",
  });
  expect(deliver?.events.map(({ name, atMs }) => [name, second(atMs)])).toEqual([
    ["typed", 3],
    ["submitted", 4],
  ]);
});

test("all are one trace below one span, and have the same ids each time", () => {
  const spans = toRequestSpans(completed, none);
  const [root, ...others] = spans;
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([traceIdOf("gwreq-1")]));
  expect(traceIdOf("gwreq-1")).toBe("86b36097f299a96d90a641c19f0d868d");
  expect(root?.parentSpanId).toBeNull();
  for (const { parentSpanId } of others) expect(parentSpanId).toBe(root?.spanId ?? "");
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  expect(toRequestSpans(completed, none)).toEqual(spans);
});

test("nothing that a person, an agent or a screen said is in a span", () => {
  const failed: StoredRequest = {
    ...completed,
    state: "failed",
    errorDetail: "hunter2",
    result: { outcome: "unknown", seen: ["hunter2"] },
  };
  const mail = [
    { message_ref: "filesystem:m1", thread_ref: "filesystem:t1", created_at_utc: at(-9), subject: "hunter2" },
  ];
  for (const request of [completed, failed]) {
    expect(JSON.stringify(toRequestSpans(request, { waits: [], mail }))).not.toContain("hunter2");
  }
});

describe("how far it got", () => {
  const early = { evidence: [], result: null } satisfies Partial<StoredRequest>;
  test.each<{
    id: string;
    request: Partial<StoredRequest>;
    spans: Record<string, number[]>;
    error: string | null;
  }>([
    {
      id: "failed before it began",
      request: { ...early, state: "failed", startedAtUtc: null },
      spans: { request: [0, 4], queue: [0, 4] },
      error: "failed",
    },
    {
      id: "failed before it was typed",
      request: { ...early, state: "failed" },
      spans: { request: [0, 4], queue: [0, 2], deliver: [2, 4] },
      error: "failed",
    },
    {
      id: "its outcome is not known",
      request: { state: "failed", result: { outcome: "unknown" }, evidence: evidence(["typed", 3]) },
      spans: { request: [0, 4], queue: [0, 2], deliver: [2, 4] },
      error: "unknown",
    },
    {
      id: "superseded",
      request: {
        ...early,
        state: "coalesced",
        startedAtUtc: null,
        result: { coalesced_into_request_id: "b" },
      },
      spans: { request: [0, 4], queue: [0, 4] },
      error: null,
    },
    {
      id: "a headless turn that was interrupted",
      request: { state: "failed", finishedAtUtc: at(9), result: { outcome: "interrupted", turn_id: "t" } },
      spans: { request: [0, 9], queue: [0, 2], deliver: [2, 4], turn: [5, 9] },
      error: "interrupted",
    },
    {
      id: "the clock was set back",
      request: { ...early, startedAtUtc: at(-5), finishedAtUtc: at(-4) },
      spans: { request: [0, 0], queue: [0, 0], deliver: [-5, -4] },
      error: null,
    },
    { id: "not at its end", request: { finishedAtUtc: null, state: "running" }, spans: {}, error: null },
  ])("$id", ({ request, spans, error }) => {
    const row = { ...completed, ...request };
    expect(outline(row)).toEqual(spans);
    expect(toRequestSpans(row, none)[0]?.error ?? null).toBe(error);
  });
});

test("a turn that has not ended is no span", () => {
  expect(toTurnSpan({ ...completed, evidence: evidence(["submitted", 4], ["turn_started", 5]) })).toBeNull();
});

test("a turn without a seen beginning begins when it was submitted", () => {
  const span = toTurnSpan({ ...completed, evidence: evidence(["submitted", 4], ["turn_ended", 9]) });
  expect([second(span?.startMs ?? 0), second(span?.endMs ?? 0)]).toEqual([4, 9]);
});

test("the mail of a wake-up is in its trace from when it was sent, and the request links to it", () => {
  const mail = Array.from({ length: 20 }, (_, index) => ({
    message_ref: `filesystem:m${index}`,
    thread_ref: null,
    created_at_utc: at(index - 100),
  }));
  const wake: StoredRequest = { ...completed, kind: "mail_notifier_prompt" };
  const spans = toRequestSpans(wake, { waits: [], mail });
  const [root] = spans;
  const messages = spans.filter(({ name }) => name === "mail");
  expect(messages).toHaveLength(16);
  expect([second(messages[0]?.startMs ?? 0), second(messages[0]?.endMs ?? 0)]).toEqual([-100, 0]);
  expect(messages[0]?.attributes["messaging.message.id"]).toBe("filesystem:m0");
  expect(root?.links).toEqual(messages.map(({ spanId }) => spanId));
  expect([root?.kind, root?.attributes["svc.mail.count"]]).toEqual(["consumer", 20]);
});
