import { repositoryRoot } from "./tree.ts";

/** One program of ours, by its entry file. */
export interface Program {
  name: string;
  entry: string;
}

/** Every command that does something, as words: `svc-mgr agents single state`. Asks the programs' own help. */
export async function listLeaves({ name, entry }: Program): Promise<string[]> {
  const walk = async (words: string[]): Promise<string[]> => {
    const children = parseCommands(await helpOf(entry, words));
    if (children.length === 0) return [[name, ...words].join(" ")];
    return (await Promise.all(children.map((child) => walk([...words, child])))).flat();
  };
  return walk([]);
}

/** The words under `Commands:`. */
export function parseCommands(help: string): string[] {
  const section = /^Commands:\n((?: {2}.*\n?)+)/m.exec(help)?.[1] ?? "";
  return [...section.matchAll(/^ {2}(\S+)/gm)].map((match) => match[1] ?? "");
}

async function helpOf(entry: string, words: string[]): Promise<string> {
  const child = Bun.spawn([process.execPath, entry, ...words, "--help"], {
    cwd: repositoryRoot,
    stdin: "ignore",
    stderr: "pipe",
  });
  const [help, complaint] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${entry} ${words.join(" ")} --help: ${complaint}`);
  return help;
}

/**
 * The leaves that no test calls. A call is the leaf's words in order, written in a test as an argument list or
 * a command line, flags between them or not. A single word, being also prose, must follow the program or begin
 * the list. `single` and `self` differ only in how they name the agent.
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
