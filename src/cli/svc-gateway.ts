#!/usr/bin/env bun
import { basename } from "node:path";
import { group } from "./command.ts";
import { runProgram } from "./dispatch.ts";
import { createProcessIo } from "./process-io.ts";
import { versionText } from "./version.ts";

const root = group({
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
    join: () => import("./commands/join.ts").then((module) => module.default),
    run: () => import("./commands/run.ts").then((module) => module.default),
    serve: () => import("./commands/serve.ts").then((module) => module.default),
  },
});

/**
 * One executable beside an agent is enough: under the name `svc-mgr`, or as `svc-gateway mgr`, it is the CLI. The
 * first word `gateway` makes it the gateway under any name: so it starts itself, also as a copy named `svc-mgr`.
 */
async function main(argv: string[]): Promise<number> {
  const [first, ...rest] = argv;
  if (first === "gateway") return serve(rest);
  return basename(process.argv0) === "svc-mgr" ? manage(argv) : serve(argv);
}

async function serve(argv: string[]): Promise<number> {
  const [first, ...rest] = argv;
  if (first === "mgr") return manage(rest);
  if (first === "demo-agent") {
    const { runDemoAgent } = await import("./commands/demo-agent.ts");
    return runDemoAgent(rest);
  }
  if (first === "turn-bridge") {
    const { runTurnBridge } = await import("./commands/turn-bridge.ts");
    return runTurnBridge(rest);
  }
  return runProgram(root, versionText(), argv, createProcessIo());
}

async function manage(argv: string[]): Promise<number> {
  const { runManager } = await import("./mgr.ts");
  return runManager(argv);
}

process.exitCode = await main(process.argv.slice(2));
process.exit();
