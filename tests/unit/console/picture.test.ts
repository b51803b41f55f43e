import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import { ScreenEvent, type ScreenRun } from "../../../src/protocol/console.ts";
import {
  type Frame,
  frameAfter,
  paint,
  runsOf,
  type Shown,
  showAbsent,
  updateSince,
} from "../../../src/services/extensions/console/picture.ts";
import { followScreens, type ScreenSource } from "../../../src/services/extensions/console/screens.ts";
import { parseScreen } from "../../../src/services/terminal/screen.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const at = "2026-01-01T00:00:00.000+00:00";
const row = fc.constantFrom<ScreenRun[]>([], [{ text: "a" }], [{ text: "b", bold: true }], [{ text: "c" }]);
const frame: fc.Arbitrary<Frame> = fc
  .record({ height: fc.integer({ min: 1, max: 3 }), epoch: fc.integer({ min: 1, max: 2 }) })
  .chain(({ height, epoch }) =>
    fc.record({
      atUtc: fc.constant(at),
      epoch: fc.constant(epoch),
      width: fc.constant(4),
      height: fc.constant(height),
      cursor: fc.constantFrom(null, { row: 0, column: 1 }),
      rows: fc.array(row, { minLength: height, maxLength: height }),
    }),
  );
const step = fc.oneof(
  { weight: 5, arbitrary: frame },
  { weight: 1, arbitrary: fc.constant("gone" as const) },
);

/** What a viewer has after an update, in the form that a server's picture has. */
function see(agentId: string, before: Shown | null, shown: Shown, seen: number | null) {
  const event = updateSince(shown, seen);
  if (event === null) return before;
  expect(Value.Check(ScreenEvent, event)).toBe(true);
  if (event.kind === "screen_absent") return showAbsent(agentId, before, event.reason, event.at_utc);
  const next = frameAfter(before, event);
  return next && paint(agentId, before, next);
}

const textOf = (shown: Shown | null) =>
  shown &&
  ("rows" in shown
    ? [shown.width, shown.height, shown.cursor, shown.rows.map(({ runs }) => runs)]
    : shown.absent);

describe("pictures", () => {
  test("a viewer that skips any of them sees what the last one shows, also through a coordinator", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.boolean(), fc.boolean()), { maxLength: 12 }), (steps) => {
        let shown: Shown | null = null;
        let relayed: { picture: Shown | null; seen: number | null } = { picture: null, seen: null };
        let viewer: { picture: Shown | null; seen: number | null } = { picture: null, seen: null };
        const relay = () => {
          if (shown)
            relayed = { picture: see("a", relayed.picture, shown, relayed.seen), seen: shown.revision };
        };
        const look = () => {
          const from = relayed.picture;
          if (from) viewer = { picture: see("a", viewer.picture, from, viewer.seen), seen: from.revision };
        };
        for (const [next, isRelayed, isSeen] of steps) {
          shown = next === "gone" ? showAbsent("a", shown, "gone", at) : paint("a", shown, next);
          if (isRelayed) relay();
          if (isSeen) look();
        }
        relay();
        look();
        expect(textOf(viewer.picture)).toEqual(textOf(shown));
      }),
      { numRuns: 300 },
    );
  });

  test("only the rows that changed are sent, and nothing when none did", () => {
    const base: Frame = {
      atUtc: at,
      epoch: 1,
      width: 3,
      height: 2,
      cursor: null,
      rows: [[{ text: "a" }], []],
    };
    const first = paint("a", null, base);
    expect(updateSince(first, null)).toMatchObject({ whole: true, rows: [{ row: 0 }] });
    expect(paint("a", first, { ...base, atUtc: "later" })).toBe(first);
    const second = paint("a", first, { ...base, rows: [[{ text: "a" }], [{ text: "b" }]] });
    expect(updateSince(second, first.revision)).toMatchObject({ whole: false, rows: [{ row: 1 }] });
    expect(updateSince(second, second.revision)).toBeNull();
  });

  test("runs have the styles of the screen, without blanks at the end and without bidi controls", () => {
    const rows = parseScreen("\x1b[1;31mred\x1b[0m plain   \n\x1b[44m  \x1b[0m\nab\u202ecd<b>&\n");
    expect(runsOf(rows)).toEqual([
      [{ text: "red", foreground: "palette:1", bold: true }, { text: " plain" }],
      [{ text: "  ", background: "palette:4" }],
      [{ text: "abcd<b>&" }],
    ]);
  });
});

describe("followed screens", () => {
  const lines = (text: string): Frame => ({
    atUtc: at,
    epoch: 1,
    width: 9,
    height: 1,
    cursor: null,
    rows: [[{ text }]],
  });

  function source(agentId: string) {
    const wakes = new Set<() => void>();
    let shown: Shown | null = null;
    return {
      agentId,
      shown: () => shown,
      subscribe(wake: () => void) {
        wakes.add(wake);
        return () => void wakes.delete(wake);
      },
      show(text: string) {
        shown = paint(agentId, shown, lines(text));
        for (const wake of wakes) wake();
      },
      watched: () => wakes.size > 0,
    } satisfies ScreenSource & Record<string, unknown>;
  }

  test("a slow reader gets the newest picture, and silence costs one timer", async () => {
    const clock = createFakeClock();
    const one = source("a");
    const other = source("b");
    one.show("1");
    const left = new AbortController();
    const items = followScreens({ clock, sources: [one, other], gapMs: 100, signal: left.signal });
    const textIn = (value: unknown) => /"text":"(\w+)"/.exec(JSON.stringify(value))?.[1];
    expect(textIn((await items.next()).value)).toBe("1");
    for (const text of ["2", "3", "4"]) one.show(text);
    other.show("x");
    const seen: (string | undefined)[] = [];
    for (const _ of [1, 2]) {
      const next = items.next();
      await clock.advance(100);
      seen.push(textIn((await next).value));
    }
    expect(seen.sort()).toEqual(["4", "x"]);
    const quiet = items.next();
    await clock.advance(100);
    expect(clock.pending()).toBe(1);
    await clock.advance(15_000);
    expect((await quiet).value).toEqual({ item: "heartbeat" });
    left.abort();
    await items.return(undefined);
    expect([one.watched(), other.watched()]).toEqual([false, false]);
  });
});
