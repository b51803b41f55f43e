import { expect, test } from "bun:test";
import { type NewAuditRow, notifierStoreOn } from "../../../src/db/gateway/notifier-store.ts";
import { openGatewayDatabase } from "../../../src/db/gateway/request-store.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** The mail that a wake-up was for, of the audit of the notifier. */

const at = "2026-01-01T00:00:00.000+00:00";
const memory = { lastPollAtUtc: at, lastNotificationAtUtc: null, lastError: null, notified: {} };

const poll = (change: Partial<NewAuditRow> = {}): NewAuditRow => ({
  poll_time_utc: at,
  trigger: "interval",
  outcome: "empty",
  detail: null,
  unread_count: 0,
  unread_digest: null,
  unread_summary: [],
  request_admission: "open",
  active_execution: "idle",
  queue_depth: 0,
  enqueued_request_id: null,
  context_error_policy: "continue_current",
  pre_notification_context_action: "none",
  context_action_outcome: null,
  degraded_tool_name: null,
  degraded_error_type: null,
  rendered_block_entries: [],
  prompt_chars: 0,
  ...change,
});

const wake = (id: string, ref: string) =>
  poll({
    outcome: "enqueued",
    enqueued_request_id: id,
    unread_summary: [{ message_ref: ref, thread_ref: null, created_at_utc: at, subject: "s" }],
  });

test("is that of the poll which enqueued it, among the newest polls", () => {
  const store = notifierStoreOn(
    openGatewayDatabase({ path: ":memory:", clock: createFakeClock(), steps: quietSteps }),
  );
  const refs = (id: string) => store.mailOfWake(id).map(({ message_ref }) => message_ref);
  expect(refs("r-1")).toEqual([]);
  store.recordPoll(wake("r-1", "m1"), memory);
  store.recordPoll(wake("r-2", "m2"), memory);
  for (let polls = 0; polls < 1998; polls++) store.recordPoll(poll(), memory);
  expect([refs("r-1"), refs("r-2"), refs("other")]).toEqual([["m1"], ["m2"], []]);
  store.recordPoll(poll(), memory);
  expect([refs("r-1"), refs("r-2")]).toEqual([[], ["m2"]]);
});
