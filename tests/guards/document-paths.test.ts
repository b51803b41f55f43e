import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { listDocuments } from "../../scripts/documents.ts";
import { findMissingAnchors, findMissingPaths } from "./document-paths.ts";
import { repositoryRoot } from "./tree.ts";

test.each(listDocuments())("every file and heading that %s names is there", (document) => {
  const markdown = readFileSync(join(repositoryRoot, document), "utf8");
  expect(findMissingPaths(document, markdown, repositoryRoot)).toEqual([]);
  expect(findMissingAnchors(document, markdown, repositoryRoot)).toEqual([]);
});

test("docs/README.md leads to every document below docs/", () => {
  const index = readFileSync(join(repositoryRoot, "docs/README.md"), "utf8");
  // DECISIONS.md is the index of the records.
  const below = listDocuments().filter((path) => /^docs\/(?!README\.md|decisions\/)/.test(path));
  expect(below.filter((path) => !index.includes(`](${path.slice("docs/".length)})`))).toEqual([]);
});

test("docs/README.md leads to each document once", () => {
  const index = readFileSync(join(repositoryRoot, "docs/README.md"), "utf8");
  const rows = [...index.matchAll(/^\| \[.*?\]\(.*?\)/gm)].map(([row]) => row);
  expect(rows).toEqual([...new Set(rows)]);
});

// What the API is described from is no part of the repository: whoever reads the descriptions cannot look it
// up.
test.each(["gateway", "coordinator"])(
  "the OpenAPI document of the %s names no file of a specification",
  (of) => {
    const text = readFileSync(join(repositoryRoot, `docs/openapi.${of}.json`), "utf8");
    expect(text.match(/.*\bspec\/.*/g)).toBeNull();
  },
);

test("a name in backticks and a link are looked up, patterns and shell blocks are not", () => {
  const fence = "```";
  const markdown = [
    "`src/no-such.ts`, `src/cli/svc-mgr.ts`, `tests/screens/<tool>/`, `src/**/x.ts`",
    "[there](LICENSE) [gone](docs/no-such.md) [web](https://example.com)",
    `${fence}sh\ncat \`src/other.ts\`\n${fence}`,
  ].join("\n");
  expect(findMissingPaths("README.md", markdown, repositoryRoot)).toEqual([
    "README.md: names src/no-such.ts, which is not there",
    "README.md: names docs/no-such.md, which is not there",
  ]);
});

test("a link to a heading needs the heading, here and elsewhere", () => {
  const markdown =
    "## What it is, now\n[here](#what-it-is-now) [not](#what-it-was) [there](LICENSE#no-such)\n";
  expect(findMissingAnchors("README.md", markdown, repositoryRoot)).toEqual([
    "README.md: no heading is called #what-it-was",
    "README.md: no heading is called LICENSE#no-such",
  ]);
});
