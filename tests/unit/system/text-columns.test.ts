import { expect, test } from "bun:test";
import fc from "fast-check";
import { cutText, widthOf } from "../../../src/system/text-columns.ts";

test.each([
  { text: "all of it", columns: 9, want: "all of it" },
  { text: "all of it", columns: 8, want: "all of …" },
  { text: "港を描く", columns: 8, want: "港を描く" },
  { text: "港を描く", columns: 7, want: "港を描…" },
  { text: "港を描く", columns: 6, want: "港を…" },
  { text: "港を描く", columns: 2, want: "…" },
  { text: "one\ntwo", columns: 20, want: "one…" },
  { text: "a", columns: 1, want: "a" },
  { text: "ab", columns: 0, want: "" },
])("in $columns columns it is $want", ({ text, columns, want }) => {
  expect(cutText(text, columns)).toBe(want);
});

test("no cut text is wider than it may be", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "漢", "🙂", "\u0301", "\t", "\u200d", "é") });
  fc.assert(
    fc.property(text, fc.integer({ min: 0, max: 20 }), (given, columns) => {
      expect(widthOf(cutText(given, columns))).toBeLessThanOrEqual(columns);
    }),
  );
});
