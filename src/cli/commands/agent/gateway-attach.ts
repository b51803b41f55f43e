import { attachGateway } from "../../../services/fleet/attach-gateway.ts";
import { command } from "../../command.ts";
import { toWholeNumber } from "../../number-flag.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "attach",
  description: "start a gateway for the agent unless a healthy one serves it",
  examples: ["svc-mgr agents single --agent-name worker gateway attach"],
  args: {
    host: { type: "string", description: "address to listen on", default: "127.0.0.1" },
    port: { type: "string", description: "port to listen on; 0 takes a free one", default: "0" },
  },
  async run(invocation) {
    const port = toWholeNumber("port", invocation.args.port, 0, 65_535);
    const { world, agent } = await openTarget(invocation);
    const { link, started } = await attachGateway(world, agent, { host: invocation.args.host, port });
    const { client, status } = link;
    return {
      json: status,
      text: started ? `gateway started: ${client.baseUrl}` : `a gateway already serves it: ${client.baseUrl}`,
    };
  },
});
