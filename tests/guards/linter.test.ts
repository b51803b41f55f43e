import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { repositoryRoot } from "./tree.ts";

interface Planted {
  id: string;
  path: string;
  source: string;
  /** The rule of biome.json that reports it; null for none. */
  rule: string | null;
}

const globals = "lint/style/noRestrictedGlobals";
const imports = "lint/style/noRestrictedImports";

/**
 * Source texts that Biome must refuse. They are planted in another folder and are no tests of this project.
 */
const planted: Planted[] = [
  {
    id: "process.env in services",
    path: "src/services/a/b.ts",
    source: "const x = process.env;",
    rule: globals,
  },
  { id: "process by index", path: "src/db/a.ts", source: 'process["pid"];', rule: globals },
  { id: "node:process", path: "src/db/a.ts", source: 'import { pid } from "node:process";', rule: imports },
  { id: "new Date", path: "src/services/a/b.ts", source: "new Date();", rule: globals },
  { id: "Date.now in cli", path: "src/cli/a.ts", source: "Date.now();", rule: globals },
  { id: "performance.now", path: "src/db/a.ts", source: "performance.now();", rule: globals },
  { id: "setTimeout", path: "src/services/a/b.ts", source: "setTimeout(f, 1);", rule: globals },
  { id: "setImmediate", path: "src/db/a.ts", source: "setImmediate(f);", rule: globals },
  {
    id: "node:timers",
    path: "src/db/a.ts",
    source: 'import { x } from "node:timers/promises";',
    rule: imports,
  },
  { id: "node:fs", path: "src/cli/a.ts", source: 'import { readFileSync } from "node:fs";', rule: imports },
  {
    id: "child_process",
    path: "src/cli/a.ts",
    source: 'import { exec } from "node:child_process";',
    rule: imports,
  },
  {
    id: "elysia in services",
    path: "src/services/a/b.ts",
    source: 'import { Elysia } from "elysia";',
    rule: imports,
  },
  {
    id: "an elysia type in cli",
    path: "src/cli/a.ts",
    source: 'import type { X } from "@elysiajs/openapi";',
    rule: imports,
  },
  {
    id: "drizzle in services",
    path: "src/services/a/b.ts",
    source: 'import { eq } from "drizzle-orm";',
    rule: imports,
  },
  {
    id: "bun:sqlite in cli",
    path: "src/cli/a.ts",
    source: 'import { Database } from "bun:sqlite";',
    rule: imports,
  },
  { id: "Bun in routes", path: "src/routes/a.ts", source: "Bun.serve({});", rule: globals },
  { id: "Buffer in protocol", path: "src/protocol/a.ts", source: "Buffer.from(x);", rule: globals },
  {
    id: "node:path in routes",
    path: "src/routes/a.ts",
    source: 'import { join } from "node:path";',
    rule: imports,
  },
  {
    id: "a bun module in routes",
    path: "src/routes/a.ts",
    source: 'import { x } from "bun:ffi";',
    rule: imports,
  },
  { id: "not Date in system", path: "src/system/clock.ts", source: "Date.now();", rule: null },
  { id: "not process in cli", path: "src/cli/a.ts", source: "process.exitCode = 1;", rule: null },
  {
    id: "not a record called process",
    path: "src/services/a/b.ts",
    source: "tree.map((process) => process.argv);",
    rule: null,
  },
  {
    id: "not a variable called processes",
    path: "src/services/a/b.ts",
    source: "processes.run([]);",
    rule: null,
  },
  {
    id: "a global by way of globalThis",
    path: "src/db/a.ts",
    source: "globalThis.setTimeout(f, 1);",
    rule: globals,
  },
  { id: "a dynamic import", path: "src/services/a/b.ts", source: 'await import("node:fs");', rule: imports },
  {
    id: "a part of drizzle in routes",
    path: "src/routes/a.ts",
    source: 'import { x } from "drizzle-orm/sqlite-core";',
    rule: imports,
  },
  {
    id: "the database in system",
    path: "src/system/a.ts",
    source: 'import { Database } from "bun:sqlite";',
    rule: imports,
  },
  {
    id: "not the lock of system",
    path: "src/system/locks.ts",
    source: 'import { Database } from "bun:sqlite";',
    rule: null,
  },
  {
    id: "a circle of type-only imports",
    path: "src/db/a.ts",
    source: 'import type { b } from "./circle.ts";\nexport type a = b;',
    rule: "lint/suspicious/noImportCycles",
  },
  {
    id: "a skipped test",
    path: "tests/unit/a.test.ts",
    source: 'test.skip("x", () => {});',
    rule: "lint/suspicious/noSkippedTests",
  },
  {
    id: "a disabled test",
    path: "tests/unit/a.test.ts",
    source: 'xit("x", () => {});',
    rule: "lint/suspicious/noSkippedTests",
  },
  {
    id: "a focused test",
    path: "tests/unit/a.test.ts",
    source: 'test.only("x", f);',
    rule: "lint/suspicious/noFocusedTests",
  },
];

const folder = mkdtempSync(join(tmpdir(), "linter-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * The planted files below the linter's own configuration: each in a folder of its number, and what is
 * reported of it.
 */
const reported = ((): string[][] => {
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const configuration = JSON.parse(readFileSync(join(repositoryRoot, "biome.json"), "utf8"));
  delete configuration.$schema;
  configuration.vcs = { enabled: false };
  put("biome.json", JSON.stringify(configuration));
  // The path decides which rules hold: each name is numbered, except those of single files.
  const paths = planted.map(({ path, source }, index) => {
    const numbered = path === "src/system/locks.ts" ? path : path.replace(/(\.test)?\.ts$/, `-${index}$1.ts`);
    put(numbered, source);
    if (source.includes("./circle.ts")) {
      put("src/db/circle.ts", `import type { a } from "./a-${index}.ts";\nexport type b = a;`);
    }
    return numbered;
  });
  const biome = join(repositoryRoot, "node_modules", ".bin", "biome");
  const { stdout } = Bun.spawnSync([biome, "lint", "--reporter=json", "--max-diagnostics=none", "."], {
    cwd: folder,
    stderr: "ignore",
  });
  const { diagnostics } = JSON.parse(stdout.toString()) as {
    diagnostics: { category: string; location: { path: string } }[];
  };
  return paths.map((path) =>
    diagnostics.filter(({ location }) => location.path.endsWith(path)).map(({ category }) => category),
  );
})();

test.each(planted.map((one, index) => ({ ...one, index })))("the linter on $id", ({ rule, index }) => {
  const found = (reported[index] ?? []).filter((category) => /Restricted|Cycles|Tests$/.test(category));
  expect(new Set(found)).toEqual(new Set(rule === null ? [] : [rule]));
});
