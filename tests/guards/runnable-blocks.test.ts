import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { listDocuments, readBlocks, shellBlocks } from "../../scripts/documents.ts";
import { findStrayOutput, findUnmarkedBlocks } from "./runnable-blocks.ts";
import { repositoryRoot } from "./tree.ts";

const documents = listDocuments();

test("every documented command is executed by a test or says why not", () => {
  const blocks = documents.flatMap(readBlocks);
  expect(blocks.length).toBeGreaterThan(0);
  expect(findUnmarkedBlocks(blocks)).toEqual([]);
});

test.each(documents)("every output that %s shows is compared", (document) => {
  const markdown = readFileSync(join(repositoryRoot, document), "utf8");
  expect(findStrayOutput(document, markdown, shellBlocks(document, markdown))).toEqual([]);
});

describe("marks", () => {
  const fence = "```";
  const block = (mark: string) => `text\n${mark}${fence}sh\nls\n${fence}\n`;
  const shown = `\n<!-- shown -->\n${fence}text\na.md\n${fence}\n`;
  const cases: { id: string; markdown: string; unmarked: number }[] = [
    { id: "a block without a mark is a violation", markdown: block(""), unmarked: 1 },
    { id: "an unknown mark is a violation", markdown: block("<!-- run: later -->\n"), unmarked: 1 },
    { id: "a reason is needed", markdown: block("<!-- not run: -->\n"), unmarked: 1 },
    { id: "a run block is none", markdown: block("<!-- run: e2e -->\n"), unmarked: 0 },
    { id: "a reason is enough", markdown: block("<!-- not run: needs a Mac -->\n"), unmarked: 0 },
    { id: "other languages need no mark", markdown: `${fence}json\n{}\n${fence}\n`, unmarked: 0 },
    {
      id: "output of a block that is not run is a violation",
      markdown: block("<!-- not run: needs a Mac -->\n") + shown,
      unmarked: 1,
    },
    { id: "output of a run block is none", markdown: block("<!-- run: e2e -->\n") + shown, unmarked: 0 },
  ];
  test.each(cases)("$id", ({ markdown, unmarked }) => {
    expect(findUnmarkedBlocks(shellBlocks("a.md", markdown))).toHaveLength(unmarked);
  });

  test("a block keeps its script, its line and its output", () => {
    const [read] = shellBlocks("a.md", `x\n\n<!-- run: e2e -->\n${fence}sh\nls\npwd\n${fence}\n${shown}`);
    expect(read).toEqual({
      document: "a.md",
      line: 4,
      script: "ls\npwd\n",
      mark: { run: true },
      shown: "a.md\n",
    });
  });

  test("output that is elsewhere is seen", () => {
    const markdown = `${block("<!-- run: e2e -->\n")}\nProse.\n${shown}`;
    expect(findStrayOutput("a.md", markdown, shellBlocks("a.md", markdown))).toHaveLength(1);
  });
});
