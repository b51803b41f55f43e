import { describe, expect, test } from "bun:test";
import { moduleSpecifiers, splitSource } from "./source-text.ts";

describe("code, comments and literals are distinguished", () => {
  const cases: { id: string; source: string; code: string }[] = [
    { id: "a line comment is blank", source: "a // Date.now()", code: "a              " },
    { id: "a block comment keeps its lines", source: "a /* x\ny */ b", code: "a     \n     b" },
    { id: "the inside of a string is blank", source: 'f("Date")', code: 'f("    ")' },
    { id: "an escaped quote does not end a string", source: '"a\\"b" + c', code: '"    " + c' },
    { id: "code inside a template stays", source: "`a${Date.now()}b`", code: "` ${Date.now()} `" },
    { id: "templates nest", source: "`a${`b${c}`}d`+e", code: "` ${` ${c}`} `+e" },
    { id: "braces inside a template part", source: "`${f({a:1})}x`+e", code: "`${f({a:1})} `+e" },
    { id: "a regex with a quote is no string", source: "x = /[\"'/]/ + y", code: "x = /     / + y" },
    { id: "a division is no regex", source: "a / b / c", code: "a / b / c" },
    { id: "a slash pair in a string is no comment", source: '"a//b" + c', code: '"    " + c' },
  ];
  test.each(cases)("$id", ({ source, code }) => expect(splitSource(source).code).toBe(code));
});

test("every way to name a module is seen, in order", () => {
  const source = [
    'import a from "a";',
    'import type { B } from "b";',
    'import {\n  c,\n} from "c";',
    'import "d";',
    'export * from "e";',
    'const f = await import("f");',
    'type G = import("g").G;',
    'const h = require("h");',
    'const no = "import x from y"; // import "z"',
  ].join("\n");
  expect(
    moduleSpecifiers(splitSource(source))
      .map(({ specifier }) => specifier)
      .join(""),
  ).toBe("abcdefgh");
});
