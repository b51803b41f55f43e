import { describe, expect, test } from "bun:test";
import {
  initialState,
  type LateFilesEvent,
  type LateFilesState,
  next,
} from "../../../src/services/mail/filesystem/delivery/late-files.ts";

const nowMs = 1000;
const due: LateFilesState = { ...initialState, dueAtMs: 1050 };
const closed: LateFilesState = { ...initialState, isClosed: true };
const reported: LateFilesState = { ...initialState, isReported: true };

describe("when files of delivered mail are put on disk", () => {
  const cases: { id: string; from: LateFilesState; event: LateFilesEvent; want: Partial<LateFilesState> }[] =
    [
      {
        id: "soon after a delivery",
        from: initialState,
        event: { kind: "delivered", nowMs },
        want: { dueAtMs: 1100 },
      },
      { id: "not later for the next delivery", from: due, event: { kind: "delivered", nowMs }, want: {} },
      { id: "once", from: due, event: { kind: "settle_began" }, want: { dueAtMs: null } },
      {
        id: "10 s after a failure, which is reported",
        from: initialState,
        event: { kind: "failed", nowMs, isBusy: false },
        want: { dueAtMs: 11_000, isReported: true },
      },
      {
        id: "later than was planned after a failure",
        from: due,
        event: { kind: "failed", nowMs, isBusy: false },
        want: { dueAtMs: 11_000, isReported: true },
      },
      {
        id: "soon while another process writes, which is no failure",
        from: initialState,
        event: { kind: "failed", nowMs, isBusy: true },
        want: { dueAtMs: 1100 },
      },
      {
        id: "a failure stays reported while another process writes",
        from: reported,
        event: { kind: "failed", nowMs, isBusy: true },
        want: { dueAtMs: 1100, isReported: true },
      },
      {
        id: "a failure stays reported while a part waits",
        from: reported,
        event: { kind: "settled", isAll: false },
        want: { isReported: true },
      },
      {
        id: "all on disk ends the report of a failure",
        from: reported,
        event: { kind: "settled", isAll: true },
        want: { isReported: false },
      },
      {
        id: "deliveries are counted until the log is carried over",
        from: { ...initialState, loggedDeliveries: 30 },
        event: { kind: "batch_synced", deliveries: 2 },
        want: { loggedDeliveries: 32 },
      },
      {
        id: "a log that was carried over counts from nothing",
        from: { ...initialState, loggedDeliveries: 32 },
        event: { kind: "log_carried_over" },
        want: { loggedDeliveries: 0 },
      },
      {
        id: "nothing is due once closed",
        from: due,
        event: { kind: "closed" },
        want: { isClosed: true, dueAtMs: null },
      },
      { id: "nor after a delivery then", from: closed, event: { kind: "delivered", nowMs }, want: {} },
      {
        id: "nor after a failure then",
        from: closed,
        event: { kind: "failed", nowMs, isBusy: true },
        want: {},
      },
    ];
  test.each(cases)("$id", ({ from, event, want }) => {
    expect(next(from, event)).toEqual({ ...from, ...want });
  });
});
