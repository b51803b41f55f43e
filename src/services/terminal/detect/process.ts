import type { ProcessFacts } from "../../../system/processes.ts";
import type { CompiledProfile } from "../profile.ts";

const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** Programs whose arguments name the program that really runs. */
const interpreters = /^(?:node|nodejs|bun|deno|python[\d.]*|tsx)$/;

/**
 * Names of the processes of `tree` that are the profile's tool, root first; empty when none is. A script is
 * recognised by any argument of its interpreter, so that `node --flag /x/bin/gemini` is gemini and `vim gemini`
 * is not.
 */
export function matchProcesses(tree: readonly ProcessFacts[], profile: CompiledProfile): string[] {
  const { commands, scripts, arguments: tokens } = profile.data.process;
  const isTool = ({ command, argv }: ProcessFacts): boolean => {
    if (commands.includes(command)) return true;
    const program = baseName(argv[0] ?? "");
    if (scripts.includes(program)) return true;
    if (argv.slice(1).some((argument) => tokens.includes(argument))) return true;
    return (
      interpreters.test(program) && argv.slice(1).some((argument) => scripts.includes(baseName(argument)))
    );
  };
  return tree.filter(isTool).map((process) => process.command);
}
