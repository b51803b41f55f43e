import { command, group } from "../command.ts";
import { completionScript, type Shell, shells } from "../completion-scripts.ts";

/** `PROGRAM completion bash|zsh|fish`, for each of our programs. */
export function completionCommands(program: string) {
  const ofShell = (shell: Shell) =>
    command({
      name: shell,
      description: `print the completion script for ${shell}; its head says how to use it`,
      examples: examples[shell](program),
      async run() {
        const script = completionScript(shell, program);
        return { json: { shell, script }, text: script };
      },
    });
  return group({
    name: "completion",
    description: "complete commands, flags, agents, addresses and tools in your shell",
    examples: shells.flatMap((shell) => examples[shell](program)),
    subCommands: {
      bash: async () => ofShell("bash"),
      zsh: async () => ofShell("zsh"),
      fish: async () => ofShell("fish"),
    },
  });
}

const examples: Record<Shell, (program: string) => string[]> = {
  bash: (program) => [`source <(${program} completion bash)`],
  zsh: (program) => [`source <(${program} completion zsh)`],
  fish: (program) => [`${program} completion fish > ~/.config/fish/completions/${program}.fish`],
};
