import { expect, test } from "bun:test";
import { join } from "node:path";
import { readTree, repositoryRoot, type Violation } from "./tree.ts";

/**
 * What a handler needs of one runtime only, by the files of ours that it loads at run time: imports of types are gone
 * by then.
 */
async function findRuntimeTies(entry: string): Promise<{ reached: string[]; ties: Violation[] }> {
  const built = await Bun.build({
    entrypoints: [join(repositoryRoot, entry)],
    root: repositoryRoot,
    target: "bun",
    packages: "external",
    metafile: true,
  });
  const loaded = new Set(
    Object.keys(built.metafile?.inputs ?? {}).map((path) => path.replace(/^.*?(?=src\/)/, "")),
  );
  const reached = readTree("src").filter((file) => loaded.has(file.path));
  const ties = reached.flatMap((file) => [
    ...file.imports
      .filter(({ specifier }) => /^(?:node:|bun:|bun$)/.test(specifier))
      .map(({ specifier }) => `${file.path} imports ${specifier}`),
    ...[...file.text.code.matchAll(/\b(?:Bun|Deno|Buffer|process)\s*\./g)].map(
      (match) => `${file.path} uses ${match[0]}`,
    ),
  ]);
  return { reached: reached.map(({ path }) => path), ties };
}

test("the gateway's app runs on Web-standard APIs alone, with all that it loads", async () => {
  const { reached, ties } = await findRuntimeTies("src/routes/gateway/app.ts");
  expect(reached).toEqual(expect.arrayContaining(["src/protocol/endpoints.ts", "src/routes/http/gate.ts"]));
  expect(ties).toEqual([]);
});

test("the coordinator's app runs on Web-standard APIs alone, with all that it loads", async () => {
  const { reached, ties } = await findRuntimeTies("src/routes/coordinator/app.ts");
  expect(reached).toContain("src/protocol/forwarded-endpoints.ts");
  expect(ties).toEqual([]);
});

test("a tie to a runtime is seen", async () => {
  const { ties } = await findRuntimeTies("src/system/system.ts");
  expect(ties).toContain("src/system/files.ts imports node:fs");
});
