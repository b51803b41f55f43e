import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findUnmarkedBlocks, shellBlocks } from "./runnable-blocks.ts";
import { listFiles, repositoryRoot } from "./tree.ts";

const documents = [
  "README.md",
  "CONTRIBUTING.md",
  ...listFiles("docs").filter((path) => path.endsWith(".md")),
];
const blocks = documents.flatMap((path) =>
  shellBlocks(path, readFileSync(join(repositoryRoot, path), "utf8")),
);

test("every documented command is executed by a test or says why not", () => {
  expect(blocks.length).toBeGreaterThan(0);
  expect(findUnmarkedBlocks(blocks)).toEqual([]);
});

describe("marks", () => {
  const fence = "```";
  const cases: { id: string; markdown: string; unmarked: number }[] = [
    {
      id: "a block without a mark is a violation",
      markdown: `text\n${fence}sh\nls\n${fence}\n`,
      unmarked: 1,
    },
    {
      id: "an unknown mark is a violation",
      markdown: `<!-- run: later -->\n${fence}sh\nls\n${fence}\n`,
      unmarked: 1,
    },
    { id: "a reason is needed", markdown: `<!-- not run: -->\n${fence}sh\nls\n${fence}\n`, unmarked: 1 },
    { id: "a run block is none", markdown: `<!-- run: e2e -->\n${fence}sh\nls\n${fence}\n`, unmarked: 0 },
    {
      id: "a reason is enough",
      markdown: `<!-- not run: needs a Mac -->\n${fence}sh\nls\n${fence}\n`,
      unmarked: 0,
    },
    { id: "other languages need no mark", markdown: `${fence}json\n{}\n${fence}\n`, unmarked: 0 },
  ];
  test.each(cases)("$id", ({ markdown, unmarked }) => {
    expect(findUnmarkedBlocks(shellBlocks("a.md", markdown))).toHaveLength(unmarked);
  });
  test("a block keeps its script and its line", () => {
    const [block] = shellBlocks("a.md", `x\n\n<!-- run: e2e -->\n${fence}sh\nls\npwd\n${fence}\n`);
    expect(block).toEqual({ document: "a.md", line: 4, script: "ls\npwd\n", mark: { run: true } });
  });
});
