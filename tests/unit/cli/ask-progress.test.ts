import { expect, test } from "bun:test";
import { describeProgress } from "../../../src/cli/agent/agent-requests.ts";
import type { RequestRecord } from "../../../src/protocol/gateway.ts";

const nowMs = Date.parse("2026-11-29T12:00:00Z");
const idle = { parked: null, isAsking: false };
const record = (state: string, reason?: string, detail = "") =>
  ({
    state,
    ...(reason === undefined ? {} : { waiting: { reason, detail, since_utc: "2026-11-29T11:00:00+00:00" } }),
  }) as unknown as RequestRecord;

test.each([
  { id: "before it was read", given: null, seen: idle, want: "waits" },
  { id: "a turn", given: record("completed"), seen: idle, want: "works" },
  { id: "as it is typed", given: record("running"), seen: idle, want: "works" },
  {
    id: "a busy agent",
    given: record("accepted", "not_ready", "turn=active"),
    seen: idle,
    want: "waits: it is busy",
  },
  {
    id: "a budget, in its own words",
    given: record("accepted", "budget", "2M tokens a day are used"),
    seen: idle,
    want: "waits: 2M tokens a day are used",
  },
  {
    id: "behind others",
    given: record("accepted"),
    seen: idle,
    want: "waits: other work comes first",
  },
  {
    id: "a question",
    given: record("completed"),
    seen: { ...idle, isAsking: true },
    want: "waits: it asks a question",
  },
  {
    id: "a usage limit without a time",
    given: record("accepted", "not_ready"),
    seen: { ...idle, parked: { notice: "limit reached", until: null } },
    want: "waits: usage limit",
  },
])("what a prompt comes to: $id", ({ given, seen, want }) => {
  expect(describeProgress(given, seen, nowMs)).toBe(want);
});

test("a usage limit says until when on the clock of this host", () => {
  const parked = { notice: "limit reached", until: "2026-11-29T12:30:00+00:00" };
  expect(describeProgress(null, { ...idle, parked }, nowMs)).toMatch(
    /^waits: usage limit until .*\d\d:\d\d$/,
  );
});
