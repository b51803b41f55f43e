import {
  type Command,
  type CommandDeclaration,
  command,
  type Flags,
  type Invocation,
} from "../command-line/command.ts";
import { runProgram } from "../command-line/dispatch.ts";
import { rootFlags } from "../command-line/shared-flags.ts";
import { programVersion } from "../command-line/version.ts";

export const agentName = {
  type: "positional",
  description: "the agent's name",
  offers: "agent-names",
} as const;

export const nameOnly = { name: agentName };

export const momentFlag = {
  type: "string",
  description: 'a moment: 03:12, "10m ago", or a date with a time',
  valueHint: "TIME",
} as const;

/** All words that are left. */
export const textOf = (description: string) =>
  ({ type: "positional", many: true, required: false, description }) as const;

/** A short command is a command line of `svc-mgr`, with the same answers, JSON and exit codes. */
export function shorthand<const A extends Flags>({
  words,
  ...declaration
}: Omit<CommandDeclaration<A>, "run"> & {
  words: (
    args: Invocation<A>["args"],
    invocation: Invocation<A>,
  ) => readonly string[] | Promise<readonly string[]>;
}): Command {
  return command<A>({
    ...declaration,
    async run(invocation) {
      return manage(invocation as unknown as Invocation, await words(invocation.args, invocation));
    },
  });
}

export async function manage(
  { inherited, io, rest, path }: Invocation,
  words: readonly string[],
): Promise<number> {
  const { managerCommands } = await import("../mgr.ts");
  const roots = Object.keys(rootFlags).flatMap((name) =>
    typeof inherited[name] === "string" ? [`--${name}=${inherited[name]}`] : [],
  );
  const json = inherited["json"] === true ? ["--json"] : [];
  const after = rest.length > 0 ? ["--", ...rest] : [];
  const line = [...roots, ...words, ...json, ...after];
  return runProgram(managerCommands, programVersion, line, io, { calledAs: path });
}

export const single = (name: string, ...words: string[]) => [
  "agents",
  "single",
  `--agent-name=${name}`,
  ...words,
];

/** Without the text the command reads standard input. */
export const flagged = (flag: string, text: string | undefined) =>
  text === undefined ? [] : [`--${flag}=${text}`];
