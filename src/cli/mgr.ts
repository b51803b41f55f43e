import { group } from "./command.ts";
import { runProgram } from "./dispatch.ts";
import { createProcessIo } from "./process-io.ts";
import { rootFlags } from "./shared-flags.ts";
import { programVersion } from "./version.ts";

/** All commands of `svc-mgr`. */
export const managerCommands = group({
  name: "svc-mgr",
  description: "Launch CLI coding agents, find them, and give them work through their gateways.",
  examples: [
    "svc-mgr doctor",
    "svc-mgr agents launch --tool demo --agent-name first",
    'svc-mgr agents single --agent-name first prompt --prompt "hello" --wait',
    "source <(svc-mgr completion bash)",
  ],
  args: rootFlags,
  subCommands: {
    agents: () => import("./commands/agents.ts").then((module) => module.default),
    mail: () => import("./commands/mail.ts").then((module) => module.default),
    mailbox: () => import("./commands/mailbox.ts").then((module) => module.default),
    overlay: () => import("./commands/overlay.ts").then((module) => module.default),
    "system-skills": () => import("./commands/system-skills.ts").then((module) => module.default),
    tools: () => import("./commands/tools.ts").then((module) => module.default),
    doctor: () => import("./commands/doctor.ts").then((module) => module.default),
    completion: () =>
      import("./commands/completion.ts").then((module) => module.completionCommands("svc-mgr")),
  },
});

/** The command line `svc-mgr`; `argv` without the program's name. Resolves with the exit code. */
export function runManager(argv: readonly string[]): Promise<number> {
  return runProgram(managerCommands, programVersion, argv, createProcessIo());
}
