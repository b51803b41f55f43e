import { expect, test } from "bun:test";
import type { RegistryRecord } from "../../../src/protocol/files.ts";
import type { GatewayStatus } from "../../../src/protocol/gateway.ts";
import type { AwaitingDecision } from "../../../src/protocol/terminal.ts";
import { toAttentionFacts } from "../../../src/services/fleet/attention-facts.ts";

const seenMs = Date.UTC(2026, 10, 21, 12);
const asked: AwaitingDecision = {
  kind: "approval_dialog",
  question: "action required",
  options: [],
  since_utc: "2026-11-21T12:00:00.000+00:00",
};
const whole: AwaitingDecision = { ...asked, options: [{ index: 1, text: "Yes", selected: true }] };
const record = {
  ...{ agent_id: "id-worker", agent_name: "worker", generation_id: "life-1" },
  lifecycle: { state: "active", relaunchable: true },
  terminal: { current_session_name: "SVC-worker-1" },
} as RegistryRecord;

function decisionAt(ageMs: number, decision: AwaitingDecision): AwaitingDecision | null {
  const status = { awaiting_decision: decision, queue_depth: 0 } as GatewayStatus;
  return toAttentionFacts({
    ...{ record, status, trackedId: "id-worker", session: "alive", terminal: null },
    ...{ gateway: { state: "live", why: "" }, programPresent: true, requests: [], nowMs: seenMs + ageMs },
  }).decision;
}

test("a question waits for a person once its dialog can have been drawn", () => {
  const cut: AwaitingDecision = { ...whole, unread: "its options could not be read" };
  for (const unread of [asked, cut]) {
    expect([0, 999].map((ms) => decisionAt(ms, unread))).toEqual([null, null]);
    expect(decisionAt(1000, unread)).toEqual(unread);
  }
  expect(decisionAt(0, whole)).toEqual(whole);
  const { since_utc: _, ...ageless } = asked;
  expect(decisionAt(0, ageless)).toEqual(ageless);
});
