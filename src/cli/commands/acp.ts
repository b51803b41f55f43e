import { command } from "../command-line/command.ts";
import { exitCodes } from "../command-line/dispatch.ts";

/**
 * What an editor starts. The library of the protocol is loaded here alone, so that no other command takes
 * longer to start. Standard output is the protocol's: warnings go to standard error.
 */
export const acp = command({
  name: "acp",
  description: "serve one agent over the Agent Client Protocol on standard input and output, for an editor",
  examples: ["svc-mgr acp --agent worker"],
  args: {
    agent: {
      type: "string",
      required: true,
      description: "name or id of the agent",
      valueHint: "NAME",
    },
  },
  async run({ args, io, inherited }) {
    const { serveAcp } = await import("../acp/server.ts");
    await serveAcp({ io, inherited, whom: { agentName: args.agent } }, io.interrupted());
    return exitCodes.done;
  },
});

export const shortAcp = command({
  name: "acp",
  description: "serve an agent to an editor over the Agent Client Protocol, on standard input and output",
  examples: ["svc acp --agent worker"],
  args: { agent: { ...acp.flags.agent, description: "the agent's name" } },
  run: (invocation) => acp.call(invocation, invocation.args),
});
