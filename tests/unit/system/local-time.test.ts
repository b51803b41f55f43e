import { expect, test } from "bun:test";
import { localDateTime, localTime } from "../../../src/system/time-zone.ts";

const nowMs = Date.parse("2026-11-29T22:30:00Z");

test.each([
  { at: "2026-11-29T15:00:12+00:00", zone: "Europe/Berlin", want: "16:00" },
  { at: "2026-11-29T22:59:00Z", zone: "Europe/Berlin", want: "23:59" },
  { at: "2026-11-29T23:05:00Z", zone: "Europe/Berlin", want: "2026-11-30 00:05" },
  { at: "2026-11-29T23:05:00Z", zone: "America/New_York", want: "18:05" },
  { at: "2026-01-02T03:04:00Z", zone: "UTC", want: "2026-01-02 03:04" },
  { at: "soon", zone: "UTC", want: "soon" },
])("$at in $zone is $want", ({ at, zone, want }) => {
  expect(localTime(at, nowMs, zone)).toBe(want);
});

test.each([
  { at: "2026-11-29T23:05:12.250+00:00", zone: "Europe/Berlin", want: "2026-11-30 00:05:12" },
  { at: "2026-01-02T03:04:05Z", zone: "UTC", want: "2026-01-02 03:04:05" },
  { at: "", zone: "UTC", want: "" },
])("$at in $zone is $want in full", ({ at, zone, want }) => {
  expect(localDateTime(at, zone)).toBe(want);
});
