import { describe, expect, test } from "bun:test";
import { parseMoment, parseSize, parseSpan } from "../../../src/cli/extensions/observe/moment.ts";
import { toTimestamp } from "../../../src/system/clock.ts";

const now = new Date(2026, 10, 25, 9, 30, 15).getTime();
const local = (day: number, hour: number, minute: number, second = 0) =>
  new Date(2026, 10, day, hour, minute, second).getTime();

describe("a moment", () => {
  test.each([
    { text: "now", want: now },
    { text: "10m ago", want: now - 600_000 },
    { text: "90s", want: now - 90_000 },
    { text: "1.5h ago", want: now - 5_400_000 },
    { text: "2d ago", want: now - 172_800_000 },
    { text: "03:12", want: local(25, 3, 12) },
    { text: "3:12:40", want: local(25, 3, 12, 40) },
    { text: "09:30", want: local(25, 9, 30) },
    { text: "09:31", want: local(24, 9, 31) },
    { text: "23:59", want: local(24, 23, 59) },
    { text: "2026-11-24T03:12:00Z", want: Date.UTC(2026, 10, 24, 3, 12) },
    { text: "2026-11-24T03:12:00.250+00:00", want: Date.UTC(2026, 10, 24, 3, 12, 0, 250) },
    { text: "2026-11-24 03:12", want: local(24, 3, 12) },
    { text: "2028-02-29T00:00:00Z", want: Date.UTC(2028, 1, 29) },
  ])("$text", ({ text, want }) => {
    expect(parseMoment("at", text, now)).toBe(want);
  });

  test.each([
    "",
    "24:00",
    "03:60",
    "yesterday",
    "10",
    "10 m o",
    "2026-13-40",
    "-5m",
    "2026-02-30T03:12:00Z",
    "2026-02-29",
    "2026-00-01",
  ])("none: %p", (text) => {
    expect(() => parseMoment("at", text, now)).toThrow("--at must be a time");
  });
});

describe("a clock time near a clock change", () => {
  const berlin = "Europe/Berlin";
  const newYork = "America/New_York";
  test.each([
    {
      id: "after a day of 23 hours",
      zone: berlin,
      now: "2026-03-29T22:10Z",
      text: "23:50",
      want: "2026-03-29T21:50Z",
    },
    {
      id: "after a day of 25 hours",
      zone: berlin,
      now: "2026-10-25T23:10Z",
      text: "23:50",
      want: "2026-10-25T22:50Z",
    },
    {
      id: "left out today",
      zone: berlin,
      now: "2026-03-29T08:00Z",
      text: "02:30",
      want: "2026-03-28T01:30Z",
    },
    {
      id: "left out, before today",
      zone: berlin,
      now: "2026-03-29T23:00Z",
      text: "02:30",
      want: "2026-03-28T01:30Z",
    },
    {
      id: "shown once so far",
      zone: berlin,
      now: "2026-10-25T00:45Z",
      text: "02:30",
      want: "2026-10-25T00:30Z",
    },
    { id: "shown twice", zone: berlin, now: "2026-10-25T09:00Z", text: "02:30", want: "2026-10-25T01:30Z" },
    {
      id: "shown twice, in the west",
      zone: newYork,
      now: "2026-11-01T06:45Z",
      text: "01:30",
      want: "2026-11-01T06:30Z",
    },
    {
      id: "shown once, in the west",
      zone: newYork,
      now: "2026-11-01T05:45Z",
      text: "01:30:05",
      want: "2026-11-01T05:30:05Z",
    },
    {
      id: "half an hour back",
      zone: "Australia/Lord_Howe",
      now: "2026-04-04T15:20Z",
      text: "01:45",
      want: "2026-04-04T15:15Z",
    },
  ])("$id", ({ zone, now: at, text, want }) => {
    expect(toTimestamp(parseMoment("at", text, Date.parse(at), zone))).toBe(toTimestamp(Date.parse(want)));
  });
});

test("spans and sizes", () => {
  expect([parseSpan("max-age", "90s"), parseSpan("max-age", "7d"), parseSpan("max-age", undefined)]).toEqual([
    90,
    604_800,
    undefined,
  ]);
  expect([
    parseSize("max-size", "64M"),
    parseSize("max-size", "2GiB"),
    parseSize("max-size", undefined),
  ]).toEqual([64 * 2 ** 20, 2 ** 31, undefined]);
  for (const text of ["", "7", "d", "1.5d"])
    expect(() => parseSpan("max-age", text)).toThrow("--max-age must be");
  for (const text of ["", "64", "M", "-1M"])
    expect(() => parseSize("max-size", text)).toThrow("--max-size must be");
});
