import type { RegistryRecord } from "../../../protocol/files.ts";
import { trackedAgentId } from "../../../services/fleet/projection.ts";
import { type AgentStop, stopAgent } from "../../../services/fleet/stop-agent.ts";
import { stopDamaged } from "../../../services/fleet/stop-damaged.ts";
import { openRecord } from "../../../services/sessions/find.ts";
import { ServiceError } from "../../../system/errors.ts";
import { command } from "../../command.ts";
import { openRecordTarget } from "../../target.ts";
import type { World } from "../../world.ts";

export default command({
  name: "stop",
  description: "end the gateway, the agent's processes and its tmux session",
  examples: ["svc-mgr agents single --agent-name worker stop"],
  async run(invocation) {
    const { world, record, words } = openRecordTarget(invocation);
    const opened = tryToOpen(world, record);
    const { agent } = opened;
    const stop = agent ? await stopAgent(world, agent) : await stopDamaged(world, record);
    const success = stop.survivingPids.length === 0 && stop.gateway.outcome !== "unproven";
    const unwritten = stop.unwritten.map((what) => `could not write ${what}`);
    const detail = [describe(record.agent_name, stop), ...opened.notes(words), ...unwritten].join("\n");
    return {
      json: {
        success,
        tracked_agent_id: agent ? trackedAgentId(agent.manifest) : record.agent_id,
        detail,
        manifest_path: record.runtime.manifest_path,
        session_root: agent?.sessionRoot ?? record.runtime.session_root ?? null,
        gateway: stop.gateway.outcome,
        ended_processes: stop.endedProcesses,
        surviving_pids: stop.survivingPids,
        unwritten: stop.unwritten,
        ...(stop.interruptedTurns[0] === undefined ? {} : { turn_id: stop.interruptedTurns[0] }),
      },
      text: detail,
      exitCode: success ? 0 : 1,
    };
  },
});

/** An agent whose manifest is damaged can still be ended, and then removed. */
function tryToOpen({ files }: World, record: RegistryRecord) {
  try {
    return { agent: openRecord(files, record), notes: () => [] };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const notes = (words: string) => [
      `only its record was left to go by: ${error.message}`,
      `Remove what it left with: ${words} cleanup`,
    ];
    return { agent: null, notes };
  }
}

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
