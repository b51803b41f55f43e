import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  emptyParser,
  flushInput,
  parseInput,
  type TerminalInput,
} from "../../../src/system/terminal-input.ts";

const key = (name: string): TerminalInput => ({ kind: "key", name });
const text = (given: string): TerminalInput => ({ kind: "text", text: given });
const paste = (given: string): TerminalInput[] => [{ kind: "paste_started" }, { kind: "paste", text: given }];

/** Feeds the reads one by one and flushes at the end; adjacent text is joined. */
function read(reads: readonly Uint8Array[]): TerminalInput[] {
  let state = emptyParser;
  const events: TerminalInput[] = [];
  for (const bytes of reads) {
    const step = parseInput(state, bytes);
    state = step.state;
    events.push(...step.events);
  }
  return join([...events, ...flushInput(state).events]);
}

function join(events: readonly TerminalInput[]): TerminalInput[] {
  const joined: TerminalInput[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    if (event.kind === "text" && last?.kind === "text") {
      joined[joined.length - 1] = text(last.text + event.text);
    } else joined.push(event);
  }
  return joined;
}

const bytesOf = (given: string) => new TextEncoder().encode(given);

describe("the terminal's bytes become inputs", () => {
  test.each<{ id: string; given: string; want: TerminalInput[] }>([
    { id: "plain text is text", given: "hi ü 漢 🙂", want: [text("hi ü 漢 🙂")] },
    { id: "CR is Enter and LF is C-j", given: "a\r\n", want: [text("a"), key("Enter"), key("C-j")] },
    {
      id: "control keys have names",
      given: "\x03\x15\t\x7f",
      want: ["C-c", "C-u", "Tab", "Backspace"].map(key),
    },
    { id: "arrows come as CSI and as SS3", given: "\x1b[A\x1bOB", want: [key("Up"), key("Down")] },
    { id: "a lone ESC at the end is Escape", given: "\x1b", want: [key("Escape")] },
    { id: "two ESC are two Escapes", given: "\x1b\x1b", want: [key("Escape"), key("Escape")] },
    { id: "ESC with CR behind it is no Enter", given: "\x1b\r", want: [key("M-Enter")] },
    { id: "an unknown sequence is used up whole", given: "\x1b[1;5Xz", want: [key("unknown"), text("z")] },
    { id: "a broken sequence does not eat Enter", given: "\x1b[1\r", want: [key("unknown"), key("Enter")] },
    { id: "a title report is used up whole", given: "\x1b]l\x1b\\z", want: [key("unknown"), text("z")] },
    {
      id: "CR, LF and CR LF in a paste are newlines",
      given: "\x1b[200~a\rb\nc\r\nd\x1b[201~",
      want: paste("a\nb\nc\nd"),
    },
    {
      id: "keys inside a paste are content",
      given: "\x1b[200~\x03\x1b[A\x1b[201~",
      want: paste("\x03\x1b[A"),
    },
    { id: "an empty paste is a paste", given: "\x1b[200~\x1b[201~", want: paste("") },
    {
      id: "input behind a paste counts again",
      given: "\x1b[200~a\x1b[201~\r",
      want: [...paste("a"), key("Enter")],
    },
    {
      id: "a paste without an end stays open",
      given: "\x1b[200~abc",
      want: [{ kind: "paste_started" }],
    },
  ])("$id", ({ given, want }) => {
    expect(read([bytesOf(given)])).toEqual(want);
  });

  test("a byte that is no UTF-8 becomes a replacement character", () => {
    expect(read([new Uint8Array([0x61, 0xff, 0x62])])).toEqual([text("a\ufffdb")]);
  });

  test("how the stream is cut into reads changes nothing", () => {
    const piece = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 6 }).map(bytesOf),
      fc
        .constantFrom("\x1b[200~", "\x1b[201~", "\x1b", "\x1b[", "\x1b[A", "\x1b]0;", "\x07", "\r", "é")
        .map(bytesOf),
      fc.uint8Array({ maxLength: 4 }),
    );
    const stream = fc.array(piece, { maxLength: 12 }).map((pieces) => Buffer.concat(pieces));
    fc.assert(
      fc.property(stream, fc.array(fc.nat(80), { maxLength: 8 }), (bytes, cuts) => {
        const edges = [
          0,
          ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b),
          bytes.length,
        ];
        const reads = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
        expect(read(reads)).toEqual(read([bytes]));
      }),
      { numRuns: 1000 },
    );
  });

  test("any pasted text without the end mark arrives as it is", () => {
    const content = fc.string({ unit: "grapheme" }).filter((given) => !/\r|\x1b/.test(given));
    fc.assert(
      fc.property(content, (given) => {
        expect(read([bytesOf(`\x1b[200~${given}\x1b[201~`)])).toEqual(paste(given));
      }),
    );
  });
});
