import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { leaveSequence, paint } from "../../../src/services/demo/screen.ts";
import { demoSignature } from "../../../src/services/demo/signature.ts";
import { widthOf, wrapText } from "../../../src/system/text-columns.ts";
import { driveDemo } from "./demo-driver.ts";

describe("the screen", () => {
  test("of a fresh session is what the signature says", () => {
    const { rows, cursor, title } = driveDemo().frame({ cols: 40, rows: 10 });
    const rule = demoSignature.ruleGlyph.repeat(40);
    expect(rows.map((row) => Bun.stripANSI(row))).toEqual([
      demoSignature.banner,
      expect.any(String),
      "",
      rule,
      `${demoSignature.composerGlyph}${demoSignature.placeholder}`,
      rule,
      demoSignature.footer,
    ]);
    expect(rows[4]).toContain(`\x1b[2m${demoSignature.placeholder}`);
    expect({ cursor, title }).toEqual({ cursor: { row: 4, col: 2 }, title: "demo: ready" });
  });

  test("extends the composer by indented rows, the cursor in the last", () => {
    const agent = driveDemo().paste("one\ntwo");
    expect(agent.screen()).toContain("▶ one\n  two\n─");
    expect(agent.frame().cursor).toEqual({ row: 5, col: 5 });
  });

  test("has the spinner's frame in the status row and in the title, ten in a second", () => {
    const agent = driveDemo().press("go\r");
    for (const frame of demoSignature.spinnerFrames) {
      expect(agent.frame().title).toBe(`${frame} demo: working`);
      expect(agent.screen()).toContain(`${frame} Working… (0s`);
      agent.wait(100);
    }
    expect(agent.frame().title).toBe("⠋ demo: working");
  });

  test("fits every size, whatever was typed and whatever runs", () => {
    const press = fc.oneof(
      fc.constantFrom("FAST\r", "go\r", "MENU\r", "/help\r", "/", "\x1b", "\x15", "\r"),
      fc.string({ unit: "grapheme", maxLength: 60 }),
      fc.string({ maxLength: 400 }).map((text) => `\x1b[200~${text}\x1b[201~`),
    );
    const size = fc.record({
      cols: fc.integer({ min: 40, max: 130 }),
      rows: fc.integer({ min: 10, max: 40 }),
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(press, fc.nat(900)), { maxLength: 8 }), size, (steps, given) => {
        const agent = driveDemo();
        for (const [keys, delayMs] of steps) agent.press(keys).wait(delayMs);
        const { rows, cursor } = agent.frame(given);
        expect(rows.length).toBeLessThanOrEqual(given.rows);
        expect(Math.max(...rows.map((row) => widthOf(Bun.stripANSI(row))))).toBeLessThanOrEqual(given.cols);
        expect(cursor.row).toBeWithin(0, rows.length);
        expect(cursor.col).toBeWithin(0, given.cols);
      }),
      { numRuns: 150 },
    );
  });

  test("does not fail in a window too small to use", () => {
    const agent = driveDemo().paste("1\n2\n3\n4").press("\r").press("x");
    expect(agent.frame({ cols: 1, rows: 1 }).rows).toHaveLength(1);
  });
});

describe("wrapping", () => {
  test.each<{ id: string; text: string; columns: number; want: string[] }>([
    { id: "breaks at the column", text: "abcdef", columns: 4, want: ["abcd", "ef"] },
    { id: "keeps empty lines", text: "a\n\nb", columns: 4, want: ["a", "", "b"] },
    { id: "counts wide characters twice", text: "漢漢漢", columns: 5, want: ["漢漢", "漢"] },
    {
      id: "shows control characters instead of sending them",
      text: "a\x1b[A\x9b",
      columns: 9,
      want: ["a␛[A␡"],
    },
  ])("$id", ({ text, columns, want }) => {
    expect(wrapText(text, columns)).toEqual(want);
  });
});

describe("painting", () => {
  const agent = driveDemo();
  const first = agent.frame();
  const second = agent.press("x").frame();

  test("an unchanged frame costs no byte", () => {
    expect(paint(first, first)).toBe("");
  });

  test("only rows that differ are written", () => {
    const bytes = paint(first, second);
    expect(bytes).toContain("\x1b[5;1H\x1b[2K");
    expect(bytes).not.toContain("\x1b[1;1H");
    expect(bytes).toEndWith("\x1b[5;4H\x1b[?25h");
  });

  test("the first frame erases what was there and sets the title", () => {
    expect(paint(null, first)).toStartWith("\x1b]2;demo: ready\x07\x1b[?25l\x1b[?7l\x1b[2J");
  });

  test("leaving ends bracketed paste below the last row", () => {
    expect(leaveSequence(first)).toStartWith("\x1b[7;1H\r\n");
    expect(leaveSequence(first)).toContain("\x1b[?2004l");
  });
});
