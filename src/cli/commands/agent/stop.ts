import { trackedAgentId } from "../../../services/fleet/projection.ts";
import { type AgentStop, stopAgent } from "../../../services/fleet/stop-agent.ts";
import { command } from "../../command.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "stop",
  description: "end the gateway, the agent's processes and its tmux session",
  examples: ["svc-mgr agents single --agent-name worker stop"],
  async run(invocation) {
    const { world, agent } = await openTarget(invocation);
    const stop = await stopAgent(world, agent);
    const { manifest, manifestPath, sessionRoot } = agent;
    const success = stop.survivingPids.length === 0 && stop.gateway.outcome !== "unproven";
    const detail = describe(manifest.agent_name, stop);
    return {
      json: {
        success,
        tracked_agent_id: trackedAgentId(manifest),
        detail,
        manifest_path: manifestPath,
        session_root: sessionRoot,
        gateway: stop.gateway.outcome,
        ended_processes: stop.endedProcesses,
        surviving_pids: stop.survivingPids,
        ...(stop.interruptedTurns[0] === undefined ? {} : { turn_id: stop.interruptedTurns[0] }),
      },
      text: detail,
      exitCode: success ? 0 : 1,
    };
  },
});

function describe(name: string, stop: AgentStop): string {
  const { gateway, survivingPids } = stop;
  if (gateway.outcome === "unproven") {
    return `stopped "${name}", but process ${gateway.pid} did not prove to be its gateway and was left alone: ${gateway.why}`;
  }
  if (survivingPids.length > 0)
    return `stopped "${name}", but these processes live on: ${survivingPids.join(", ")}`;
  const nothing = !stop.sessionEnded && !stop.recordStopped && gateway.outcome === "not_running";
  return nothing ? `"${name}" was stopped already` : `stopped "${name}"`;
}
