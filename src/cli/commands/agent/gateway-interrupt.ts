import { interruptThrough, renderRequest } from "../../agent-requests.ts";
import { command } from "../../command.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "interrupt",
  description: "stop the agent's turn and show the gateway's record of it",
  examples: ["svc-mgr agents single --agent-name worker gateway interrupt"],
  async run(invocation) {
    const { world, link } = await openLiveTarget(invocation);
    const { record, outcome } = await interruptThrough(world.clock, link.client);
    return { json: record, text: renderRequest(record), exitCode: outcome.state === "failed" ? 1 : 0 };
  },
});
