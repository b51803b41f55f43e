import type { ProcessFacts } from "../../../system/processes.ts";
import type { CompiledProfile } from "../profile.ts";

const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** Programs whose arguments name the program that really runs. */
const interpreters = /^(?:node|nodejs|bun|deno|python[\d.]*|tsx)$/;

const shells = /^-?(?:sh|bash|dash|ksh|zsh)$/;

/** The script that a shell runs: its first argument that is no option. Null for commands given with `-c`. */
function shellScript(options: readonly string[]): string | null {
  const script = options.find((option) => !/^[-+]/.test(option));
  const before = options.slice(0, script === undefined ? undefined : options.indexOf(script));
  return script === undefined || before.some((option) => /^-\w*c/.test(option)) ? null : script;
}

/**
 * Names of the processes of `tree` that are the profile's tool, root first; empty when none is. A script is
 * recognised by any argument of its interpreter, so that `node --flag /x/bin/gemini` is gemini and `vim gemini`
 * is not; a shell's script by being the one it runs, because a shell is given much else.
 */
export function matchProcesses(tree: readonly ProcessFacts[], profile: CompiledProfile): string[] {
  const { commands, scripts, arguments: tokens } = profile.data.process;
  const isTool = ({ command, argv }: ProcessFacts): boolean => {
    if (commands.includes(command)) return true;
    const program = baseName(argv[0] ?? "");
    if (scripts.includes(program)) return true;
    if (argv.slice(1).some((argument) => tokens.includes(argument))) return true;
    if (shells.test(program)) return scripts.includes(baseName(shellScript(argv.slice(1)) ?? ""));
    return (
      interpreters.test(program) && argv.slice(1).some((argument) => scripts.includes(baseName(argument)))
    );
  };
  return tree.filter(isTool).map((process) => process.command);
}
