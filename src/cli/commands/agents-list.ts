import type { AgentState } from "../../protocol/agents.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import { type Observed, observeAgent } from "../../services/fleet/observe-agent.ts";
import { type FoundAgent, openRecord } from "../../services/sessions/find.ts";
import { messageOf } from "../../system/errors.ts";
import { command } from "../command.ts";
import { renderTable } from "../format.ts";
import { warn } from "../narrate.ts";
import { openWorld, type World } from "../world.ts";

/** `gone`: recorded as running, but its tmux session is no more. */
interface Row {
  record: RegistryRecord;
  gone: boolean;
  observed: Observed | null;
  problem: string | null;
}

export default command({
  name: "list",
  description: "list the agents of this user",
  examples: ["svc-mgr agents list", "svc-mgr agents list --state all --json"],
  args: {
    state: {
      type: "enum",
      options: ["active", "stopped", "relaunching", "retired", "all"],
      description: "only agents whose record says so",
      default: "active",
    },
  },
  async run({ args, inherited, io }) {
    const world = openWorld(io, inherited);
    const { records, ignored } = world.registry.list();
    const wanted = records.filter(({ lifecycle }) => args.state === "all" || lifecycle.state === args.state);
    const rows = await Promise.all(wanted.map((record) => look(world, record)));
    for (const { path, problem } of ignored) await warn(io, `ignored ${path}: ${problem}`);
    return { json: { agents: rows.map(toJson), ignored }, text: toText(rows, args.state) };
  },
});

/** One agent that cannot be read never hides the others. */
async function look(world: World, record: RegistryRecord): Promise<Row> {
  const running = record.lifecycle.state === "active" || record.lifecycle.state === "relaunching";
  let agent: FoundAgent;
  try {
    const alive = await world.sessionAlive(record);
    agent = openRecord(world.files, record);
    const gone = running && !alive;
    return { record, gone, observed: alive ? await observeAgent(world, agent) : null, problem: null };
  } catch (error) {
    return { record, gone: false, observed: null, problem: messageOf(error) };
  }
}

function toJson({ record, gone, observed, problem }: Row) {
  const state: AgentState | null = observed?.state ?? null;
  const link = observed?.link;
  return {
    agent_name: record.agent_name,
    agent_id: record.agent_id,
    tool: record.identity.tool,
    backend: record.identity.backend,
    lifecycle_state: record.lifecycle.state,
    session_gone: gone,
    availability: state?.availability ?? "unavailable",
    turn_phase: state?.turn.phase ?? "unknown",
    queue_depth: state?.gateway?.queue_depth ?? null,
    gateway_base_url: link?.state === "healthy" ? link.client.baseUrl : null,
    tmux_session_name: record.terminal.current_session_name ?? null,
    manifest_path: record.runtime.manifest_path,
    session_root: record.runtime.session_root ?? null,
    problem,
  };
}

function toText(rows: readonly Row[], state: string): string {
  if (rows.length === 0) {
    return state === "active"
      ? "no agents run. Launch one with: svc-mgr agents launch --tool demo --agent-name first"
      : "no such agents";
  }
  const cells = rows
    .map(toJson)
    .map((row) => [
      row.agent_name,
      row.agent_id,
      row.tool,
      row.session_gone ? "gone" : row.lifecycle_state,
      row.availability,
      row.turn_phase,
      row.queue_depth === null ? "-" : String(row.queue_depth),
      row.problem ?? row.gateway_base_url ?? "-",
    ]);
  return renderTable(["NAME", "ID", "TOOL", "STATE", "AVAILABILITY", "TURN", "QUEUE", "GATEWAY"], cells);
}
