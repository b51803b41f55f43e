import type { AgentSubmission } from "../../../protocol/agents.ts";
import { command } from "../../command.ts";
import { bodyOf } from "../../gateway-reply.ts";
import { openLiveTarget } from "../../target.ts";
import { waitForRequest } from "../../wait-for-request.ts";

const timeoutSeconds = 15;

export default command({
  name: "interrupt",
  description: "stop the agent's turn; on an idle agent nothing is typed",
  examples: ["svc-mgr agents single --agent-name worker interrupt"],
  async run(invocation) {
    const { world, agent, link } = await openLiveTarget(invocation);
    const accepted = bodyOf(
      await link.client.call("submitRequest", {
        body: { schema_version: 1, kind: "interrupt", payload: {} },
      }),
    );
    const record = await waitForRequest(world.clock, link.client, accepted.request_id, {
      until: "finished",
      timeoutSeconds,
    });
    const noOp = record.result_json?.["outcome"] === "no_op";
    const failed = record.state === "failed";
    const detail = record.error_detail ?? (noOp ? "nothing was running" : "interrupted");
    const submission: AgentSubmission = {
      success: !failed,
      tracked_agent_id: agent.manifest.agent_id,
      request_id: record.request_id,
      request_kind: "interrupt",
      disposition: noOp ? "no_op" : "accepted",
      detail,
    };
    return { json: { ...submission, request: record }, text: detail, exitCode: failed ? 1 : 0 };
  },
});
