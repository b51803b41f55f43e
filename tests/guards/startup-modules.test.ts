import { expect, test } from "bun:test";
import { plantedTree, readTree, type SourceFile, type Violation } from "./tree.ts";

/** Where a gateway's process begins, and the modules that it imports one after the other until it answers. */
const entries = [
  "src/cli/svc-gateway.ts",
  "src/cli/programs.ts",
  "src/cli/commands/serve.ts",
  "src/services/sessions/tool-signals.ts",
  "src/services/extensions/bridges/signals/spool-source.ts",
  "src/cli/extensions/observe/observe-agent.ts",
];

/**
 * Of services and routes, what a gateway is made of when it answers `/health`; the rest is imported later.
 */
const startingServices = new Set([
  "agent",
  "diagnostics",
  "headless",
  "prompt",
  "queue",
  "reminders",
  "sessions",
  "status",
  "terminal",
]);
const startingExtensions = ["bridges/signals/", "observe/transcript/"];
const startingFiles = new Set(["src/services/fleet/listener-proof.ts", "src/services/fleet/liveness.ts"]);
const startingRoutes = new Set(["gateway", "http"]);
const startingTables = new Set(["gateway", "tools"]);
const startingPackages = new Set([
  "bun:ffi",
  "bun:sqlite",
  "node:fs",
  "node:os",
  "node:path",
  "node:url",
  "@sinclair/typebox",
  "@sinclair/typebox/errors",
  "@sinclair/typebox/value",
  "croner",
  "drizzle-orm",
  "drizzle-orm/bun-sqlite",
  "drizzle-orm/sqlite-core",
  "elysia",
]);
/** Each takes a quarter of a millisecond or more, and nothing that starts asks for its schemas. */
const laterProtocol = new Set([
  "agui",
  "console",
  "coordinator",
  "mail",
  "mailbox-admin",
  "notifier",
  "recorder",
]);

/** What a module evaluates with itself: its static imports without those of types. */
function evaluatedWith({ path, source }: SourceFile): string[] {
  if (!/\.tsx?$/.test(path)) return [];
  const transpiler = new Bun.Transpiler({ loader: path.endsWith("x") ? "tsx" : "ts" });
  const imports = transpiler.scanImports(source.replace(/^#!.*/, ""));
  return imports.filter(({ kind }) => kind === "import-statement").map(({ path: specifier }) => specifier);
}

function findEarlyModules(files: readonly SourceFile[], first: readonly string[]): Violation[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reachedFrom = new Map(first.map((path) => [path, "the start"]));
  const found: Violation[] = [];
  for (const path of reachedFrom.keys()) {
    const file = byPath.get(path);
    if (file === undefined) continue;
    if (!mayStart(path))
      found.push(`${path} is evaluated before a gateway answers, by ${reachedFrom.get(path)}`);
    for (const specifier of evaluatedWith(file)) {
      if (!specifier.startsWith(".")) {
        if (!startingPackages.has(specifier))
          found.push(`${path} loads ${specifier} before a gateway answers`);
        continue;
      }
      const next = file.imports.find((one) => one.specifier === specifier)?.resolved;
      if (next && !reachedFrom.has(next)) reachedFrom.set(next, path);
    }
  }
  return found;
}

function mayStart(path: string): boolean {
  const [, layer = "", module = ""] = path.split("/");
  if (startingFiles.has(path)) return true;
  if (layer === "services" && module === "extensions")
    return startingExtensions.some((start) => path.startsWith(`src/services/extensions/${start}`));
  if (layer === "services") return startingServices.has(module);
  if (layer === "routes") return startingRoutes.has(module) && path !== "src/routes/gateway/app.ts";
  if (layer === "db" && path.split("/").length > 3) return startingTables.has(module);
  if (layer === "protocol") return !laterProtocol.has(module.replace(/\.ts$/, ""));
  return layer !== "console";
}

const files = readTree("src");

test("a gateway answers before it evaluates what nothing asks for yet", () => {
  expect(entries.filter((path) => !files.some((file) => file.path === path))).toEqual([]);
  expect(findEarlyModules(files, entries)).toEqual([]);
});

test.each([
  { id: "mail", source: 'import { a } from "../services/mail/a.ts"; a();', found: 1 },
  { id: "mail again exported", source: 'export * from "../services/mail/a.ts";', found: 1 },
  { id: "mail for its effects", source: 'import "../services/mail/a.ts";', found: 1 },
  { id: "a type of mail", source: 'import type { A } from "../services/mail/a.ts";', found: 0 },
  { id: "mail when it is asked for", source: 'await import("../services/mail/a.ts");', found: 0 },
  { id: "Node's streams", source: 'import { isatty } from "node:tty"; isatty(1);', found: 1 },
])("a planted import: $id", ({ source, found }) => {
  const tree = plantedTree({
    "src/cli/a.ts": source,
    "src/services/mail/a.ts": "export const a = () => {};",
  });
  expect(findEarlyModules(tree, ["src/cli/a.ts"])).toHaveLength(found);
});
