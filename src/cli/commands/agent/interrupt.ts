import type { AgentSubmission } from "../../../protocol/agents.ts";
import type { GatewayClient } from "../../../services/fleet/gateway-client.ts";
import { trackedAgentId } from "../../../services/fleet/projection.ts";
import { isOpen } from "../../../services/fleet/request-state.ts";
import { interruptThrough } from "../../agent-requests.ts";
import { command } from "../../command.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "interrupt",
  description: "stop the agent's turn; on an idle agent nothing is typed",
  examples: ["svc-mgr agents single --agent-name worker interrupt"],
  async run(invocation) {
    const { world, agent, link } = await openLiveTarget(invocation);
    const { record, outcome } = await interruptThrough(world.clock, link.client);
    const noOp = outcome.result_json?.["outcome"] === "no_op";
    const failed = outcome.state === "failed";
    const detail = outcome.error_detail ?? (noOp ? await tellNothingRan(link.client) : "interrupted");
    const submission: AgentSubmission = {
      success: !failed,
      tracked_agent_id: trackedAgentId(agent.manifest),
      request_id: record.request_id,
      request_kind: "interrupt",
      disposition: noOp ? "no_op" : "accepted",
      detail,
    };
    return { json: { ...submission, request: record }, text: detail, exitCode: failed ? 1 : 0 };
  },
});

/** An interrupt overtakes a prompt that was accepted just before it, which then still comes. */
async function tellNothingRan(client: GatewayClient): Promise<string> {
  const list = await client.call("listRequests", { query: { limit: 1000 } });
  const requests = list.kind === "ok" ? list.body.requests : [];
  const count = requests.filter((one) => isOpen(one) && one.request_kind !== "interrupt").length;
  const waiting = count === 1 ? "1 prompt waits in the queue" : `${count} prompts wait in the queue`;
  return count === 0 ? "nothing was running" : `nothing was running; ${waiting}`;
}
