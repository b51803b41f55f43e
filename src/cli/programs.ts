import { group, lazyLeaves } from "./command-line/command.ts";
import { runProgram } from "./command-line/dispatch.ts";
import { createProcessIo } from "./command-line/process-io.ts";
import { rootFlags } from "./command-line/shared-flags.ts";
import { programVersion } from "./command-line/version.ts";
import { extensionCommands } from "./extension-commands.ts";
import { loadServeExtensions } from "./extensions.ts";

/** All commands of `svc-coord`. */
export const coordinatorCommands = group({
  name: "svc-coord",
  description: "One API over all agents of this user.",
  examples: ["svc-coord serve", "svc-coord list --json"],
  args: rootFlags,
  subCommands: {
    list: () => import("./commands/agents-list.ts").then((module) => module.listCommand("svc-coord")),
    serve: async () => {
      const [{ serveCommand }, extensions] = await Promise.all([
        import("./commands/coord/serve.ts"),
        loadServeExtensions(),
      ]);
      return serveCommand(extensions);
    },
    outcome: () => import("./commands/coord/outcome.ts").then((module) => module.default),
    ...extensionCommands("svc-coord"),
    completion: () =>
      import("./commands/completion.ts").then((module) => module.completionCommands("svc-coord")),
  },
});

/** The program `svc-coord`; `argv` without the program's name. Resolves with the exit code. */
export function runCoordinator(argv: readonly string[]): Promise<number> {
  return runProgram(coordinatorCommands, programVersion, argv, createProcessIo());
}

/** All commands of `svc-gateway` that people call. */
export const gatewayCommands = group({
  name: "svc-gateway",
  description:
    "The sidecar of one CLI coding agent: durable prompts, live state, mail. Also the scripted agent.",
  examples: [
    "svc-gateway run --tool claude --agent-name alice",
    "svc-gateway join --tmux-session work",
    "svc-gateway mgr agents list",
    "svc-gateway demo-agent --help",
  ],
  subCommands: {
    ...lazyLeaves(["join", "run"], () => import("./commands/run.ts")),
    serve: () => import("./commands/serve.ts").then((module) => module.default),
    completion: () =>
      import("./commands/completion.ts").then((module) => module.completionCommands("svc-gateway")),
  },
});

export function runGatewayProgram(argv: string[]): Promise<number> {
  return runProgram(gatewayCommands, programVersion, argv, createProcessIo());
}
