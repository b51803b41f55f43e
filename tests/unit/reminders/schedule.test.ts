import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { nextDue, parseDeliverAt } from "../../../src/services/reminders/definition.ts";

describe("the next due time of a repeating reminder", () => {
  test.each([
    { id: "is one interval later when the delivery ended in time", endedMs: 1200, want: 11_000 },
    { id: "is one interval later when the delivery ended at once", endedMs: 1000, want: 11_000 },
    { id: "skips the intervals that a late delivery missed", endedMs: 35_000, want: 41_000 },
    { id: "is after an end that falls on the cadence", endedMs: 31_000, want: 41_000 },
    { id: "goes on when the clock was set back meanwhile", endedMs: -500_000, want: 11_000 },
  ])("$id", ({ endedMs, want }) => {
    expect(nextDue({ dueMs: 1000, intervalSeconds: 10, endedMs })).toBe(want);
  });

  test("keeps fractions of a millisecond of the cadence", () => {
    let dueMs = 0;
    for (let n = 0; n < 1000; n++) dueMs = nextDue({ dueMs, intervalSeconds: 0.0333, endedMs: dueMs });
    expect(dueMs).toBeCloseTo(33_300, 3);
  });

  const dueMs = fc.integer({ min: 0, max: 4_000_000_000_000 });
  const intervalSeconds = fc.double({ min: Number.MIN_VALUE, max: 1e9, noNaN: true });
  const lateMs = fc.double({ min: -1e6, max: 1e10, noNaN: true });

  test("lies on the anchored cadence, after the end, and is the first to do so", () => {
    fc.assert(
      fc.property(dueMs, intervalSeconds, lateMs, (due, interval, late) => {
        const intervalMs = Math.max(1, interval * 1000);
        const endedMs = due + late;
        const next = nextDue({ dueMs: due, intervalSeconds: interval, endedMs });
        const steps = (next - due) / intervalMs;
        expect(Math.abs(steps - Math.round(steps)) * intervalMs).toBeLessThan(0.01);
        expect(steps).toBeGreaterThan(0.99);
        expect(next).toBeGreaterThan(endedMs);
        // No earlier one would do, up to what a double can tell of such moments.
        const before = next - intervalMs;
        expect(before <= endedMs + 0.01 || Math.round(steps) === 1).toBe(true);
      }),
    );
  });

  test("is after the end also when rounding says that the end lies just before the cadence", () => {
    for (let steps = 1; steps <= 2000; steps++) {
      const facts = { dueMs: 0, intervalSeconds: 0.0333, endedMs: steps * (0.0333 * 1000) };
      expect(nextDue(facts)).toBeGreaterThan(facts.endedMs);
    }
  });

  test("can always be reported by a timestamp", () => {
    const next = nextDue({ dueMs: 253_402_300_000_000, intervalSeconds: 1e6, endedMs: 0 });
    expect(new Date(next).toISOString()).toBe("9999-12-31T23:59:59.999Z");
  });
});

describe("deliver_at_utc", () => {
  const noon = Date.UTC(2026, 10, 21, 12);
  test.each([
    { id: "with the offset +00:00", text: "2026-11-21T12:00:00+00:00", want: noon },
    { id: "with Z", text: "2026-11-21T12:00:00Z", want: noon },
    { id: "with another offset", text: "2026-11-21T17:30:00+05:30", want: noon },
    { id: "without an offset is UTC", text: "2026-11-21T12:00:00", want: noon },
    { id: "without seconds", text: "2026-11-21T12:00Z", want: noon },
    { id: "with milliseconds", text: "2026-11-21T12:00:00.250Z", want: noon + 250 },
    { id: "with microseconds", text: "2026-11-21T12:00:00.250999", want: noon + 250 },
    { id: "with a blank between", text: "2026-11-21 12:00:00", want: noon },
    { id: "in small letters", text: "2026-11-21t12:00:00z", want: noon },
    { id: "a day of a leap year", text: "2028-02-29T00:00:00Z", want: Date.UTC(2028, 1, 29) },
    { id: "a day that the month lacks is none", text: "2026-02-30T00:00:00Z", want: null },
    { id: "a 29th of February of a common year is none", text: "2026-02-29T00:00:00Z", want: null },
    { id: "a 13th month is none", text: "2026-13-01T00:00:00Z", want: null },
    { id: "an hour of 25 is none", text: "2026-11-21T25:00:00Z", want: null },
    { id: "a day alone is none", text: "2026-11-21", want: null },
    { id: "a year alone is none", text: "2026", want: null },
    { id: "an offset without a colon is none", text: "2026-11-21T12:00:00+0000", want: null },
    { id: "words are none", text: "tomorrow", want: null },
    { id: "nothing is none", text: "", want: null },
  ])("$id", ({ text, want }) => {
    expect(parseDeliverAt(text)).toBe(want);
  });
});
