import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isMuted, isRed, parseScreen, plainText } from "../../../src/services/terminal/screen.ts";

const only = (raw: string) => {
  const [row] = parseScreen(raw);
  if (!row) throw new Error("no row");
  return row;
};

describe("one row of styled text", () => {
  test.each([
    {
      id: "plain text has the terminal's own colours",
      raw: "a",
      want: { foreground: null, background: null },
    },
    { id: "bold", raw: "\x1b[1ma", want: { bold: true, dim: false } },
    { id: "dim", raw: "\x1b[2ma", want: { dim: true, bold: false } },
    { id: "22 ends bold and dim", raw: "\x1b[1;2m\x1b[22ma", want: { bold: false, dim: false } },
    { id: "inverse", raw: "\x1b[7ma", want: { inverse: true } },
    { id: "27 ends inverse", raw: "\x1b[7m\x1b[27ma", want: { inverse: false } },
    { id: "italic and underline", raw: "\x1b[3;4ma", want: { italic: true, underline: true } },
    { id: "a curly underline with a colon", raw: "\x1b[4:3ma", want: { underline: true, italic: false } },
    { id: "4:0 is no underline", raw: "\x1b[4m\x1b[4:0ma", want: { underline: false } },
    { id: "a basic colour", raw: "\x1b[31ma", want: { foreground: "palette:1" } },
    { id: "a bright colour", raw: "\x1b[91ma", want: { foreground: "palette:9" } },
    { id: "a bright background", raw: "\x1b[100ma", want: { background: "palette:8" } },
    {
      id: "256 colours",
      raw: "\x1b[38;5;231;48;5;237ma",
      want: { foreground: "palette:231", background: "palette:237" },
    },
    { id: "true colour", raw: "\x1b[38;2;255;0;10ma", want: { foreground: "#ff000a" } },
    { id: "true colour with colons", raw: "\x1b[38:2:255:0:10ma", want: { foreground: "#ff000a" } },
    {
      id: "true colour with colons and a colour space",
      raw: "\x1b[48:2::1:2:3ma",
      want: { background: "#010203" },
    },
    { id: "256 colours with colons", raw: "\x1b[38:5:9;1ma", want: { foreground: "palette:9", bold: true } },
    { id: "an empty parameter resets", raw: "\x1b[1m\x1b[ma", want: { bold: false } },
    {
      id: "39 and 49 give the defaults back",
      raw: "\x1b[31;41m\x1b[39;49ma",
      want: { foreground: null, background: null },
    },
    {
      id: "0 in a list resets what stood before it",
      raw: "\x1b[7m\x1b[0;2ma",
      want: { inverse: false, dim: true },
    },
  ])("$id", ({ raw, want }) => {
    const span = only(raw).spans[0];
    expect(span).toMatchObject({ text: "a", ...want });
  });
});

describe("a screen", () => {
  test("one row for each line, the last line feed opens none, blank rows stay", () => {
    expect(parseScreen("a\n\nb\n\n").map((row) => row.text)).toEqual(["a", "", "b", ""]);
    expect(parseScreen("")).toEqual([]);
  });

  test("styling carries over to the next row, as tmux writes it", () => {
    const rows = parseScreen("\x1b[48;5;237mone\ntwo\x1b[49m\nthree");
    expect(rows.map((row) => row.spans[0]?.background)).toEqual(["palette:237", "palette:237", null]);
  });

  test.each([
    {
      id: "a link shows its text alone",
      raw: "\x1b]8;;https://x.invalid\x1b\\go\x1b]8;;\x1b\\!",
      text: "go!",
    },
    { id: "an OSC ended by BEL vanishes", raw: "\x1b]0;title\x07x", text: "x" },
    { id: "an unfinished OSC swallows its row only", raw: "\x1b]0;title", text: "" },
    { id: "line drawing between SO and SI", raw: "\x0elqk\x0fq", text: "┌─┐q" },
    { id: "a charset choice vanishes", raw: "\x1b(Bx", text: "x" },
    { id: "cursor movement vanishes", raw: "a\x1b[2Kb\x1b[?25lc", text: "abc" },
    { id: "a lone escape vanishes", raw: "a\x1b", text: "a" },
    { id: "a no-break space is a space", raw: "❯\u00a0x", text: "❯ x" },
  ])("$id", ({ raw, text }) => {
    expect(only(`${raw}\n`).text).toBe(text);
  });

  test("plain text ends at the last visible character of each row and of the screen", () => {
    expect(plainText(parseScreen("\x1b[1ma \x1b[0m  \n b\n\n"))).toBe("a\n b");
  });

  test("any text is read without a fault, and no visible character is lost or invented", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom("a", "\x1b", "[", "3", "8", ";", ":", "m", "]", "\n", "\x0e", "\x07", "é"),
        }),
        (raw) => {
          const rows = parseScreen(raw);
          const drawn = rows.map((row) => row.text).join("\n");
          expect(drawn).not.toContain("\x1b");
          for (const row of rows) expect(row.spans.map((span) => span.text).join("")).toBe(row.text);
        },
      ),
    );
  });
});

test.each([
  { id: "amber is not red", colour: "\x1b[38;2;245;167;66m", red: false, muted: false },
  { id: "the error red of a theme is red", colour: "\x1b[38;2;224;108;117m", red: true, muted: false },
  { id: "palette red is red", colour: "\x1b[31m", red: true, muted: false },
  { id: "a middle grey is muted", colour: "\x1b[38;2;128;128;128m", red: false, muted: true },
  { id: "a palette grey is muted", colour: "\x1b[38;5;244m", red: false, muted: true },
  { id: "near white is text", colour: "\x1b[38;2;238;238;238m", red: false, muted: false },
  { id: "the default colour is text", colour: "\x1b[39m", red: false, muted: false },
  { id: "a dim cell is muted", colour: "\x1b[2m", red: false, muted: true },
])("$id", ({ colour, red, muted }) => {
  const span = only(`${colour}x`).spans[0];
  if (!span) throw new Error("no span");
  expect({ red: isRed(span), muted: isMuted(span) }).toEqual({ red, muted });
});
