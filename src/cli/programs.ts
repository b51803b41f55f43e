import { group, lazyLeaves } from "./command.ts";
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
    outcome: () => import("./commands/coord/outcome.ts").then((module) => module.default),
    join: () => import("./commands/coord/join.ts").then((module) => module.default),
    hosts: () => import("./commands/coord/hosts.ts").then((module) => module.default),
    nats: () => import("./commands/coord/nats.ts").then((module) => module.default),
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
