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

test.each([
  "**".repeat(40_000),
  "`".repeat(40_000),
  "> ".repeat(40_000),
  "[".repeat(40_000),
  "_a ".repeat(20_000),
  "|".repeat(40_000),
])("a hostile text of %#. kind takes no longer than its length allows", (hostile) => {
  const began = Bun.nanoseconds();
  parseMarkdown(hostile);
  expect((Bun.nanoseconds() - began) / 1e6).toBeLessThan(2_000);
});
