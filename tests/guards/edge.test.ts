import { expect, test } from "bun:test";
import { join } from "node:path";
import { readTree, repositoryRoot, type Violation } from "./tree.ts";

type Inputs = NonNullable<Awaited<ReturnType<typeof Bun.build>>["metafile"]>["inputs"];

async function bundledInputs(entry: string): Promise<Inputs> {
  const built = await Bun.build({
    entrypoints: [join(repositoryRoot, entry)],
    root: repositoryRoot,
    target: "bun",
    packages: "external",
    metafile: true,
  });
  return built.metafile?.inputs ?? {};
}

const ours = (path: string) => path.replace(/^.*?(?=src\/)/, "");

/**
 * The files of ours that are loaded before the first line of one runs: what it imports when it comes to it is
 * not.
 */
async function loadedBefore(entry: string): Promise<string[]> {
  const inputs = Object.entries(await bundledInputs(entry));
  const imports = new Map(
    inputs.map(([path, input]) => [
      ours(path),
      input.imports.filter(({ kind }) => kind === "import-statement").map((one) => ours(one.path)),
    ]),
  );
  const loaded = new Set<string>();
  const open = [entry];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (loaded.has(path)) continue;
    loaded.add(path);
    open.push(...(imports.get(path) ?? []).filter((next) => next.startsWith("src/")));
  }
  return [...loaded].sort();
}

/**
 * What a handler needs of one runtime only, by the files of ours that it loads at run time: imports of types
 * are gone by then.
 */
async function findRuntimeTies(entry: string): Promise<{ reached: string[]; ties: Violation[] }> {
  const loaded = new Set(Object.keys(await bundledInputs(entry)).map(ours));
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

test.each(["bridges/agui.ts", "console/gateway.ts", "observe/app.ts"])(
  "so do the routes of %s, which an extension adds",
  async (path) => {
    const { reached, ties } = await findRuntimeTies(`src/routes/${path}`);
    expect(reached).toContain("src/routes/http/mount.ts");
    expect(ties).toEqual([]);
  },
);

test("the coordinator's app runs on Web-standard APIs alone, with all that it loads", async () => {
  const { reached, ties } = await findRuntimeTies("src/routes/coordinator/app.ts");
  expect(reached).toContain("src/protocol/endpoints.ts");
  expect(ties).toEqual([]);
});

test("a tie to a runtime is seen", async () => {
  const { ties } = await findRuntimeTies("src/system/system.ts");
  expect(ties).toContain("src/system/files.ts imports node:fs");
});

const late =
  /\/(?:mail|agui|mailbox|notifier|openapi)|gateway\/(?:app|core|events|headless|reminders)\.|http\/(?:mount|errors|gate-plugin)\.|\/endpoints\./;

test("a gateway answers before it loads mail, AG-UI and any route", async () => {
  const loaded = await loadedBefore("src/cli/gateway/gateway.ts");
  expect(loaded).toEqual(
    expect.arrayContaining(["src/routes/http/deferred-app.ts", "src/services/queue/queue.ts"]),
  );
  expect(loaded.filter((path) => late.test(path))).toEqual([]);
  for (const entry of [
    "cli/extensions",
    "cli/extensions/observe/observe-agent",
    "services/extensions/bridges/signals/spool-source",
  ]) {
    const early = await loadedBefore(`src/${entry}.ts`);
    expect(early.filter((path) => late.test(path))).toEqual([]);
  }
  const further = await loadedBefore("src/cli/gateway/gateway-services.ts");
  expect(further.filter((path) => late.test(path)).length).toBeGreaterThan(30);
});
