#!/usr/bin/env bun
import { basename } from "node:path";

/**
 * One executable is all four programs, by the name it is called; `svc-gateway mgr` is the CLI too. The first
 * word `gateway` makes it the gateway under any name: so it starts itself, also as a copy named `svc-mgr`.
 */
async function main(argv: string[]): Promise<number> {
  const [first, ...rest] = argv;
  if (first === "gateway") return serve(rest);
  switch (basename(process.argv0)) {
    case "svc-mgr":
      return manage(argv);
    case "svc-coord":
      return coordinate(argv);
    case "svc": {
      const { runShort } = await import("./short/short.ts");
      return runShort(argv);
    }
    default:
      return serve(argv);
  }
}

async function serve(argv: string[]): Promise<number> {
  const [first, ...rest] = argv;
  // A tool waits for it at each of its steps: it comes before everything that takes time to load.
  const { extensionProgram } = await import("./extensions.ts");
  const program = extensionProgram(first);
  if (program) return program(rest);
  if (first === "mgr") return manage(rest);
  if (first === "coord") return coordinate(rest);
  if (first === "demo-agent") {
    const { runDemoAgent } = await import("./commands/demo-agent.ts");
    return runDemoAgent(rest);
  }
  if (first === "turn-bridge") {
    const { runTurnBridge } = await import("./commands/turn-bridge.ts");
    return runTurnBridge(rest);
  }
  const { runGatewayProgram } = await import("./programs.ts");
  return runGatewayProgram(argv);
}

async function manage(argv: string[]): Promise<number> {
  const { runManager } = await import("./mgr.ts");
  return runManager(argv);
}

async function coordinate(argv: string[]): Promise<number> {
  const { runCoordinator } = await import("./programs.ts");
  return runCoordinator(argv);
}

process.exitCode = await main(process.argv.slice(2));
process.exit();
