import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  createLineSplitter,
  type SplitBounds,
  type SplitLine,
} from "../../../src/services/headless/line-splitter.ts";

const bounds: SplitBounds = { maxLineBytes: 40, keptBytes: 8 };

function split(chunks: readonly Uint8Array[], limits: SplitBounds = bounds): SplitLine[] {
  const splitter = createLineSplitter(limits);
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.end()];
}

const bytes = (text: string) => new TextEncoder().encode(text);
const texts = (lines: readonly SplitLine[]) => lines.map(({ text }) => text);

/** The same bytes cut at these places, empty pieces included. */
function cut(whole: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [0, ...places.map((place) => Math.min(place, whole.length)).sort((a, b) => a - b), whole.length];
  return at.slice(1).map((end, index) => whole.slice(at[index], end));
}

test.each([
  { id: "a line feed ends a line", given: "one\ntwo\n", want: ["one", "two"] },
  { id: "a carriage return before it belongs to the end", given: "one\r\ntwo\r\n", want: ["one", "two"] },
  { id: "a carriage return elsewhere stays", given: "a\rb\n", want: ["a\rb"] },
  { id: "only the last carriage return belongs to the end", given: "a\r\r\n", want: ["a\r"] },
  { id: "a last line without an end is delivered", given: "one\ntwo", want: ["one", "two"] },
  { id: "empty lines are lines", given: "\n\nx\n", want: ["", "", "x"] },
  { id: "no bytes are no line", given: "", want: [] },
])("$id", ({ given, want }) => {
  expect(texts(split([bytes(given)]))).toEqual([...want]);
});

test("invalid UTF-8 is replaced, and the next line is whole", () => {
  const broken = new Uint8Array([...bytes("a"), 0xff, 0xc3, 0x28, 0x0a, ...bytes("ü\n")]);
  expect(texts(split([broken]))).toEqual(["a\ufffd\ufffd(", "ü"]);
});

test("a line at the bound is whole; one byte more is reported with its size and first part", () => {
  const atBound = "x".repeat(40);
  expect(split([bytes(`${atBound}\r\n`)])).toEqual([{ text: atBound, bytes: 40, truncated: false }]);
  expect(split([bytes(`0123456789${atBound}\nnext\n`)])).toEqual([
    { text: "01234567", bytes: 50, truncated: true },
    { text: "next", bytes: 4, truncated: false },
  ]);
});

test("an object beyond the bound is whole but for the ends of its long strings", () => {
  const limits: SplitBounds = { maxLineBytes: 60, keptBytes: 8, maxStringBytes: 10 };
  const long = { type: "end", text: `quote " back \\ é ${"x".repeat(200)}`, n: [1, "ü"] };
  const [line, next] = split([bytes(`${JSON.stringify(long)}\r\nnext\n`)], limits);
  expect(line).toMatchObject({ truncated: false, shortened: true });
  expect(JSON.parse(line?.text ?? "")).toEqual({ type: "end", text: 'quote " b', n: [1, "ü"] });
  expect(next?.text).toBe("next");
});

test("an object that is long without long strings, and a long line that is none, are reported with their first part", () => {
  const limits: SplitBounds = { ...bounds, maxStringBytes: 10 };
  const many = JSON.stringify({ list: Array.from({ length: 40 }, () => 1) });
  expect(split([bytes(`${many}\n`)], limits)).toEqual([
    { text: many.slice(0, 8), bytes: many.length, truncated: true },
  ]);
  expect(split([bytes(`"${"x".repeat(60)}"\n`)], limits)).toEqual([
    { text: '"xxxxxxx', bytes: 62, truncated: true },
  ]);
});

test("whatever the object and the pieces, what is left of it can be read and no string grew", () => {
  const limits: SplitBounds = { maxLineBytes: 60, keptBytes: 8, maxStringBytes: 12 };
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ maxLength: 3 }), fc.string({ unit: "binary", maxLength: 50 }), {
        maxKeys: 3,
      }),
      fc.array(fc.nat(300), { maxLength: 10 }),
      (object, places) => {
        const whole = bytes(`${JSON.stringify(object)}\n`);
        const [line] = split(cut(whole, places), limits);
        expect([line]).toEqual(split([whole], limits));
        if (!line || line.truncated) return;
        const left = Object.values(JSON.parse(line.text) as Record<string, string>);
        const given = Object.values(object);
        expect(left.length).toBe(given.length);
        for (const [index, text] of left.entries())
          expect((given[index] ?? "").length).toBeGreaterThanOrEqual(text.length);
      },
    ),
    { numRuns: 500 },
  );
});

test("any way of cutting the bytes gives the same lines", () => {
  const piece = fc.oneof(
    fc.constantFrom("\n", "\r\n", "\r", "é", "日本", "🙂", "x".repeat(60)),
    fc.string({ maxLength: 12 }),
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 30 }),
      fc.uint8Array({ maxLength: 6 }),
      fc.array(fc.nat(600), { maxLength: 40 }),
      (pieces, noise, places) => {
        const whole = new Uint8Array([
          ...bytes(pieces.join("")),
          ...noise,
          ...bytes(pieces.slice(3).join("")),
        ]);
        const want = split([whole]);
        expect(split(cut(whole, places))).toEqual(want);
        expect(split(cut(whole, [...whole.keys()]))).toEqual(want);
      },
    ),
    { numRuns: 300 },
  );
});

test("lines below the bound are the text between the line ends", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[^\r\n]{0,12}$/u), { maxLength: 12 }), (lines) => {
      const wide = { maxLineBytes: 10_000, keptBytes: 8 };
      const stream = bytes(lines.map((line) => `${line}\n`).join(""));
      const decoded = lines.map((line) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes(line)));
      expect(texts(split([stream], wide))).toEqual(decoded);
    }),
  );
});

test("a line of 50 MB is passed over without being held", () => {
  const splitter = createLineSplitter();
  const chunk = new Uint8Array(1_000_000).fill(120);
  splitter.push(bytes('{"type":"text"'));
  Bun.gc(true);
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let sent = 0; sent < 50; sent += 1) {
    expect(splitter.push(chunk)).toEqual([]);
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  const [line, next] = splitter.push(bytes("\nnext\n"));
  expect(line).toMatchObject({ bytes: 50_000_014, truncated: true });
  expect(line?.text.startsWith('{"type":"text"xxx')).toBe(true);
  expect(line?.text.length).toBe(4096);
  expect(next?.text).toBe("next");
  // Up to the bound it may grow, and twice that while the pieces become one.
  expect(most).toBeLessThan(12_000_000);
});
