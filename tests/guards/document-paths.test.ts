import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findMissingPaths } from "./document-paths.ts";
import { repositoryRoot } from "./tree.ts";

const documents = [".", "docs"].flatMap((folder) =>
  readdirSync(join(repositoryRoot, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name)),
);

test.each(documents)("every file that %s names is there", (document) => {
  const markdown = readFileSync(join(repositoryRoot, document), "utf8");
  expect(findMissingPaths(document, markdown, repositoryRoot)).toEqual([]);
});

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
