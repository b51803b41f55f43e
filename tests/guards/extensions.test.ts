import { describe, expect, test } from "bun:test";
import type { Extension } from "../../src/cli/extension.ts";
import { extensions } from "../../src/cli/extensions.ts";
import { findCoreArrows, findUnusedSources } from "./extensions.ts";
import { plantedTree, readTree } from "./tree.ts";

const files = readTree("src");

describe("the core", () => {
  test("imports nothing of an extension", () => expect(findCoreArrows(files, extensions)).toEqual([]));
  test("is what no extension lists, and each list names files", () =>
    expect(findUnusedSources(files, extensions)).toEqual([]));
});

describe("a planted import is seen", () => {
  const planted: readonly Pick<Extension, "name" | "sources">[] = [
    { name: "ledger", sources: ["services/extensions/ledger/", "cli/extensions/ledger"] },
  ];
  const find = (path: string, source: string) =>
    findCoreArrows(
      plantedTree({
        [path]: source,
        "src/services/extensions/ledger/a.ts": "",
        "src/cli/extensions/ledger.ts": "",
      }),
      planted,
    );

  test.each([
    { id: "an import", source: 'import { a } from "../services/extensions/ledger/a.ts"; a();' },
    { id: "a type", source: 'import type { A } from "../services/extensions/ledger/a.ts";' },
    { id: "an import when it is asked for", source: 'await import("../services/extensions/ledger/a.ts");' },
  ])("$id", ({ source }) => expect(find("src/cli/core.ts", source)).toHaveLength(1));
  test("the list of the programs may import extensions", () =>
    expect(find("src/cli/extensions.ts", 'import "./extensions/ledger.ts";')).toEqual([]));
  test("an extension may import itself", () =>
    expect(find("src/cli/extensions/ledger.ts", 'import "../../services/extensions/ledger/a.ts";')).toEqual(
      [],
    ));
  test("a beginning of a path that no file has", () =>
    expect(findUnusedSources(plantedTree({}), planted)).toHaveLength(2));
});
