import type { AgentIdentity, AgentState } from "../../../protocol/agents.ts";
import { type Observed, observeAgent } from "../../../services/fleet/observe-agent.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "state",
  description: "show what the agent is doing",
  examples: ["svc-mgr agents single --agent-name worker state", "svc-mgr agents self state --json"],
  async run(invocation) {
    const { world, agent, words } = await openTarget(invocation);
    const observed = await observeAgent(world, agent);
    return { json: observed.state, text: renderState(observed, words) };
  },
});

function renderState({ state, link }: Observed, words: string): string {
  const { identity, gateway, turn, last_turn: last } = state;
  const waiting = link.state === "healthy" ? link.status.waiting : undefined;
  return renderPairs([
    ["agent", `${identity.agent_name} (${identity.agent_id})`],
    ["tool", identity.tool],
    ["lifecycle", lifecycleOf(identity, words)],
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

/** What the record says, where tmux does not say otherwise: a session that ends tells no record. */
function lifecycleOf({ lifecycle_state, liveness }: AgentIdentity, words: string): string | null {
  if (lifecycle_state !== "active" || liveness === "alive") return lifecycle_state;
  const why = liveness === "gone" ? "its tmux session has ended" : "its tmux server is not there";
  return `gone: ${why}; start it again with: ${words} relaunch`;
}

function decisionOf({ awaiting_decision: decision }: AgentState): string | null {
  if (!decision) return null;
  return `a decision: ${decision.question} [${decision.options.map((one) => one.text).join(" | ")}]`;
}
