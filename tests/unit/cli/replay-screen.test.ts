import { describe, expect, test } from "bun:test";
import { onlyDrawing, playCast } from "../../../src/cli/extensions/observe/replay-screen.ts";
import type { CastEvent } from "../../../src/services/extensions/observe/recorder/reader.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";

describe("of what a terminal is sent", () => {
  test.each([
    "plain text\r\n\tand 漢字",
    "\x1b[1;38;5;208mbold\x1b[0m \x1b[38:2::1:2:3mrgb",
    "\x1b[2J\x1b[3;4H\x1b[K\x1b[2A\x1b[5C\x1b[1;20r\x1b[2L\x1b[3S",
    "\x1b[?25l\x1b[?1049h\x1b[?7l\x1b[4h",
    "\x1b(0lqk\x1b(B\x0e\x0f\x1b7\x1b8\x1bM",
  ])("%p draws, and stays", (text) => {
    expect(onlyDrawing(text)).toBe(text);
  });

  test.each([
    { id: "the clipboard", text: "a\x1b]52;c;YQ==\x07b" },
    { id: "a title", text: "a\x1b]0;title\x1b\\b" },
    { id: "a string without an end", text: "ab\x1b]0;title" },
    { id: "a device control string", text: "a\x1bP+q544e\x1b\\b" },
    { id: "questions to the terminal", text: "a\x1b[c\x1b[6n\x1b[>c\x1b[?u\x1b[18tb\x1b[5n" },
    { id: "mouse and paste modes", text: "a\x1b[?1000h\x1b[?2004hb\x1b[?25;1006h" },
    { id: "keyboard modes", text: "a\x1b[>4;2m\x1b[=5ub\x1b=" },
    { id: "the bell and other controls", text: "a\x07\x00\x05b\x7f\u009b" },
    { id: "characters that turn the direction", text: "a\u202eb\u2066" },
    { id: "a sequence without an end", text: "ab\x1b" },
  ])("$id is left out", ({ text }) => {
    expect(onlyDrawing(text)).toBe("ab");
  });

  test("a full reset clears the screen, and not what is above it", () => {
    const cleared = onlyDrawing("\x1bcnew");
    expect(cleared).toEndWith("\x1b[H\x1b[2Jnew");
    expect(cleared).not.toContain("\x1bc");
  });
});

test("a recording is played with its pauses, faster where asked, and long pauses are shortened", async () => {
  const clock = createFakeClock();
  const written: { atMs: number; text: string }[] = [];
  const io = {
    writeScreen: async (_: "stdout" | "stderr", text: string) =>
      void written.push({ atMs: clock.monotonicMs(), text }),
  };
  const events: CastEvent[] = [
    { atMs: 1_000, code: "o", data: "first" },
    { atMs: 1_400, code: "o", data: "second" },
    { atMs: 1_400, code: "m", data: "gap" },
    { atMs: 61_400, code: "o", data: "third" },
    { atMs: 61_600, code: "o", data: "fourth" },
  ];
  const left = new AbortController();
  const cast = { width: 80, height: 24, fromMs: 1_000, events: events.values() as Generator<CastEvent> };
  const playing = playCast(io, cast, { clock, speed: 2, maxPauseMs: 1_000, signal: left.signal });
  await clock.advance(1_250);
  left.abort();
  await settle();
  await playing;
  expect(written.slice(0, -1)).toEqual([
    { atMs: 0, text: "first" },
    { atMs: 200, text: "second" },
    { atMs: 1_200, text: "third" },
  ]);
  expect(written.at(-1)?.text).toContain("\x1b[?25h");
});
