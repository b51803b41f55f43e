import { expect, test } from "bun:test";
import { stateForPeople } from "../../../src/cli/agent/agent-requests.ts";
import type { RequestRecord } from "../../../src/protocol/gateway.ts";

const steps = (...proofs: [string, string][]) =>
  proofs.map(([step, proof]) => ({ step, proof, at_utc: "2026-11-23T00:00:00.000+00:00" }));
const typed: [string, string] = ["typed", "pasted"];
const started: [string, string] = ["turn_started", "the screen shows work: interruptible"];

test.each([
  { id: "one that waits", state: "accepted", evidence: [], want: "accepted" },
  { id: "one that failed", state: "failed", evidence: steps(typed), want: "failed" },
  {
    id: "one whose headless turn failed",
    state: "failed",
    evidence: steps(typed),
    result_json: { outcome: "failed" },
    want: "failed",
  },
  {
    id: "one whose headless turn was interrupted",
    state: "failed",
    evidence: steps(typed),
    result_json: { outcome: "interrupted" },
    want: "interrupted",
  },
  { id: "one that was taken", state: "completed", evidence: steps(typed), want: "delivered" },
  {
    id: "one whose turn runs",
    state: "completed",
    evidence: steps(typed, started),
    want: "delivered, its turn runs",
  },
  {
    id: "one whose turn ended",
    state: "completed",
    evidence: steps(typed, started, ["turn_ended", "ready again: success"]),
    want: "ended",
  },
  {
    id: "one whose turn was interrupted",
    state: "completed",
    evidence: steps(typed, started, ["turn_ended", "ready again: interrupted"]),
    want: "interrupted",
  },
])("$id is shown as $want", ({ want, ...facts }) => {
  const record = { result_json: null, ...facts, request_kind: "submit_prompt" } as unknown as RequestRecord;
  expect(stateForPeople(record)).toBe(want);
});

test("a wake for mail has a turn too", () => {
  const evidence = steps(typed, started);
  const record = {
    state: "completed",
    evidence,
    request_kind: "mail_notifier_prompt",
  } as unknown as RequestRecord;
  expect(stateForPeople(record)).toBe("delivered, its turn runs");
});

test("an interrupt has no turn", () => {
  const record = { state: "completed", evidence: [], request_kind: "interrupt" } as unknown as RequestRecord;
  expect(stateForPeople(record)).toBe("completed");
});
