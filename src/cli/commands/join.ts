import { readDesiredConfig } from "../../services/sessions/desired-config.ts";
import { openRecord } from "../../services/sessions/find.ts";
import { joinAgent, managedIn } from "../../services/sessions/join.ts";
import { command } from "../command.ts";
import { chooseListener, listenerFlags, readListenerWish } from "../listener-flags.ts";
import { warn } from "../narrate.ts";
import { serveBeside } from "../serve-beside.ts";
import { joinFlags, readJoinFlags, rootFlags } from "../shared-flags.ts";
import { openWorld, prepareSessionPlace, type World } from "../world.ts";

export default command({
  name: "join",
  description: "Adopt an agent that runs in window 0 of a tmux session and serve its gateway, until stopped",
  examples: [
    "svc-gateway join --tmux-session work",
    "svc-gateway join --tmux-session work --agent-name alice --tool claude",
  ],
  args: {
    "tmux-session": {
      type: "string",
      required: true,
      valueHint: "SESSION",
      description: "name of the tmux session",
    },
    "agent-name": {
      type: "string",
      valueHint: "NAME",
      description: "how the agent is called; default: as the session",
    },
    ...joinFlags,
    ...listenerFlags,
    ...rootFlags,
  },
  async run({ args, io, inherited }) {
    const world = openWorld(io, args);
    const tmuxSession = args["tmux-session"];
    const running = await findManaged(world, tmuxSession);
    const { token, warning, ...listener } = chooseListener(
      readListenerWish(args, io.env),
      running && readDesiredConfig(world.files, running.sessionRoot),
      {
        token: io.env["SVC_GATEWAY_TOKEN"],
        allowUnauthenticated: args["allow-unauthenticated"],
        noToken: args["no-token"],
        allowOrigins: args["allow-origin"],
      },
    );
    if (warning) await warn(io, warning);
    if (!running) await prepareSessionPlace(world, io);
    const session =
      running ??
      (await joinAgent(world, {
        ...readJoinFlags(args, io),
        tmuxSession,
        agentName: args["agent-name"] ?? tmuxSession,
      }));
    return serveBeside({
      ...{ io, world, session, listener, token },
      launched: running === null,
      json: inherited["json"] === true,
    });
  },
});

/** The agent of a session that is one of ours already: a gateway that died is run again beside it. */
async function findManaged(world: World, session: string) {
  const record = await managedIn(world, session);
  return record && openRecord(world.files, record);
}
