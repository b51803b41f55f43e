import { resolve } from "node:path";
import { parseExecutionVariables } from "../../services/sessions/environment.ts";
import { openSessionFolder } from "../../services/sessions/session-folder.ts";
import { endOnUnhandled, untilStopped } from "../../system/signals.ts";
import { createSystem } from "../../system/system.ts";
import { openBaseContext, readProfiles } from "../command-line/cli-context.ts";
import { command } from "../command-line/command.ts";
import { warn } from "../command-line/narrate.ts";
import { rootFlags } from "../command-line/shared-flags.ts";
import { loadGatewayExtensions } from "../extensions.ts";
import { createGateway } from "../gateway/gateway.ts";
import {
  chooseListener,
  listenerFlags,
  otlpFlag,
  readListenerWish,
  readTimings,
  serveTimingFlags,
  toOtlpEndpoint,
} from "../gateway/gateway-flags.ts";

export default command({
  name: "serve",
  description: "Serve the gateway of a session whose agent runs already, until stopped",
  examples: ["svc-gateway serve --session-root ~/.local/state/svc/runtime/sessions/local_interactive/ID"],
  args: {
    "session-root": {
      type: "string",
      required: true,
      valueHint: "DIR",
      description: "folder of the session, as `agents list --json` prints it",
    },
    ...listenerFlags,
    ...serveTimingFlags,
    ...otlpFlag,
    reconcile: {
      type: "boolean",
      description: "work with the agent's present instance; requests for an earlier one fail",
    },
    "keep-requests": {
      type: "boolean",
      description: "the same, and that instance is given the requests for an earlier one",
    },
    ...rootFlags,
  },
  async run({ args, io }) {
    const sessionRoot = resolve(io.cwd, args["session-root"]);
    const { system, files, registry } = openBaseContext(io, args, createSystem());
    const { token, warning, ...listener } = chooseListener(
      readListenerWish(args, io.env),
      openSessionFolder(files, sessionRoot).readDesiredConfig(),
      {
        token: io.env["SVC_GATEWAY_TOKEN"],
        allowUnauthenticated: args["allow-unauthenticated"],
        allowOrigins: args["allow-origin"],
        noToken: args["no-token"],
      },
    );
    const otlpEndpoint = toOtlpEndpoint(args["otlp-endpoint"]);
    if (otlpEndpoint !== undefined) openSessionFolder(files, sessionRoot).saveWish({ otlpEndpoint });
    const execution = parseExecutionVariables(io.env);
    if (warning) await warn(io, warning);
    const gone = Promise.withResolvers<void>();
    const createExtensions = await loadGatewayExtensions();
    const gateway = createGateway({
      system,
      sessionRoot,
      ...listener,
      token,
      profiles: readProfiles(system, io.env),
      env: io.env,
      timings: readTimings("tui-", args),
      execution,
      registry,
      reconcile: args["keep-requests"] ? "keep" : args.reconcile ? "drop" : undefined,
      onGone: gone.resolve,
      extensions: createExtensions(),
      // A window that has closed takes no more lines; the log file has them all.
      ...(execution.auxiliaryWindow
        ? { echo: (line: string) => void io.writeOut(line).catch(() => {}) }
        : {}),
    });
    endOnUnhandled(gateway.logUnhandled);
    const stopped = untilStopped(() => gateway.stop(), gone.promise);
    await gateway.start();
    return stopped;
  },
});
