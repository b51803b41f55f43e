#!/usr/bin/env bun
import { group } from "./command.ts";
import { runProgram } from "./dispatch.ts";
import { createProcessIo } from "./process-io.ts";
import { rootFlags } from "./shared-flags.ts";
import { versionText } from "./version.ts";

/** The one API over all agents. So far it knows who they are. */
const root = group({
  name: "svc-coord",
  description: "All agents of this user in one place.",
  examples: ["svc-coord list --json"],
  args: rootFlags,
  subCommands: { list: () => import("./commands/agents-list.ts").then((module) => module.default) },
});

process.exitCode = await runProgram(root, versionText(), process.argv.slice(2), createProcessIo());
process.exit();
