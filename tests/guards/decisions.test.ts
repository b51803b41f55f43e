import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findMisfiledDecisions, findUnknownCitations } from "./decisions.ts";
import { repositoryRoot } from "./tree.ts";

const folder = join(repositoryRoot, "docs", "decisions");
const files = readdirSync(folder).map((name) => ({
  name,
  content: readFileSync(join(folder, name), "utf8"),
}));
const index = readFileSync(join(repositoryRoot, "DECISIONS.md"), "utf8");

test("each decision has the form of a record and its row in the index", () => {
  expect(findMisfiledDecisions(files, index)).toEqual([]);
});

test("each number of a decision that a text cites is a record", () => {
  const known = new Set(files.map(({ name }) => Number(name.slice(0, 4))));
  const listed = Bun.spawnSync(["git", "ls-files", "*.ts", "*.md"], {
    cwd: repositoryRoot,
  }).stdout.toString();
  const cited = listed
    .trim()
    .split("\n")
    .filter((path) => path !== "CHANGELOG.md" && !path.startsWith("tests/guards/decisions"))
    .flatMap((path) => findUnknownCitations(path, readFileSync(join(repositoryRoot, path), "utf8"), known));
  expect(cited).toEqual([]);
});

const record = (number: string, title: string) => ({
  name: `0001-${title}.md`,
  content: `# ${number}. ${title}\n\n- Date: 2026-01-02\n- Status: accepted\n\n## Context\n\n## Decision\n\n## Consequences\n`,
});

test.each([
  { id: "another number", file: record("2", "one"), want: "0001-one.md: calls itself 2 (one)" },
  { id: "no row", file: record("1", "one"), want: "DECISIONS.md lacks: | 1 | 2026-01-02 | accepted |" },
  {
    id: "a missing section",
    file: { ...record("1", "one"), content: record("1", "one").content.replace("## Decision\n", "") },
    want: '0001-one.md: has no "## Decision"',
  },
])("a misfiled decision is found: $id", ({ file, want }) => {
  expect(findMisfiledDecisions([file], "").join("\n")).toContain(want);
});

test("a row without a record and a citation without a record are found", () => {
  expect(findMisfiledDecisions([], "| 1 | x | accepted | [a](docs/decisions/0001-a.md) |")).toHaveLength(1);
  expect(findUnknownCitations("a.ts", "see decision 7 and decision 8", new Set([7]))).toEqual([
    "a.ts: cites decision 8, which is no record",
  ]);
});
