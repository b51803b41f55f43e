import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { visible, visibleCell, visibleLine, withoutInvisible } from "../../../src/system/visible.ts";

/** What no terminal is given, by the Unicode names of security.md 7 rather than by our own class. */
const forbidden =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u061c\u2028-\u202e\u2060-\u2069\ufeff\u{e0001}-\u{e007f}]/u;
/** Text of which every third character or so is one of those. */
const hostileText = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code)),
      fc.constantFrom(
        "\u061c",
        "\u200b",
        "\u200e",
        "\u200f",
        "\u2028",
        "\u2029",
        "\u202e",
        "\u2066",
        "\ufeff",
      ),
      fc.integer({ min: 0xe0001, max: 0xe007f }).map((code) => String.fromCodePoint(code)),
      fc.string({ unit: "grapheme", maxLength: 3 }),
      fc.constantFrom('"', "\\", "'", "|", ">", "\r\n"),
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(""));

describe("text that others wrote", () => {
  test.each([
    ["a\x1b[2Jb", "a\\u001b[2Jb"],
    ["\x9b31m\x7f", "\\u009b31m\\u007f"],
    ["a\u202eb\u2066c", "a\\u202eb\\u2066c"],
    ["line\u2028line", "line\\u2028line"],
    ["\u{e0041}", "\\udb40\\udc41"],
    ["two\nlines\tand a tab", "two\nlines\tand a tab"],
    ["日本語 é 👩‍👩‍👧 ❤️", "日本語 é 👩‍👩‍👧 ❤️"],
  ])("%j is shown as %j", (text, want) => {
    expect(visible(text)).toBe(want);
  });

  test("whatever it is: nothing that acts on a terminal is left, and JSON stays the same value", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        expect(visible(text)).not.toMatch(forbidden);
        expect(visibleLine(text)).not.toMatch(/[\n\t]/);
        expect(visibleCell(text)).not.toMatch(/[\n\t]/);
        expect(withoutInvisible(text)).not.toMatch(forbidden);
        const document = JSON.stringify({ [text]: [text] }, null, 2);
        expect(JSON.parse(visible(document))).toEqual(JSON.parse(document));
        expect(visible(visible(text))).toBe(visible(text));
      }),
      { numRuns: 2000 },
    );
  });
});
