import { lineAt } from "./source-text.ts";
import type { SourceFile, Violation } from "./tree.ts";

/**
 * Modules that may put other than fixed names behind a folder with `join` or `resolve`, each with where the
 * values come from. Everything else takes `childPath` or `containedPath`, which look at the value
 * (security.md, rule 1).
 */
export const pathMakers: Readonly<Record<string, string>> = {
  "src/system/contained-path.ts": "looks at each name",
  "src/system/files.ts": "a temporary name of its own; names that a folder lists",
  "src/system/open-file.ts": "judges where the open file lies",
  "src/system/ownership.ts": "looks at each folder on the way, follows what it finds and uses none",
  "src/services/mail/filesystem/registration/registrations.ts": "the folder that a person names",
  "src/services/sessions/overlays.ts": "a digest; names that a folder of this user lists",
  "src/services/sessions/roots.ts": "fixed names in a helper",
  "src/services/skills/ownership.ts": "a table of folder names",
  "src/services/terminal/tmux/launch.ts": "random names, and listed ones of that form",
  "src/services/terminal/tmux/window.ts": "random names",
  "src/cli/command-line/tmux-socket.ts": "the socket that this user's environment names",
};

const call = /(?<![.\w])(join|resolve|normalize)\s*\(/g;
const fixed = /^(?:["'`]\s*["'`]|\.\.\.\[\])$/;

/** Calls of node:path's `join` and `resolve` in which anything behind the folder is not a fixed text. */
export function findJoinedValues(
  files: readonly SourceFile[],
  makers: Readonly<Record<string, string>> = pathMakers,
): Violation[] {
  return files.flatMap((file) => {
    const usesPaths = file.imports.some(({ specifier }) => /^(?:node:)?path(?:\/posix)?$/.test(specifier));
    if (!usesPaths || makers[file.path] !== undefined) return [];
    const { code } = file.text;
    const constants = fixedNames(file);
    // A command line is a person's own words.
    const byPerson = (name: string | undefined) => name === "resolve" && file.path.startsWith("src/cli/");
    return [...code.matchAll(call)].flatMap((match) => {
      const parts = argumentsAt(code, match.index + match[0].length);
      const values = parts.slice(1).filter((part) => !fixed.test(part) && !constants.has(part));
      return values.length === 0 || byPerson(match[1])
        ? []
        : [
            `${file.path}:${lineAt(file.source, match.index)} ${match[1]}(..., ${values.join(", ")}): use childPath`,
          ];
    });
  });
}

/** Other names for these would pass unseen. */
export function findRenamedPaths(files: readonly SourceFile[]): Violation[] {
  const renamed = /\b(?:join|resolve|normalize)\s+as\s+\w+|\*\s+as\s+\w+|\bimport\s+\w+\s+from/g;
  return files.flatMap((file) =>
    file.source
      .split("\n")
      .filter((line) => /from "(?:node:)?path(?:\/posix)?"/.test(line) && line.search(renamed) >= 0)
      .map((line) => `${file.path} ${line.trim()}: import join under its own name`),
  );
}

/** Constants of the module, or of the mail layout, that hold a text. */
function fixedNames({ source }: SourceFile): Set<string> {
  const own = [...source.matchAll(/^(?:export )?const (\w+) = "[^"]*";$/gm)].map((match) => match[1] ?? "");
  return new Set([...own, "stateFileName", "overlayName"]);
}

/** The arguments of a call, from behind its opening bracket; strings are blank there. */
function argumentsAt(code: string, start: number): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = start;
  for (let at = start; at < code.length; at++) {
    const char = code[at] ?? "";
    if ("([{".includes(char)) depth++;
    else if (")]}".includes(char) && depth > 0) depth--;
    else if (depth === 0 && (char === "," || char === ")")) {
      parts.push(code.slice(from, at).trim());
      from = at + 1;
      if (char === ")") break;
    }
  }
  return parts.filter((part) => part !== "");
}
