import { resolve } from "node:path";
import { untilStopped } from "../../system/signals.ts";
import { createSystem } from "../../system/system.ts";
import { command } from "../command.ts";
import { createGateway } from "../gateway.ts";
import { chooseListener, listenerFlags } from "../listener-flags.ts";
import { readProfiles } from "../world.ts";

export default command({
  name: "serve",
  description: "Serve the gateway of a session whose agent runs already, until stopped",
  examples: ["svc-gateway serve --session-root ~/.local/state/svc/sessions/local_interactive/ID"],
  args: {
    "session-root": {
      type: "string",
      required: true,
      valueHint: "DIR",
      description: "folder of the session, as `agents list --json` tells it",
    },
    ...listenerFlags,
  },
  async run({ args, io }) {
    const { token, warning, ...listener } = chooseListener(args, io.env["SVC_GATEWAY_TOKEN"]);
    if (warning) await io.writeError(`Warning: ${warning}\n`);
    const system = createSystem();
    const gateway = createGateway({
      system,
      sessionRoot: resolve(io.cwd, args["session-root"]),
      ...listener,
      token,
      profiles: readProfiles(system, io.env),
    });
    const stopped = untilStopped(() => gateway.stop());
    await gateway.start();
    return stopped;
  },
});
