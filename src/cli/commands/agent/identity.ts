import { toIdentity } from "../../../services/fleet/projection.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "identity",
  description: "say which agent this is: its name, its ids, its session and where its files are",
  examples: ["svc-mgr agents self identity", "svc-mgr agents self identity --json"],
  async run(invocation) {
    const { agent } = await openTarget(invocation);
    const { record } = agent;
    const lifecycleState = record?.lifecycle.state ?? null;
    const identity = toIdentity({ ...agent, lifecycleState, hasGateway: record?.gateway != null });
    return {
      json: identity,
      text: renderPairs([
        ["agent", identity.agent_name],
        ["id", identity.agent_id],
        ["tracked as", identity.tracked_agent_id],
        ["tool", identity.tool],
        ["lifecycle", identity.lifecycle_state],
        ["tmux session", identity.tmux_session_name],
        ["session files", identity.session_root],
      ]),
    };
  },
});
