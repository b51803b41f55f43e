import type { AgentState } from "../../../protocol/agents.ts";
import { type Observed, observeAgent } from "../../../services/fleet/observe-agent.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "state",
  description: "show what the agent is doing",
  examples: ["svc-mgr agents single --agent-name worker state", "svc-mgr agents self state --json"],
  async run(invocation) {
    const { world, agent } = await openTarget(invocation);
    const observed = await observeAgent(world, agent);
    return { json: observed.state, text: renderState(observed) };
  },
});

function renderState({ state, link }: Observed): string {
  const { identity, gateway, turn, last_turn: last } = state;
  const waiting = link.state === "healthy" ? link.status.waiting : undefined;
  return renderPairs([
    ["agent", `${identity.agent_name} (${identity.agent_id})`],
    ["tool", identity.tool],
    ["lifecycle", identity.lifecycle_state],
    ["availability", state.availability],
    ["turn", turn.phase],
    ["last turn", last.result === "unknown" ? null : last.result],
    ["waits for", decisionOf(state)],
    ["tmux session", identity.tmux_session_name],
    ["gateway", link.state === "healthy" ? link.client.baseUrl : `none: ${link.why}`],
    ["admission", gateway?.request_admission],
    ["queue", gateway?.queue_depth],
    ["queue waits", waiting && `${waiting.reason} since ${waiting.since_utc}: ${waiting.detail}`],
    ...state.diagnostics.map((one) => [one.kind, one.message] as const),
  ]);
}

function decisionOf({ awaiting_decision: decision }: AgentState): string | null {
  if (!decision) return null;
  return `a decision: ${decision.question} [${decision.options.map((one) => one.text).join(" | ")}]`;
}
