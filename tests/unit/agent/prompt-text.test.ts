import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { enterDelayMs, pastesOf, prepareText } from "../../../src/services/agent/prompt-text.ts";
import { profileFor } from "../../../src/services/terminal/profiles/profile.ts";

function profile(tool: string) {
  const found = profileFor(tool);
  if (!found) throw new Error(`no profile ${tool}`);
  return found;
}

describe("the pastes of a text", () => {
  const lines = Array.from({ length: 9 }, (_, index) => `line ${index}`).join("\n");

  test("are one for a tool that takes any paste as it is, and for a version that is not known", () => {
    expect(pastesOf(lines, profile("codex"), "0.169.0")).toEqual([lines]);
    expect(pastesOf(lines, profile("claude"), "2.1.197")).toEqual([lines]);
    expect(pastesOf(lines, profile("claude"), null)).toEqual([lines]);
  });

  test("are small for a version that wraps a long one into markup", () => {
    const pieces = pastesOf(lines, profile("claude"), "2.1.330");
    expect(pieces).toEqual([
      "line 0\nline 1\nline 2",
      "\nline 3\nline 4",
      "\nline 5\nline 6",
      "\nline 7\nline 8",
    ]);
    expect(pastesOf("x".repeat(1500), profile("claude"), "2.1.330").map((piece) => piece.length)).toEqual([
      600, 600, 300,
    ]);
  });

  test("together are the text, cut between graphemes only", () => {
    const unit = fc.constantFrom("a", "\n", " ", "e\u0301", "👩‍👩‍👧‍👦", "漢", "word ".repeat(150));
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 40 }), (units) => {
        const text = units.join("");
        const pieces = pastesOf(text, profile("claude"), "2.1.330");
        expect(pieces.join("")).toBe(text);
        expect(pieces.every((piece) => !/^[\u0301\u200d]/u.test(piece))).toBe(true);
        expect(pieces.every((piece) => piece.trim() === "" || piece.trim().length <= 600)).toBe(true);
      }),
    );
  });
});

describe("the text that is typed for a prompt", () => {
  test.each([
    { id: "plain text stays as it is", tool: "claude", given: "hello\nworld", want: "hello\nworld" },
    { id: "newlines at the end go", tool: "claude", given: "hello\n\n", want: "hello" },
    { id: "a leading ! is kept from opening a shell", tool: "claude", given: "!ls", want: " !ls" },
    { id: "where ! means nothing it stays first", tool: "gemini", given: "!ls", want: "!ls" },
    { id: "a slash command stays a command", tool: "claude", given: "/clear", want: "/clear" },
    { id: "a final @name cannot take Enter", tool: "codex", given: "see @README", want: "see @README " },
    {
      id: "a final $name cannot take Enter of codex",
      tool: "codex",
      given: "echo $HOME",
      want: "echo $HOME ",
    },
    { id: "a final backslash cannot take Enter of claude", tool: "claude", given: "C:\\", want: "C:\\ " },
    {
      id: "a hidden end of paste loses its escape",
      tool: "claude",
      given: "a\x1b[201~\rb",
      want: "a[201~\nb",
    },
  ])("$id", ({ tool, given, want }) => {
    expect(prepareText(given, profile(tool))).toBe(want);
  });

  test.each(["", " \n\t", "\x1b\x00\x07"])("nothing is left of %j", (given) => {
    expect(prepareText(given, profile("claude"))).toBeNull();
  });
});

test("the pause before Enter grows with the text up to its limit", () => {
  const claude = profile("claude");
  const [short, long, huge] = [100, 20_000, 5_000_000].map((length) =>
    enterDelayMs("x".repeat(length), claude),
  );
  expect(short).toBe(claude.data.submit.enter_delay_ms);
  expect(long).toBeGreaterThan(short ?? 0);
  expect(huge).toBe(claude.data.submit.enter_delay_max_ms);
});
