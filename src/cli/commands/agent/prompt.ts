import type { AgentSubmission } from "../../../protocol/agents.ts";
import type { PromptPayload, RequestRecord } from "../../../protocol/gateway.ts";
import { trackedAgentId } from "../../../services/fleet/projection.ts";
import { renderRequest, waitForRequest } from "../../agent-requests.ts";
import { command } from "../../command.ts";
import { readPrompt, toWholeNumber } from "../../flag-values.ts";
import { acceptanceOf } from "../../gateway-call.ts";
import { modelFlags, readExecution } from "../../shared-flags.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "prompt",
  description: "queue a prompt; it is typed when the agent can begin a turn",
  examples: [
    'svc-mgr agents single --agent-name worker prompt --prompt "run the tests" --wait',
    "svc-mgr agents single --agent-name worker prompt < task.md",
  ],
  args: {
    prompt: { type: "string", description: "the text; without it standard input is read", valueHint: "TEXT" },
    delivery: {
      type: "enum",
      options: ["turn_boundary", "immediate"],
      description: "when it may be typed; immediate also while the agent is busy",
    },
    ...modelFlags,
    wait: { type: "boolean", description: "wait for the end of the turn" },
    timeout: { type: "string", description: "how long --wait waits", valueHint: "SECONDS", default: "600" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const timeoutSeconds = toWholeNumber("timeout", args.timeout, 1, 7 * 86_400) ?? 600;
    const execution = readExecution(args);
    const prompt = await readPrompt(args.prompt, io);
    const { world, agent, link, words } = await openLiveTarget(invocation);
    const payload: PromptPayload = {
      prompt,
      ...(args.delivery === undefined ? {} : { delivery: args.delivery }),
      ...execution,
    };
    const accepted = acceptanceOf(
      await link.client.call("submitRequest", {
        body: { schema_version: 1, kind: "submit_prompt", payload },
      }),
      `${words} requests list`,
    );
    const submission: AgentSubmission = {
      success: true,
      tracked_agent_id: trackedAgentId(agent.manifest),
      request_id: accepted.request_id,
      request_kind: accepted.request_kind,
      disposition: "accepted",
      detail: `accepted; ${accepted.queue_depth} in the queue`,
    };
    if (!args.wait) {
      return {
        json: { ...accepted, ...submission },
        text: `accepted ${accepted.request_id} (${accepted.queue_depth} in the queue)\nSee: ${words} requests show ${accepted.request_id}`,
      };
    }
    const record = await waitForRequest(world.clock, link.client, accepted.request_id, {
      until: "turn_ended",
      timeoutSeconds,
    });
    return {
      json: { ...submission, ...outcome(record), request: record },
      text: renderRequest(record),
      ...exit(record),
    };
  },
});

function outcome(record: RequestRecord): Pick<AgentSubmission, "success" | "detail"> {
  const ended = record.evidence.find((one) => one.agent_ended === true);
  return { success: isDone(record), detail: record.error_detail ?? ended?.proof ?? record.state };
}

function exit(record: RequestRecord): { exitCode?: number } {
  return isDone(record) ? {} : { exitCode: 1 };
}

/** Delivered, and the agent lived to the end of the turn. */
function isDone(record: RequestRecord): boolean {
  return record.state !== "failed" && !record.evidence.some((one) => one.agent_ended === true);
}
