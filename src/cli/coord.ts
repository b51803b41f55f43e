import { group } from "./command.ts";
import { runProgram } from "./dispatch.ts";
import { createProcessIo } from "./process-io.ts";
import { rootFlags } from "./shared-flags.ts";
import { programVersion } from "./version.ts";

/** All commands of `svc-coord`. */
export const coordinatorCommands = group({
  name: "svc-coord",
  description: "One API over all agents of this user.",
  examples: ["svc-coord serve", "svc-coord list --json"],
  args: rootFlags,
  subCommands: {
    list: () => import("./commands/agents-list.ts").then((module) => module.listCommand("svc-coord")),
    serve: () => import("./commands/coord/serve.ts").then((module) => module.default),
    completion: () =>
      import("./commands/completion.ts").then((module) => module.completionCommands("svc-coord")),
  },
});

/** The program `svc-coord`; `argv` without the program's name. Resolves with the exit code. */
export function runCoordinator(argv: readonly string[]): Promise<number> {
  return runProgram(coordinatorCommands, programVersion, argv, createProcessIo());
}
