import { expect, test } from "bun:test";
import { shellWord } from "../../../src/system/shell-word.ts";
import { visibleLine } from "../../../src/system/visible.ts";

test.each([
  { text: "/a/b-c.txt", want: "/a/b-c.txt" },
  { text: "two words", want: "'two words'" },
  { text: "it's", want: `'it'\\''s'` },
  { text: "back\\slash", want: "'back\\slash'" },
  { text: "a\nb", want: "$'a\\x0ab'" },
  { text: "a\tb\\c'd", want: "$'a\\x09b\\\\c\\'d'" },
  { text: "\x1b[31mred\x07", want: "$'\\x1b[31mred\\x07'" },
  { text: "a\u009bb\u202ec\u{e0041}d", want: "$'a\\u009bb\\u202ec\\U000e0041d'" },
])("$want is one word of a shell, on one line", ({ text, want }) => {
  expect(shellWord(text)).toBe(want);
  expect(visibleLine(want)).toBe(want);
  const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8" };
  expect(Bun.spawnSync(["bash", "-c", `printf %s ${want}`], { env }).stdout.toString()).toBe(text);
});
