import { describe, expect, test } from "bun:test";
import { renderPrompts, stateForPeople } from "../../../src/cli/agent/agent-requests.ts";
import { failedPrompts, isFollowed } from "../../../src/cli/operations/queue.ts";
import type { RequestRecord } from "../../../src/protocol/gateway.ts";

const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, "0")}:00.000+00:00`;

function request(id: string, change: Partial<RequestRecord> = {}): RequestRecord {
  return {
    schema_version: 1,
    request_id: id,
    request_kind: "submit_prompt",
    state: "failed",
    accepted_at_utc: at(1),
    started_at_utc: null,
    finished_at_utc: at(5),
    managed_agent_instance_epoch: 1,
    error_detail: "no composer",
    result_json: null,
    evidence: [],
    ...change,
  };
}

const ids = (requests: readonly RequestRecord[]) => requests.map(({ request_id }) => request_id);

describe("failed prompts", () => {
  test.each<{ id: string; given: RequestRecord[]; want: string[] }>([
    { id: "a failed prompt", given: [request("a")], want: ["a"] },
    {
      id: "one of an unknown outcome",
      given: [request("a", { result_json: { outcome: "unknown" } })],
      want: ["a"],
    },
    {
      id: "none that somebody withdrew or interrupted",
      given: [
        request("a", { result_json: { outcome: "withdrawn" } }),
        request("b", { result_json: { outcome: "interrupted" } }),
      ],
      want: [],
    },
    {
      id: "no interrupt and no wake for mail",
      given: [
        request("a", { request_kind: "interrupt" }),
        request("b", { request_kind: "mail_notifier_prompt" }),
      ],
      want: [],
    },
    { id: "none that waits or ended well", given: [request("a", { state: "completed" })], want: [] },
    {
      id: "none that was submitted again, but the one that failed then",
      given: [request("b", { idempotency_key: "again-a" }), request("a")],
      want: ["b"],
    },
  ])("are $id", ({ given, want }) => {
    expect(ids(failedPrompts(given))).toEqual(want);
  });

  test("are old once somebody gave other work, not by being submitted again themselves", () => {
    const failed = request("a");
    const later = (change: Partial<RequestRecord>) => [
      request("b", { accepted_at_utc: at(9), ...change }),
      failed,
    ];
    expect(isFollowed(failed, later({}))).toBe(true);
    expect(isFollowed(failed, later({ accepted_at_utc: at(2) }))).toBe(false);
    expect(isFollowed(failed, later({ idempotency_key: "again-c" }))).toBe(false);
    expect(isFollowed(failed, later({ request_kind: "mail_notifier_prompt" }))).toBe(false);
  });
});

describe("the list of what waits", () => {
  const waits = (id: string, change: Partial<RequestRecord>) =>
    request(id, { state: "accepted", finished_at_utc: null, error_detail: null, ...change });

  test("has a line each, with as much of the text as there is room for", () => {
    const requests = [
      waits("a", {
        number: 7,
        prompt: "first line\nof a text that is much too long for the terminal of this person",
        waiting: { reason: "not_ready", detail: "turn.phase=active", since_utc: at(2) },
      }),
      waits("b", {
        number: 12,
        prompt: "short\x1b[2J",
        submitted_by: { agent_id: "id", agent_name: "lead", hops: 1 },
        waiting: { reason: "queued", detail: "behind a", since_utc: at(1) },
      }),
      waits("c", { number: 13, request_kind: "mail_notifier_prompt", prompt: "You have mail" }),
      waits("d", { request_kind: "interrupt" }),
      waits("e", { number: 15 }),
    ];
    expect(renderPrompts(requests, { columns: 60, nowMs: Date.parse(at(3)) }).split("\n")).toEqual([
      "NUMBER  FROM      SINCE  NOTE       TEXT",
      "7       a person  2m     not ready  first line of a text th…",
      "12      lead      2m     queued     short\\u001b[2J",
      "13      mail      2m     accepted   You have mail",
      "-       a person  2m     accepted   (an interrupt)",
      "15      a person  2m     accepted   (its text was lost)",
    ]);
  });

  test("says how failed ones ended", () => {
    const failed = [
      request("a", { number: 1, prompt: "x", result_json: { outcome: "unknown" } }),
      request("b", { number: 2, prompt: "y" }),
    ];
    const notes = renderPrompts(failed, { columns: 80, nowMs: Date.parse(at(6)) })
      .split("\n")
      .map((line) => line.split(/ {2,}/)[3]);
    expect(notes).toEqual(["NOTE", "outcome unknown", "failed"]);
  });
});

test("a withdrawn request is called so", () => {
  expect(stateForPeople(request("a", { result_json: { outcome: "withdrawn" } }))).toBe("withdrawn");
});
