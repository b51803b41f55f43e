import type { SourceFile, Violation } from "./tree.ts";
import { matchesInCode } from "./tree.ts";

const emptyNames = /(^|[-.])(utils?|helpers?|managers?|misc|stuff)([-.]|$)/;
const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/**
 * Files and folders are kebab-case and say what they hold. `.test.ts`, `.bench.ts` and `.d.ts` are endings,
 * not names.
 */
export function findEmptyNames(paths: string[]): Violation[] {
  return paths.flatMap((path) =>
    path
      .replace(/(?:\.test|\.bench|\.d)?\.tsx?$/, "")
      .split("/")
      .flatMap((part) => {
        if (emptyNames.test(part)) return [`${path}: "${part}" says nothing`];
        return kebabCase.test(part) ? [] : [`${path}: "${part}" is not kebab-case`];
      }),
  );
}

/** Spreads of an object that is written right there, which only save lines. */
export function findSpreadLiterals(files: SourceFile[]): Violation[] {
  return files.flatMap((file) => matchesInCode(file, /\.\.\.\{/g, "write its properties without a spread"));
}

/** Modules of fewer than `limit` lines that one other module imports: they belong into it. */
export function findTinyModules(
  files: SourceFile[],
  limit: number,
  allowed: Readonly<Record<string, string>> = {},
): Violation[] {
  const importers = new Map<string, Set<string>>();
  for (const { path, imports } of files) {
    for (const { resolved } of imports) {
      if (resolved !== null) importers.set(resolved, (importers.get(resolved) ?? new Set()).add(path));
    }
  }
  return files.flatMap(({ path, source }) => {
    const [importer, ...more] = importers.get(path) ?? [];
    const lines = source.trimEnd().split("\n").length;
    if (importer === undefined || more.length > 0 || lines >= limit || path in allowed) return [];
    return [`${path}: ${lines} lines that only ${importer} imports`];
  });
}

/** Notes to self belong into an issue, not into source. */
export function findNotesToSelf(files: SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    [...file.text.comments.matchAll(/\b(?:TODO|FIXME|XXX|HACK)\b.*/g)].map(
      (match) => `${file.path}: ${match[0].trim()}`,
    ),
  );
}

/** Sources of facts are public documents and decisions, never numbers of an issue tracker. */
export function findIssueNumbers(files: SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    [...file.text.comments.matchAll(/\bissues? #?\d+/gi)].map((match) => `${file.path}: ${match[0]}`),
  );
}

/**
 * Tests that may not run and that the linter does not report: it has rules for `skip` and `only` with a
 * function.
 */
export function findSilencedTests(files: SourceFile[]): Violation[] {
  const silenced =
    /\b(?:test|it|describe)(?:\s*\.\s*\w+)*?\s*\.\s*(?:skip|todo|skipIf|todoIf|onlyIf|if|failing)\b/g;
  return files.flatMap((file) => matchesInCode(file, silenced, "a test that may not run"));
}

/**
 * Tests wait for events and conditions; the bounded poll that does so is in tests/support or the live lab. A
 * bench lets time pass because time is what it measures.
 */
export function findSleepingTests(files: SourceFile[]): Violation[] {
  const sleeping = /\bBun\.sleep(?:Sync)?\b|\bsetTimeout\s*\(\s*(?:resolve|done|r)\b|\bAtomics\.wait\b/g;
  return files
    .filter(({ path }) => !/^tests\/(?:support|bench|live\/lab)\//.test(path))
    .flatMap((file) => matchesInCode(file, sleeping, "a sleep instead of a wait"));
}

/**
 * `.rejects` and `.resolves` wait in a second event loop, where events of other processes and connections get
 * lost. Only a unit test has none.
 */
export function findBlockingMatchers(files: SourceFile[]): Violation[] {
  const message = "a blocking wait: expect(await awaitOutcome(promise)).toThrow(...)";
  return files
    .filter(({ path }) => !path.startsWith("tests/unit/"))
    .flatMap((file) => matchesInCode(file, /\)\s*\.(?:rejects|resolves)\b/g, message));
}
