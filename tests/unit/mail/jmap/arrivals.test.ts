import { describe, expect, test } from "bun:test";
import {
  type ArrivalsEvent,
  type ArrivalsState,
  initialState,
  next,
  retryAfterMs,
} from "../../../../src/services/mail/jmap/changes.ts";

const begun: ArrivalsState = { ...initialState, isBegun: true, mailState: "7" };
const failing: ArrivalsState = { ...begun, mailState: null, failures: 2, reported: "nothing listens" };

describe("what is known of a server's mail", () => {
  const cases: { id: string; from: ArrivalsState; event: ArrivalsEvent; want: Partial<ArrivalsState> }[] = [
    {
      id: "the first look comes later",
      from: initialState,
      event: { kind: "began" },
      want: { isBegun: true },
    },
    { id: "an answer", from: begun, event: { kind: "asked", mailState: "8" }, want: { mailState: "8" } },
    {
      id: "an answer that has not all changes",
      from: begun,
      event: { kind: "asked", mailState: null },
      want: { mailState: null },
    },
    {
      id: "a server without a stream is asked for one after 5 min",
      from: begun,
      event: { kind: "stream_absent", nowMs: 1000 },
      want: { noStreamUntilMs: 301_000 },
    },
    {
      id: "a failure forgets the server's state",
      from: begun,
      event: { kind: "failed", why: "nothing listens" },
      want: { mailState: null, failures: 1, reported: "nothing listens" },
    },
    {
      id: "a look without a failure ends the failures",
      from: failing,
      event: { kind: "looked" },
      want: { failures: 0, reported: null },
    },
  ];
  test.each(cases)("$id", ({ from, event, want }) => {
    expect(next(from, event)).toEqual({ ...from, ...want });
  });

  test.each([
    { failures: 1, want: 1000 },
    { failures: 2, want: 2000 },
    { failures: 6, want: 32_000 },
    { failures: 7, want: 60_000 },
    { failures: 1000, want: 60_000 },
  ])("it is asked again $want ms after the failure $failures", ({ failures, want }) => {
    expect(retryAfterMs({ failures })).toBe(want);
  });
});
