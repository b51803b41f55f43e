import type { AgentSubmission } from "../../../protocol/agents.ts";
import type { GatewayClient } from "../../../services/fleet/gateway-client.ts";
import { trackedAgentId } from "../../../services/fleet/projection.ts";
import { command } from "../../command.ts";
import { interruptThrough } from "../../interrupt-request.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "interrupt",
  description: "stop the agent's turn; on an idle agent nothing is typed",
  examples: ["svc-mgr agents single --agent-name worker interrupt"],
  async run(invocation) {
    const { world, agent, link } = await openLiveTarget(invocation);
    const record = await interruptThrough(world.clock, link.client);
    const noOp = record.result_json?.["outcome"] === "no_op";
    const failed = record.state === "failed";
    const waiting = noOp ? await countWaiting(link.client) : 0;
    const nothing = waiting === 0 ? "nothing was running" : `nothing was running; ${tellWaiting(waiting)}`;
    const detail = record.error_detail ?? (noOp ? nothing : "interrupted");
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

/** An interrupt overtakes a prompt that was just accepted, which then still comes. 0 when the gateway does not say. */
async function countWaiting(client: GatewayClient): Promise<number> {
  const status = await client.call("status", {});
  return status.kind === "ok" ? status.body.queue_depth : 0;
}

function tellWaiting(count: number): string {
  return count === 1
    ? "1 prompt waits and will still be given"
    : `${count} prompts wait and will still be given`;
}
