import { command } from "../../command.ts";
import { bodyOf } from "../../gateway-call.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "reconcile",
  description:
    "work with the agent's present instance; what an earlier one was asked for and did not do fails",
  examples: ["svc-mgr agents single --agent-name worker gateway reconcile"],
  async run(invocation) {
    const { link } = await openLiveTarget(invocation);
    const result = bodyOf(await link.client.call("reconcile", {}));
    const failed = result.failed_request_ids;
    const fate = failed.length === 0 ? "nothing was waiting" : `failed: ${failed.join(", ")}`;
    return { json: result, text: `epoch ${result.managed_agent_instance_epoch} is worked with; ${fate}` };
  },
});
