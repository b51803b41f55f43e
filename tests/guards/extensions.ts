import type { Extension } from "../../src/cli/extension.ts";
import type { SourceFile, Violation } from "./tree.ts";

type Sources = Pick<Extension, "name" | "sources">;

/** What the programs read: the extensions, and their commands. */
const lists = ["src/cli/extensions.ts", "src/cli/extension-commands.ts"];

/** Imports of extensions by files of the core, which are all files that no extension has. */
export function findCoreArrows(files: readonly SourceFile[], extensions: readonly Sources[]): Violation[] {
  const extensionOf = (path: string) =>
    extensions.find(({ sources }) => sources.some((start) => path.startsWith(`src/${start}`)))?.name ?? null;
  return files
    .filter(({ path }) => !lists.includes(path) && extensionOf(path) === null)
    .flatMap(({ path, imports }) =>
      imports.flatMap(({ resolved, line }) => {
        const extension = resolved === null ? null : extensionOf(resolved);
        return extension === null ? [] : [`${path}:${line} imports ${resolved}, which is of ${extension}`];
      }),
    );
}

/** Beginnings of paths that name no file. */
export function findUnusedSources(files: readonly SourceFile[], extensions: readonly Sources[]): Violation[] {
  return extensions.flatMap(({ name, sources }) =>
    sources
      .filter((start) => !files.some(({ path }) => path.startsWith(`src/${start}`)))
      .map((start) => `${name}: no file begins with src/${start}`),
  );
}
