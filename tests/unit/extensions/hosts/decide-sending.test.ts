import { expect, test } from "bun:test";
import { decideSending } from "../../../../src/services/extensions/hosts/mail-carrier.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const facts: Parameters<typeof decideSending>[0] = {
  nowMs: 100 * dayMs,
  monotonicMs: dayMs,
  acceptedMs: 100 * dayMs,
  sentMs: undefined,
  triedMs: undefined,
  isBehind: false,
};
const agoMs = (ms: number) => facts.monotonicMs - ms;
const old = { acceptedMs: facts.nowMs - 3 * dayMs - 1 };

test.each([
  { id: "a new message is sent", change: {}, want: "send" },
  { id: "one on the way waits for its receipt", change: { sentMs: agoMs(10 * minuteMs - 1) }, want: "wait" },
  { id: "after ten minutes it is sent again", change: { sentMs: agoMs(10 * minuteMs) }, want: "send" },
  { id: "one behind an unconfirmed message waits", change: { isBehind: true }, want: "wait" },
  {
    id: "one of three days is given up after ten minutes of trying",
    change: { ...old, triedMs: agoMs(10 * minuteMs), isBehind: true },
    want: "give_up",
  },
  {
    id: "not by a process that has just begun to try: the host may have been off for days",
    change: { ...old, triedMs: agoMs(10 * minuteMs - 1) },
    want: "send",
  },
  { id: "nor by one that has not tried", change: old, want: "send" },
  {
    id: "not before three days are over",
    change: { acceptedMs: facts.nowMs - 3 * dayMs, triedMs: agoMs(dayMs), sentMs: agoMs(0) },
    want: "wait",
  },
  {
    id: "one without a time that can be read is not given up",
    change: { acceptedMs: null, triedMs: agoMs(dayMs) },
    want: "send",
  },
] satisfies { id: string; change: Partial<typeof facts>; want: ReturnType<typeof decideSending> }[])(
  "$id",
  ({ change, want }) => {
    expect(decideSending({ ...facts, ...change })).toBe(want);
  },
);
