import { command, type Invocation } from "../command-line/command.ts";
import { exitCodes } from "../command-line/dispatch.ts";

/**
 * What an editor starts. The library of the protocol is loaded here alone, so that no other command takes
 * longer to start. Standard output is the protocol's: warnings go to standard error.
 */
export default command({
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
  async run(invocation) {
    const { args, io, inherited } = invocation;
    const { serveAcp } = await import("../acp/server.ts");
    const ofAgent = {
      ...(invocation as unknown as Invocation),
      path: ["svc-mgr", "agents", "single"],
      inherited: { ...inherited, "agent-name": args.agent },
    };
    await serveAcp(ofAgent, io.interrupted());
    return exitCodes.done;
  },
});
