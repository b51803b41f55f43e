import { type Glance, glanceAtAll } from "../../services/fleet/glance.ts";
import { findOrphans, type Orphan } from "../../services/sessions/orphans.ts";
import { createSessionsSeen } from "../../services/sessions/session-alive.ts";
import { remedyOf } from "../checks/agents.ts";
import { command } from "../command.ts";
import { renderTable } from "../format.ts";
import { glanceHeader, toGlanceCells, toGlanceJson, toGlanceNotes } from "../glance-text.ts";
import { mailboxOpeners } from "../mailbox-openers.ts";
import { warn } from "../narrate.ts";
import { openWorld } from "../world.ts";

/** The command `list` of the group or program that `words` name. */
export const listCommand = (words: string) =>
  command({
    name: "list",
    description: "list the agents of this user, a line for each",
    examples: [`${words} list`, `${words} list --state all --json`],
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
      const wanted = records.filter(
        ({ lifecycle }) => args.state === "all" || lifecycle.state === args.state,
      );
      const openers = mailboxOpeners(world, (what) => void warn(io, what));
      let glances: Glance[];
      try {
        const sessionAlive = createSessionsSeen(world.tmuxFor);
        glances = await glanceAtAll({ ...world, openers, sessionAlive }, wanted);
      } finally {
        for (const opener of Object.values(openers)) opener.close();
      }
      const orphans = await findOrphans({ ...world, runtimeRoot: world.roots.runtimeRoot }, records).catch(
        () => [],
      );
      for (const orphan of orphans) {
        await warn(io, `${orphan.tmuxSession} has no record; ${remedyOf(world)(orphan)}`);
      }
      for (const { path, problem } of ignored) await warn(io, `ignored ${path}: ${problem}`);
      return {
        json: { agents: glances.map(toGlanceJson), ignored, orphans: orphans.map(toOrphanJson) },
        text: toText(glances, { state: args.state, orphans: orphans.length }, world.clock.nowMs()),
      };
    },
  });

function toOrphanJson({ tmuxSession, sessionRoot, manifest }: Orphan) {
  return {
    tmux_session_name: tmuxSession,
    session_root: sessionRoot,
    agent_name: manifest?.agent_name ?? null,
    agent_id: manifest?.agent_id ?? null,
  };
}

function toText(
  glances: readonly Glance[],
  { state, orphans }: { state: string; orphans: number },
  nowMs: number,
): string {
  if (glances.length > 0) {
    const rows = glances.map((glance) => toGlanceCells(glance, nowMs));
    const notes = toGlanceNotes(glances);
    return [renderTable(glanceHeader, rows), ...(notes.length > 0 ? ["", ...notes] : [])].join("\n");
  }
  if (orphans > 0) return `${orphans} run without a record that can be used, none with one`;
  return state === "active"
    ? "no agents run. Launch one with: svc-mgr agents launch --tool demo --agent-name first"
    : "no such agents";
}
