import { stopGateway } from "../../../services/fleet/stop-gateway.ts";
import { readOfflineStatus } from "../../../services/sessions/gateway-folder.ts";
import { command } from "../../command.ts";
import { CommandFailure, exitCodes } from "../../dispatch.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "detach",
  description: "end the gateway; the agent lives on and what was accepted is kept",
  examples: ["svc-mgr agents single --agent-name worker gateway detach"],
  async run(invocation) {
    const { world, agent } = await openTarget(invocation);
    const stop = await stopGateway(world, agent);
    if (stop.outcome === "unproven") {
      throw new CommandFailure(
        exitCodes.refused,
        `process ${stop.pid} did not prove to be the gateway of "${agent.manifest.agent_name}" and was left alone: ${stop.why}`,
        { error: "unproven", detail: stop.why, pid: stop.pid },
      );
    }
    return {
      json: readOfflineStatus(world.files, agent, null),
      text: stop.outcome === "stopped" ? "the gateway has ended" : "no gateway was running",
    };
  },
});
