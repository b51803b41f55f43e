import { type Glance, glanceAtAll } from "../../services/fleet/glance.ts";
import { createSessionsSeen } from "../../services/sessions/session-alive.ts";
import { command } from "../command.ts";
import { renderTable } from "../format.ts";
import { glanceHeader, toGlanceCells, toGlanceJson } from "../glance-text.ts";
import { mailboxOpeners } from "../mailbox-openers.ts";
import { warn } from "../narrate.ts";
import { openWorld } from "../world.ts";

export default command({
  name: "list",
  description: "list the agents of this user, a line for each",
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
    const openers = mailboxOpeners(world);
    let glances: Glance[];
    try {
      const sessionAlive = createSessionsSeen(world.tmuxFor);
      glances = await glanceAtAll({ ...world, openers, sessionAlive }, wanted);
    } finally {
      for (const opener of Object.values(openers)) opener.close();
    }
    for (const { path, problem } of ignored) await warn(io, `ignored ${path}: ${problem}`);
    return {
      json: { agents: glances.map(toGlanceJson), ignored },
      text: toText(glances, args.state, world.clock.nowMs()),
    };
  },
});

function toText(glances: readonly Glance[], state: string, nowMs: number): string {
  if (glances.length > 0) {
    return renderTable(
      glanceHeader,
      glances.map((glance) => toGlanceCells(glance, nowMs)),
    );
  }
  return state === "active"
    ? "no agents run. Launch one with: svc-mgr agents launch --tool demo --agent-name first"
    : "no such agents";
}
