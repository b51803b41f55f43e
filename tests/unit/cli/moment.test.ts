import { describe, expect, test } from "bun:test";
import { parseMoment, parseSize, parseSpan } from "../../../src/cli/moment.ts";

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
    ...["", "24:00", "03:60", "yesterday", "10", "10 m o", "2026-13-40", "-5m"],
    ...["2026-02-30T03:12:00Z", "2026-02-29", "2026-00-01"],
  ])("none: %p", (text) => {
    expect(() => parseMoment("at", text, now)).toThrow("--at must be a time");
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
