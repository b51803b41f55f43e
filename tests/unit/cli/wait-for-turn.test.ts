import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { chooseNewest, followAccepted } from "../../../src/cli/agent/agent-turns.ts";
import type { RequestRecord } from "../../../src/protocol/gateway.ts";
import type { TurnStatusRecord } from "../../../src/protocol/turns.ts";

const turn = { turn_id: "turn-1", status: "svc-mgr agents single --agent-name b turn status turn-1" };

test("a turn that was accepted before the disk was full is not reported as lost", async () => {
  const follow = followAccepted(turn, async () => writeFileSync("/dev/full", "x"));
  await expect(follow).rejects.toMatchObject({
    exitCode: 1,
    message: expect.stringMatching(
      /^turn turn-1 is accepted and goes on, .*the disk is full.* See: svc-mgr agents/,
    ),
    json: { error: "storage", turn_id: "turn-1" },
  });
});

test("whatever else goes wrong is reported as it is", async () => {
  const error = new Error("something else");
  await expect(followAccepted(turn, () => Promise.reject(error))).rejects.toBe(error);
  expect(await followAccepted(turn, async () => 7)).toBe(7);
});

describe("the turn of the prompt submitted last", () => {
  const request = (id: string, second: number, more: Partial<RequestRecord> = {}) =>
    ({
      request_id: id,
      request_kind: "submit_prompt",
      state: "completed",
      accepted_at_utc: `2026-01-01T00:00:0${second}.000+00:00`,
      ...more,
    }) as RequestRecord;
  const turn = (id: string, second: number, status: TurnStatusRecord["status"] = "completed") =>
    ({ turn_id: id, status, started_at_utc: `2026-01-01T00:00:0${second}.000+00:00` }) as TurnStatusRecord;
  const notifier = { request_kind: "mail_notifier_prompt" } as const;

  test.each([
    { id: "nothing was asked for", requests: [], turns: [], want: null },
    {
      id: "it waits",
      requests: [
        request("r2", 2, { state: "accepted", turn_id: "two" }),
        request("r1", 1, { turn_id: "one" }),
      ],
      turns: [turn("one", 1)],
      want: { turnId: "two", requestId: "r2" },
    },
    {
      id: "it runs and its id is not known yet",
      requests: [request("r2", 2, { state: "running" })],
      turns: [turn("two", 3, "active"), turn("one", 1)],
      want: { turnId: undefined, requestId: "r2" },
    },
    {
      id: "it has ended",
      requests: [request("r2", 2, { turn_id: "two" }), request("r1", 1, { turn_id: "one" })],
      turns: [turn("two", 3), turn("one", 1)],
      want: { turnId: "two" },
    },
    {
      id: "it failed before it began",
      requests: [request("r2", 2, { state: "failed" }), request("r1", 1, { turn_id: "one" })],
      turns: [turn("one", 1)],
      want: { turnId: undefined, requestId: "r2" },
    },
    {
      id: "a direct prompt came after it",
      requests: [request("r1", 1, { state: "failed" })],
      turns: [turn("direct", 3)],
      want: { turnId: "direct" },
    },
    {
      id: "a turn of the notifier came after it",
      requests: [request("n", 2, { ...notifier, turn_id: "mail" }), request("r1", 1, { turn_id: "one" })],
      turns: [turn("mail", 3), turn("one", 1)],
      want: { turnId: "one" },
    },
    {
      id: "a turn of the notifier runs",
      requests: [request("n", 2, { ...notifier, state: "running" }), request("r1", 1, { turn_id: "one" })],
      turns: [turn("mail", 3, "active"), turn("one", 1)],
      want: { turnId: "one" },
    },
  ])("$id", ({ requests, turns, want }) => {
    expect(chooseNewest(requests, turns)).toEqual(want);
  });
});
