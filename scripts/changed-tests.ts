import { basename, dirname, join } from "node:path";
import { areasOfSource, areasOfTest, isProgramTest } from "../tests/areas.ts";

/** One file of the repository, as text. */
export interface SourceFile {
  path: string;
  text: string;
}

/** A change of these can change what every test does. */
const everywhere = ["package.json", "bun.lock", "bunfig.toml", "tsconfig.json"];
/** They read the whole repository. */
const always = "tests/guards/";

/**
 * The test files that the changed files can reach: over imports, and over the names of files and folders in
 * texts, which is how fixtures and documents are read. A test that starts programs runs the whole command
 * line inside its process and so imports nearly every source: of these it is reached by those that it
 * imports or names itself and by those of its areas (tests/areas.ts). A name may mean another file too; then a test
 * runs in vain.
 */
export function reachedTests(
  sources: readonly SourceFile[],
  changed: readonly string[],
  tests: readonly string[],
): string[] {
  if (changed.length === 0) return [];
  if (changed.some((path) => everywhere.includes(path))) return [...tests];
  const users = usersOf(sources);
  const reached = reachedFrom(changed, sources, users);
  const [changedSources, changedElsewhere] = [
    changed.filter((path) => path.startsWith("src/")),
    changed.filter((path) => !path.startsWith("src/")),
  ];
  const reachedElsewhere = reachedFrom(changedElsewhere, sources, users);
  const usersOfSources = new Set(
    changedSources.flatMap((path) => [...namedBy(sources, path), ...(users.get(path) ?? [])]),
  );
  const areaNames = changedAreas(changed);
  const isReachedProgramTest = (test: string) =>
    areaNames === null ||
    areasOfTest(test).some(({ name }) => areaNames.has(name)) ||
    reachedElsewhere.has(test) ||
    usersOfSources.has(test);
  return tests.filter((test) => {
    if (test.startsWith(always)) return true;
    return isProgramTest(test) ? isReachedProgramTest(test) : reached.has(test);
  });
}

/** `changed`, the files that name one of them, and all that import one of these, directly or through others. */
function reachedFrom(
  changed: readonly string[],
  sources: readonly SourceFile[],
  users: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlySet<string> {
  const reached = new Set([...changed, ...changed.flatMap((path) => namedBy(sources, path))]);
  for (const path of reached) for (const user of users.get(path) ?? []) reached.add(user);
  return reached;
}

/** All files that each of `tests` imports, directly or through others. */
export function importedFiles(
  sources: readonly SourceFile[],
  tests: readonly string[],
): Map<string, ReadonlySet<string>> {
  const imported = new Map<string, string[]>();
  for (const [path, users] of usersOf(sources))
    for (const user of users) imported.set(user, [...(imported.get(user) ?? []), path]);
  const reachableFrom = (test: string) => {
    const found = new Set<string>();
    const open = [test];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      for (const next of imported.get(path) ?? []) {
        if (found.has(next)) continue;
        found.add(next);
        open.push(next);
      }
    }
    return found;
  };
  return new Map(tests.map((test) => [test, reachableFrom(test)]));
}

/** The names of the areas of the changed sources; `null` when one of them is shared by all programs. */
function changedAreas(changed: readonly string[]): Set<string> | null {
  const names = new Set<string>();
  for (const path of changed.filter((one) => one.startsWith("src/"))) {
    const areas = areasOfSource(path);
    if (areas === null) return null;
    for (const { name } of areas) names.add(name);
  }
  return names;
}

/** Which files import each file. */
function usersOf(sources: readonly SourceFile[]): Map<string, Set<string>> {
  const readers = {
    ts: new Bun.Transpiler({ loader: "ts" }),
    tsx: new Bun.Transpiler({ loader: "tsx" }),
  };
  const users = new Map<string, Set<string>>();
  for (const { path, text } of sources) {
    const imported = importsOf(readers[path.endsWith("x") ? "tsx" : "ts"], text)
      .filter((name) => name.startsWith("."))
      .map((name) => join(dirname(path), name));
    for (const used of imported) {
      const known = users.get(used) ?? new Set();
      users.set(used, known.add(path));
    }
  }
  return users;
}

function importsOf(transpiler: Bun.Transpiler, text: string): string[] {
  // The transpiler leaves out what is imported for its types alone, which no test can notice.
  return transpiler.scanImports(text.replace(/^#!.*/, "")).map(({ path }) => path);
}

/** Which file an import means is known; its name may be that of others. */
const importClauses = /\b(from|import)\s*\(?\s*["'][^"'\n]*["']/g;

/** The sources that name a file, or a folder that it is in where it is no source itself. */
function namedBy(sources: readonly SourceFile[], changed: string): string[] {
  const names = [basename(changed), ...(/\.tsx?$/.test(changed) ? [] : foldersOf(changed))];
  return sources
    .filter(({ path, text }) => path !== changed && names.some((name) => text.includes(name)))
    .filter(({ text }) => names.some((name) => text.replace(importClauses, "").includes(name)))
    .map(({ path }) => path);
}

/**
 * `tests/screens/claude/a.txt` is found by `screens/claude` and, as many walk a folder, by `tests/screens`.
 */
function foldersOf(path: string): string[] {
  const parts = dirname(path).split("/");
  if (parts.length === 1) return parts[0] === "." ? [] : [`"${parts[0]}"`];
  return parts.slice(1).map((_, index) => parts.slice(index, index + 2).join("/"));
}
