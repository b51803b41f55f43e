import { describe, expect, test } from "bun:test";
import { enterDelayMs, prepareText } from "../../../src/services/agent/submission.ts";
import { profileFor } from "../../../src/services/terminal/profile.ts";

function profile(tool: string) {
  const found = profileFor(tool);
  if (!found) throw new Error(`no profile ${tool}`);
  return found;
}

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
