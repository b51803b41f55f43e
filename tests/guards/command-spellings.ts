import type { SourceFile, Violation } from "./tree.ts";

const below = /^src\/(?:services|system|db|protocol|routes)\//;

/**
 * A command line of a program of ours: `svc-mgr`, `svc-coord` or `svc-gateway` and a word, or `svc` and one of
 * its commands.
 */
export function commandPattern(shortCommands: readonly string[]): RegExp {
  return new RegExp(
    String.raw`\bsvc-(?:mgr|coord|gateway) [a-z]|(?<![\w.-])svc (?:${shortCommands.join("|")})\b`,
  );
}

/**
 * The wake-up prompt points an agent at the command that finds its mailbox: contract 4.1, notifier rule 6,
 * fixes that command in the text.
 */
const fixedByContract = new Set(["src/services/notifier/render.ts"]);

/** Below the programs a remedy is a code: each program words the codes in one file. */
export function findCommandSpellings(files: readonly SourceFile[], pattern: RegExp): Violation[] {
  return files
    .filter(({ path }) => below.test(path) && !fixedByContract.has(path))
    .flatMap(({ path, source }) =>
      source
        .split("\n")
        .flatMap((line, index) =>
          pattern.test(line) ? [`${path}:${index + 1} spells a command: ${line.trim()}`] : [],
        ),
    );
}

const programs = ["src/cli/mgr.ts", "src/cli/programs.ts", "src/cli/short/short.ts"];

/** A command calls another one with values: only the programs parse a line of words, which a person gave. */
export function findInnerPrograms(files: readonly SourceFile[]): Violation[] {
  return files
    .filter(({ path, imports, source }) => {
      const parses = imports.some(({ resolved }) => resolved === "src/cli/command-line/dispatch.ts");
      return parses && !programs.includes(path) && /\brunProgram\b/.test(source);
    })
    .map(({ path }) => `${path} runs a program inside its process`);
}
