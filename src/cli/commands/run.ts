import { resolve } from "node:path";
import { endDeadNamesakes } from "../../services/fleet/end-dead-namesakes.ts";
import { readDesiredConfig } from "../../services/sessions/desired-config.ts";
import { chooseByName, findAgent, openRecord } from "../../services/sessions/find.ts";
import { launchAgent } from "../../services/sessions/launch.ts";
import { chooseTool } from "../../services/sessions/launch-tools.ts";
import { isFresh } from "../../services/sessions/record.ts";
import { ServiceError } from "../../system/errors.ts";
import { command } from "../command.ts";
import { chooseListener, listenerFlags, readListenerWish } from "../listener-flags.ts";
import { warn } from "../narrate.ts";
import { serveBeside } from "../serve-beside.ts";
import { noSignalsFlag, rootFlags } from "../shared-flags.ts";
import { openWorld, prepareSessionPlace, type World } from "../world.ts";

export default command({
  name: "run",
  description: "Start an agent in a tmux session of its own and serve its gateway beside it, until stopped",
  examples: [
    "svc-gateway run --tool claude --agent-name alice",
    "svc-gateway run --tool codex --agent-name bob --workdir ~/project -- --no-alt-screen",
  ],
  rest: "TOOL_ARGUMENTS",
  args: {
    tool: {
      type: "string",
      required: true,
      valueHint: "TOOL",
      offers: "tools",
      description: "claude, codex, gemini, opencode, demo, ...",
    },
    "agent-name": { type: "string", required: true, valueHint: "NAME", description: "name of the agent" },
    "agent-id": {
      type: "string",
      valueHint: "ID",
      description: "stable id; derived from the name by default",
    },
    workdir: { type: "string", valueHint: "DIR", description: "where the agent works; default: here" },
    home: { type: "string", valueHint: "DIR", description: "another home of the tool" },
    unattended: { type: "boolean", description: "add the tool's flags that skip permissions and sandboxes" },
    ...noSignalsFlag,
    ...listenerFlags,
    ...rootFlags,
  },
  async run({ args, rest, io, inherited }) {
    const world = openWorld(io, args);
    await endDeadNamesakes(world, args["agent-name"]);
    const running = await findRunning(world, args["agent-name"], args.tool);
    const { token, warning, ...listener } = chooseListener(
      readListenerWish(args, io.env),
      running && readDesiredConfig(world.files, running.sessionRoot),
      {
        token: io.env["SVC_GATEWAY_TOKEN"],
        allowUnauthenticated: args["allow-unauthenticated"],
        allowOrigins: args["allow-origin"],
        noToken: args["no-token"],
      },
    );
    if (warning) await warn(io, warning);
    if (!running) await prepareSessionPlace(world, io);
    const session =
      running ??
      (await launchAgent(world, {
        tool: chooseTool(world.tools, args.tool),
        agentName: args["agent-name"],
        agentId: args["agent-id"],
        workdir: resolve(io.cwd, args.workdir ?? "."),
        args: rest,
        home: args.home === undefined ? undefined : resolve(io.cwd, args.home),
        unattended: args.unattended,
        noSignals: args["no-signals"],
      }));
    return serveBeside({
      io,
      world,
      session,
      listener,
      token,
      launched: running === null,
      json: inherited["json"] === true,
    });
  },
});

/**
 * The session of an agent of this name that lives: a gateway that died is run again beside it. An agent of another
 * tool under the name is left for the launch to refuse.
 */
async function findRunning(world: World, agentName: string, tool: string) {
  try {
    // The name is the agent's own here: that it may be the id of another changes nothing.
    const named = chooseByName(world.registry.list().records, agentName);
    const found = "record" in named ? openRecord(world.files, named.record) : findAgent(world, { agentName });
    const { record } = found;
    if (!record || found.manifest.tool !== tool || !isFresh(record, world.clock.nowMs())) return null;
    return (await world.sessionAlive(record)) ? found : null;
  } catch (error) {
    if (error instanceof ServiceError && error.reason === "not_found") return null;
    throw error;
  }
}
