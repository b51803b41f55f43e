import { describe, expect, test } from "bun:test";
import { findAgentBypasses, findModuleCycles, findUpwardImports } from "./layers.ts";
import { plantedTree, readTree } from "./tree.ts";

const files = readTree("src");

describe("the layers", () => {
  test("there is something to guard", () => expect(files.length).toBeGreaterThan(10));
  test("imports point down", () => expect(findUpwardImports(files)).toEqual([]));
  test("modules do not import each other in a cycle", () => expect(findModuleCycles(files)).toEqual([]));
  test("the queue and its neighbours reach the agent through services/agent", () =>
    expect(findAgentBypasses(files)).toEqual([]));
});

describe("a planted violation is seen", () => {
  const upward: { id: string; path: string; source: string }[] = [
    { id: "db imports services", path: "src/db/a.ts", source: 'import { b } from "../services/b.ts";' },
    { id: "a type-only import counts", path: "src/db/a.ts", source: 'import type { B } from "../cli/b.ts";' },
    { id: "a re-export counts", path: "src/routes/x/a.ts", source: 'export * from "../../cli/b.ts";' },
    { id: "a dynamic import counts", path: "src/system/a.ts", source: 'await import("../db/b.ts");' },
    { id: "an import type counts", path: "src/db/a.ts", source: 'type B = import("../routes/b.ts").B;' },
    { id: "protocol imports system", path: "src/protocol/a.ts", source: 'import "../system/clock.ts";' },
    { id: "system imports protocol", path: "src/system/a.ts", source: 'import "../protocol/wire.ts";' },
    { id: "a file outside the layers", path: "src/loose.ts", source: "export const x = 1;" },
    { id: "console imports system", path: "src/console/a.tsx", source: 'import "../system/clock.ts";' },
    { id: "cli imports console", path: "src/cli/a.ts", source: 'import "../console/b.tsx";' },
    { id: "source imports tests", path: "src/cli/a.ts", source: 'import "../../tests/support/a.ts";' },
  ];
  test.each(upward)("$id", ({ path, source }) => {
    expect(findUpwardImports(plantedTree({ [path]: source }))).toHaveLength(1);
  });

  test("prose about an import is not an import", () => {
    const source = '// import "../cli/b.ts"\nexport const text = `import "../cli/b.ts"`;';
    expect(findUpwardImports(plantedTree({ "src/db/a.ts": source }))).toEqual([]);
  });
  test("a cycle of modules without a cycle of files", () => {
    const tree = plantedTree({
      "src/services/queue/a.ts": 'import "../agent/b.ts";',
      "src/services/agent/b.ts": "",
      "src/services/agent/c.ts": 'import "../queue/d.ts";',
      "src/services/queue/d.ts": "",
    });
    expect(findModuleCycles(tree)).toHaveLength(1);
  });
  test("a cycle of a folder and the files beside it", () => {
    const tree = plantedTree({
      "src/console/app.tsx": 'import "./screens/a.tsx";',
      "src/console/api.ts": "",
      "src/console/screens/a.tsx": 'import "../api.ts";',
    });
    expect(findModuleCycles(tree)).toHaveLength(1);
  });
  test("the queue imports the terminal", () => {
    const tree = plantedTree({ "src/services/queue/a.ts": 'import type { T } from "../terminal/state.ts";' });
    expect(findAgentBypasses(tree)).toHaveLength(1);
  });
});
