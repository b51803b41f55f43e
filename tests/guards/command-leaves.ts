import type { Command } from "../../src/cli/command-line/command.ts";
import { renderHelp } from "../../src/cli/command-line/dispatch.ts";
import { childOf, type Station, toStation, wordsOf } from "../../src/cli/command-line/parse.ts";

/**
 * Every command that does something, as words: `svc-mgr agents single state`. Found as people find it, by the
 * help.
 */
export async function listLeaves(program: string, root: Command): Promise<string[]> {
  const walk = async (chain: Station[], here: Station): Promise<string[]> => {
    const words = parseCommands(await renderHelp(chain));
    if (words.length === 0) return [wordsOf(chain).join(" ")];
    const below = words.map(async (word) => {
      const child = await childOf(here.command, word);
      if (!child) throw new Error(`${wordsOf(chain).join(" ")} has no command ${word}`);
      return walk([...chain, child], child);
    });
    return (await Promise.all(below)).flat();
  };
  const station = await toStation(program, root);
  return walk([station], station);
}

/** The words under `Commands:`. */
export function parseCommands(help: string): string[] {
  const section = /^Commands:\n((?: {2}.*\n?)+)/m.exec(help)?.[1] ?? "";
  return [...section.matchAll(/^ {2}(\S+)/gm)].map((match) => match[1] ?? "");
}

/**
 * The leaves that no test calls. A call is the leaf's words in order, written in a test as an argument list
 * or a command line, flags between them or not. A single word, being also prose, must follow the program or
 * begin the list. `single` and `self` differ only in how they name the agent.
 */
export function findUntestedLeaves(leaves: string[], tests: string[]): string[] {
  const spoken = tests.map((source) =>
    source
      .replace(/["'`,\]]+/g, " ")
      .replaceAll("[", " [ ")
      .replace(/\s+/g, " "),
  );
  const flags = "(?: --?\\S+(?: \\S+)?)*? ";
  return leaves.filter((leaf) => {
    const [program = "", ...words] = leaf.split(" ");
    const call = words.map((word) => (/^(?:single|self)$/.test(word) ? "(?:single|self)" : word)).join(flags);
    const before = words.length > 1 ? "(?:^| )" : `(?:${program}${flags}|\\[ (?:[\\w.()]+ )?)`;
    const pattern = new RegExp(`${before}${call}(?= |$)`);
    return !spoken.some((text) => pattern.test(text));
  });
}
