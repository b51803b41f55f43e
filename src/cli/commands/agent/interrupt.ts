import type { AgentSubmission } from "../../../protocol/agents.ts";
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
    const detail = record.error_detail ?? (noOp ? "nothing was running" : "interrupted");
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
