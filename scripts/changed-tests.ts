import { basename, dirname, join } from "node:path";

/** One file of the repository, as text. */
export interface SourceFile {
  path: string;
  text: string;
}

/** A change of these can change what every test does. */
const everywhere = ["package.json", "bun.lock", "bunfig.toml", "tsconfig.json"];
/** They read the whole repository. */
const always = "tests/guards/";
/** What is started as a program is named by its folder or in `dist`, not imported. */
const programs = /\bsrc\/cli\b|\bdist\b/;
/** The entries, and the browser application, which a build packs into them. */
const isProgram = (path: string) => /^src\/cli\/svc[a-z-]*\.ts$|^src\/console\//.test(path);

/**
 * The test files that the changed files can reach: over imports, and over the names of files and folders in texts, which
 * is how fixtures, documents and programs are read. A name may mean another file too; then a test runs in vain.
 */
export function reachedTests(
  sources: readonly SourceFile[],
  changed: readonly string[],
  tests: readonly string[],
): string[] {
  if (changed.length === 0) return [];
  if (changed.some((path) => everywhere.includes(path))) return [...tests];
  const users = usersOf(sources);
  const reached = new Set<string>(changed);
  const open = [...changed];
  for (const path of changed) {
    for (const user of namedBy(sources, path)) add(user);
  }
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    for (const user of users.get(path) ?? []) add(user);
  }
  return tests.filter((test) => reached.has(test) || test.startsWith(always));

  function add(path: string): void {
    if (reached.has(path)) return;
    reached.add(path);
    open.push(path);
  }
}

/** Which files use each file: by an import, or by starting the programs. */
function usersOf(sources: readonly SourceFile[]): Map<string, Set<string>> {
  const readers = {
    ts: new Bun.Transpiler({ loader: "ts" }),
    tsx: new Bun.Transpiler({ loader: "tsx" }),
  };
  const entries = sources.map(({ path }) => path).filter(isProgram);
  const users = new Map<string, Set<string>>();
  for (const { path, text } of sources) {
    const imported = importsOf(readers[path.endsWith("x") ? "tsx" : "ts"], text)
      .filter((name) => name.startsWith("."))
      .map((name) => join(dirname(path), name));
    const started = path.startsWith("tests/") && programs.test(text) ? entries : [];
    for (const used of [...imported, ...started]) {
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

/** `tests/screens/claude/a.txt` is found by `screens/claude` and, as many walk a folder, by `tests/screens`. */
function foldersOf(path: string): string[] {
  const parts = dirname(path).split("/");
  if (parts.length === 1) return parts[0] === "." ? [] : [`"${parts[0]}"`];
  return parts.slice(1).map((_, index) => parts.slice(index, index + 2).join("/"));
}
