#!/usr/bin/env bun
import { group } from "./command.ts";
import { runProgram } from "./dispatch.ts";
import { createProcessIo } from "./process-io.ts";
import { rootFlags } from "./shared-flags.ts";
import { versionText } from "./version.ts";

const root = group({
  name: "svc-coord",
  description: "One API over all agents of this user.",
  examples: ["svc-coord serve", "svc-coord list --json"],
  args: rootFlags,
  subCommands: {
    list: () => import("./commands/agents-list.ts").then((module) => module.default),
    serve: () => import("./commands/coord/serve.ts").then((module) => module.default),
  },
});

// An executable starts itself as a gateway or a turn under this word, whatever it is called.
if (process.argv[2] === "gateway") await import("./svc-gateway.ts");
process.exitCode = await runProgram(root, versionText(), process.argv.slice(2), createProcessIo());
process.exit();
