import type { ChatSession } from "../../../protocol/gateway.ts";
import { trackedAgentId } from "../../../services/fleet/projection.ts";
import { followAccepted, openTurns, waitForTurn } from "../../agent-turns.ts";
import { command, UsageError } from "../../command.ts";
import { readPrompt, toWholeNumber } from "../../flag-values.ts";
import { acceptanceOf } from "../../gateway-call.ts";
import { modelFlags, readExecution } from "../../shared-flags.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "submit",
  description: "queue a turn of a headless agent",
  examples: [
    'svc-mgr agents single --agent-name batch turn submit --prompt "run the tests" --wait',
    "svc-mgr agents single --agent-name batch turn submit --chat-session-mode new < task.md",
  ],
  args: {
    prompt: { type: "string", description: "the text; without it standard input is read", valueHint: "TEXT" },
    ...modelFlags,
    "chat-session-mode": {
      type: "enum",
      options: ["auto", "new", "current", "tool_last_or_new", "exact"],
      description: "which of the tool's conversations it belongs to; default: auto",
    },
    "chat-session-id": { type: "string", description: "the conversation, for mode exact", valueHint: "ID" },
    "turn-id": { type: "string", description: "id of the turn; default: a new one", valueHint: "ID" },
    wait: { type: "boolean", description: "wait for the end of the turn" },
    timeout: { type: "string", description: "how long --wait waits", valueHint: "SECONDS", default: "600" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const timeoutSeconds = toWholeNumber("timeout", args.timeout, 1, 7 * 86_400) ?? 600;
    const execution = readExecution(args);
    const chatSession = toChatSession(args["chat-session-mode"], args["chat-session-id"]);
    const prompt = await readPrompt(args.prompt, io);
    const on = await openTurns(invocation);
    const { link, world, agent, words } = await openLiveTarget(invocation);
    const turn_id = args["turn-id"] ?? `turn-${world.ids.hex(6)}`;
    const payload = { prompt, turn_id, ...execution, ...chatSession };
    const accepted = acceptanceOf(
      await link.client.call("submitRequest", {
        body: { schema_version: 1, kind: "submit_prompt", payload },
      }),
      `${words} turn wait ${turn_id}`,
    );
    if (args.wait) {
      const status = `${words} turn status ${turn_id}`;
      return followAccepted({ turn_id, status }, () => waitForTurn(on, turn_id, timeoutSeconds));
    }
    return {
      json: {
        success: true,
        tracked_agent_id: trackedAgentId(agent.manifest),
        turn_id,
        request_id: accepted.request_id,
        status: "active",
        detail: `accepted; ${accepted.queue_depth} in the queue`,
      },
      text: `accepted turn ${turn_id} (${accepted.queue_depth} in the queue)\nWait for it: ${words} turn wait ${turn_id}`,
    };
  },
});

function toChatSession(mode: string | undefined, id: string | undefined): { chat_session?: ChatSession } {
  if (mode === undefined) {
    if (id !== undefined) throw new UsageError("--chat-session-id needs --chat-session-mode exact");
    return {};
  }
  return {
    chat_session: { mode: mode as ChatSession["mode"], ...(id === undefined ? {} : { id }) },
  };
}
