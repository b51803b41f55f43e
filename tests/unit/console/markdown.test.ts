import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Block, type Inline, parseInline, parseMarkdown } from "../../../src/console/state/markdown.ts";

const text = (value: string): Inline => ({ kind: "text", text: value });

describe("blocks", () => {
  test.each<{ id: string; given: string; want: Block[] }>([
    { id: "a paragraph", given: "one\ntwo", want: [{ kind: "paragraph", content: [text("one\ntwo")] }] },
    { id: "a heading", given: "## Plan ##", want: [{ kind: "heading", level: 2, content: [text("Plan")] }] },
    { id: "code", given: "```ts\na < b\n```", want: [{ kind: "code", language: "ts", text: "a < b" }] },
    { id: "code without an end", given: "```\nx", want: [{ kind: "code", language: "", text: "x" }] },
    {
      id: "a numbered list",
      given: "3. a\n4. b",
      want: [{ kind: "list", ordered: true, start: 3, items: [[text("a")], [text("b")]] }],
    },
    {
      id: "an item over two lines",
      given: "- a\n  b",
      want: [{ kind: "list", ordered: false, start: 1, items: [[text("a b")]] }],
    },
    {
      id: "a table",
      given: "| a | b |\n|---|---|\n| 1 | 2 |",
      want: [{ kind: "table", head: [[text("a")], [text("b")]], rows: [[[text("1")], [text("2")]]] }],
    },
    {
      id: "a quote",
      given: "> said",
      want: [{ kind: "quote", blocks: [{ kind: "paragraph", content: [text("said")] }] }],
    },
    { id: "a rule", given: "---", want: [{ kind: "rule" }] },
    { id: "nothing", given: "\n\n", want: [] },
  ])("$id", ({ given, want }) => expect(parseMarkdown(given)).toEqual(want));
});

describe("inline", () => {
  test.each<{ id: string; given: string; want: Inline[] }>([
    { id: "code keeps its marks", given: "`**x**`", want: [{ kind: "code", text: "**x**" }] },
    { id: "strong", given: "**a b**", want: [{ kind: "strong", content: [text("a b")] }] },
    { id: "a name with underscores", given: "run_it_now", want: [text("run_it_now")] },
    {
      id: "a link",
      given: "[x](https://a.b/c)",
      want: [{ kind: "link", href: "https://a.b/c", content: [text("x")] }],
    },
    { id: "a script is text", given: "[x](javascript:alert)", want: [text("[x](javascript:alert)")] },
    { id: "a data address is text", given: "[x](data:text/html,a)", want: [text("[x](data:text/html,a)")] },
    { id: "HTML is text", given: "<img src=x onerror=y>", want: [text("<img src=x onerror=y>")] },
  ])("$id", ({ given, want }) => expect(parseInline(given)).toEqual(want));
});

function links(blocks: readonly (Block | Inline)[]): string[] {
  return blocks.flatMap((one): string[] => {
    const own = one.kind === "link" ? [one.href] : [];
    const content = "content" in one ? links(one.content) : [];
    const inner = "blocks" in one ? links(one.blocks) : [];
    const items = "items" in one ? one.items.flatMap((item) => links(item)) : [];
    return [...own, ...content, ...inner, ...items];
  });
}

test("any text is parsed, and no link leads anywhere but to a page", () => {
  const piece = fc.constantFrom(
    "**",
    "_",
    "`",
    "```\n",
    "[a](",
    "javascript:x",
    ")",
    "https://x.y",
    "> ",
    "- ",
    "|",
    "\n",
    "1. ",
    "# ",
    "-|-",
    "w ",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      for (const href of links(parseMarkdown(pieces.join("")))) expect(href).toMatch(/^https?:\/\//);
    }),
    { numRuns: 300 },
  );
});

/** A parser whose time grows with a power of the length takes longer for some of them than a test may. */
const hostile: Readonly<Record<string, string>> = {
  "a heading with blanks before its last letter": `# a${" ".repeat(100_000)}x`,
  "a heading of blanks and a line separator": `# ${" ".repeat(100_000)}\u2028`,
  "a heading of marks": `# ${"#".repeat(100_000)}x #`,
  "backticks that nothing closes": `a${"`".repeat(50_000)}${"x".repeat(50_000)}`,
  "runs of backticks, each longer than the one before": Array.from({ length: 400 }, (_, nth) =>
    "`".repeat(nth + 1),
  ).join("a"),
  "empty fences": "```\n```\n".repeat(20_000),
  "blanks below the head of a table": `a|b\n${" ".repeat(100_000)}x-`,
  "the line of a table with a letter at its end": `a|b\n${"|-".repeat(50_000)}x`,
  "stars that nothing closes": "**a".repeat(30_000),
  "brackets that nothing closes": "[".repeat(100_000),
  "stars alone": "**".repeat(40_000),
  "backticks alone": "`".repeat(40_000),
  quotes: "> ".repeat(40_000),
  "marks of emphasis": "_a ".repeat(20_000),
  bars: "|".repeat(40_000),
  "a rule with a letter at its end": `${"- ".repeat(50_000)}x`,
};
test.each(Object.keys(hostile))("%s: read in the time of its length", (name) => {
  expect(parseMarkdown(hostile[name] ?? "").length).toBeGreaterThan(0);
});

test.each([
  { source: "``a`b``", want: [{ kind: "code", text: "a`b" }] },
  { source: "`a``b`", want: [{ kind: "code", text: "a``b" }] },
  { source: "``a`", want: [text("``"), text("a"), text("`")] },
  {
    source: "`a` ``` `b`",
    want: [
      { kind: "code", text: "a" },
      { kind: "text", text: " " },
      { kind: "text", text: "```" },
      { kind: "text", text: " " },
      { kind: "code", text: "b" },
    ],
  },
])("the backticks of $source close as many", ({ source, want }) => {
  expect(parseInline(source)).toEqual(want as never);
});

test.each([
  { source: "# a # b ##", want: "a # b" },
  { source: "## #", want: "" },
  { source: "#   a", want: "a" },
])("the heading $source", ({ source, want }) => {
  expect(parseMarkdown(source)).toMatchObject([
    { kind: "heading", content: want === "" ? [] : [{ text: want }] },
  ]);
});
