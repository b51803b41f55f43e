import { describe, expect, test } from "bun:test";
import { parseResetTime, type ResetFacts } from "../../../src/services/terminal/detect/usage-limit.ts";

const hour = 3_600_000;
/** Saturday, 14:10 in UTC, 15:10 in Berlin, 09:10 in New York. */
const now = Date.UTC(2026, 10, 21, 14, 10);

function read(text: string, facts: Partial<ResetFacts> = {}): string | null {
  const at = parseResetTime({ text, nowMs: now, zone: "UTC", backMs: 10 * 60_000, ...facts });
  return at === null ? null : new Date(at).toISOString().slice(0, 16);
}

describe("the time a tool shows for the end of a usage limit", () => {
  test.each([
    { id: "the next full hour", text: "3pm", want: "2026-11-21T15:00" },
    { id: "hour and minute", text: "8:30pm", want: "2026-11-21T20:30" },
    { id: "a clock of 24 hours", text: "at 14:30", want: "2026-11-21T14:30" },
    { id: "a time of the day that is over is tomorrow's", text: "1:30am", want: "2026-11-22T01:30" },
    { id: "midnight", text: "12am", want: "2026-11-22T00:00" },
    { id: "noon", text: "12:00 PM", want: "2026-11-22T12:00" },
    { id: "a minute that has just begun is not tomorrow's", text: "2:05pm", want: "2026-11-21T14:05" },
    { id: "what follows the time is not read", text: "3pm /upgrade to get more", want: "2026-11-21T15:00" },
    { id: "a zone by name", text: "4pm (Europe/Berlin)", want: "2026-11-21T15:00" },
    { id: "the day is that of the zone", text: "1:30am (Asia/Dhaka)", want: "2026-11-21T19:30" },
    { id: "a zone of three parts", text: "3pm (America/Argentina/Buenos_Aires)", want: "2026-11-21T18:00" },
    { id: "UTC in brackets", text: "9:30pm (UTC)", want: "2026-11-21T21:30" },
    { id: "hours ahead of UTC", text: "11:00 PM GMT+2.", want: "2026-11-21T21:00" },
    { id: "hours behind UTC", text: "10:57 PM GMT-3", want: "2026-11-22T01:57" },
    {
      id: "a zone that nobody knows is the tool's own",
      text: "3pm (Mars/Crater)",
      want: "2026-11-21T15:00",
    },
    { id: "month, day and hour", text: "Nov 28 at 9pm (America/New_York)", want: "2026-11-29T02:00" },
    { id: "month, day, comma", text: "Nov 23, 11am (Europe/Berlin)", want: "2026-11-23T10:00" },
    { id: "a date of next year", text: "Jan 2 at 9am", want: "2027-01-02T09:00" },
    { id: "a date of this morning is over", text: "Nov 21, 9am", want: "2026-11-21T09:00" },
    { id: "a whole date", text: "Nov 28th, 2026 5:04 PM.", want: "2026-11-28T17:04" },
    { id: "a date without a clock is its beginning", text: "Dec 1st", want: "2026-12-01T00:00" },
    { id: "the day behind the clock", text: "16:21 on 29 Nov", want: "2026-11-29T16:21" },
    { id: "a timestamp", text: "2026-11-21T18:00:00Z", want: "2026-11-21T18:00" },
    { id: "a timestamp without an offset", text: "2026-11-21 18:00", want: "2026-11-21T18:00" },
    { id: "hours and minutes from now", text: "in 2h 13m", want: "2026-11-21T16:23" },
    { id: "a span in one word", text: "after 12h22m45s.]", want: "2026-11-22T02:32" },
    { id: "a span in words", text: "5 days 22 hours 11 minutes.", want: "2026-11-27T12:21" },
    { id: "a span with and", text: "1 hour and 5 minutes", want: "2026-11-21T15:15" },
    { id: "seconds", text: "90s", want: "2026-11-21T14:11" },
    { id: "less than a minute", text: "less than a minute", want: "2026-11-21T14:11" },
    { id: "no time at all", text: "later", want: null },
    { id: "a span beyond all time", text: "99999999999999d", want: null },
    { id: "a span beyond what a timestamp can tell", text: "9999999d", want: null },
    { id: "a bare number", text: "5", want: null },
    { id: "an hour that no clock shows", text: "25:00", want: null },
    { id: "a 13th hour of the afternoon", text: "13pm", want: null },
    { id: "a word that begins like a unit", text: "3 months", want: null },
  ])("$id: $text", ({ text, want }) => {
    expect(read(text)).toBe(want);
  });

  test("without a zone the tool's own counts", () => {
    expect(read("4pm", { zone: "Europe/Berlin" })).toBe("2026-11-21T15:00");
  });

  test("an old notice may show a time that is over", () => {
    expect(read("9am", { backMs: 12 * hour })).toBe("2026-11-21T09:00");
    expect(read("1am", { backMs: 12 * hour })).toBe("2026-11-22T01:00");
  });

  test.each([
    { id: "the night that is an hour longer", nowMs: Date.UTC(2026, 9, 24, 20), want: "2026-10-25T05:00" },
    { id: "the night that is an hour shorter", nowMs: Date.UTC(2026, 2, 28, 20), want: "2026-03-29T04:00" },
  ])("a time behind a change of the clocks: $id", ({ nowMs, want }) => {
    expect(read("6am (Europe/Berlin)", { nowMs })).toBe(want);
  });
});
