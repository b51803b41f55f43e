import { resolve } from "node:path";
import { defaultCoordinatorPort } from "../../../services/fleet/coordinator-files.ts";
import { endOnUnhandled, untilStopped } from "../../../system/signals.ts";
import { openCliContext, prepareSessionPlace } from "../../cli-context.ts";
import { command } from "../../command.ts";
import { type Coordinator, createCoordinator } from "../../coordinator.ts";
import { loadGatewayExtensions } from "../../extensions/extensions.ts";
import {
  chooseListener,
  coordinatorListenerFlags,
  rulesFlag,
  toPort,
  toRulesFile,
} from "../../gateway-flags.ts";
import {
  busFlags,
  hostNameFlag,
  readBusAddress,
  sshEnvironment,
  sshFlags,
  toHostName,
  toSshProgram,
  toSshTargets,
} from "../../host-flags.ts";
import { warn } from "../../narrate.ts";

export default command({
  name: "serve",
  description: "Serve one API over all agents of this user, until stopped",
  examples: [
    "svc-coord serve",
    "svc-coord serve --port 0 --json",
    "svc-coord serve --ssh me@build-3 --ssh gpu=ssh://me@10.0.0.7:2222",
  ],
  args: { ...coordinatorListenerFlags, ...rulesFlag, ...busFlags, ...sshFlags, ...hostNameFlag },
  async run({ args, inherited, io }) {
    const { token, warning, ...listener } = chooseListener(
      { host: args.host, port: toPort("--port", args.port) ?? defaultCoordinatorPort },
      null,
      {
        token: io.env["SVC_COORD_TOKEN"],
        allowUnauthenticated: args["allow-unauthenticated"],
        allowOrigins: args["allow-origin"],
        makesToken: args.token,
        noToken: args["no-token"],
      },
      { tokenVariable: "SVC_COORD_TOKEN", drives: "every agent" },
    );
    if (warning) await warn(io, warning);
    const context = openCliContext(io, inherited);
    await prepareSessionPlace(context, io);
    const ended = Promise.withResolvers<number>();
    const stop = async () => {
      await coordinator.stop();
      ended.resolve(0);
    };
    const rulesFile = toRulesFile(args.rules, { io, files: context.files });
    if (context.files.exists(rulesFile)) {
      const { rulesProblem } = await import("../../../services/delivery/rules.ts");
      const problem = rulesProblem(context.files, rulesFile);
      if (problem !== null) await warn(io, `nothing is delivered: ${problem}`);
    }
    const bus = readBusAddress(args, { io, files: context.files });
    const localHost = () => toHostName("--host-name", args["host-name"]);
    const reachesOthers = bus !== null || args.ssh.length > 0;
    const hosts = reachesOthers && {
      hosts: await (await import("../../coordinator-hosts.ts")).openOperator({
        context,
        bus,
        localHost: localHost(),
        ssh: {
          targets: toSshTargets(args.ssh, localHost()),
          configFile: args["ssh-config"] === undefined ? null : resolve(io.cwd, args["ssh-config"]),
          program: toSshProgram(args["ssh-program"]),
          env: sshEnvironment(io.env),
        },
        log: (text) => coordinator.log(text),
      }),
    };
    const coordinator: Coordinator = createCoordinator({
      context,
      io,
      ...listener,
      token,
      rulesFile,
      ...hosts,
      onShutdown: () => void stop(),
      createExtensions: await loadGatewayExtensions(),
    });
    endOnUnhandled(coordinator.logUnhandled);
    const stopped = untilStopped(stop);
    const instance = await coordinator.start();
    const line =
      inherited["json"] === true
        ? JSON.stringify({ event: "ready", ...instance })
        : `all agents are served at ${instance.api_base_url} (documented at ${instance.api_base_url}/docs)\nCtrl-C ends the server; the agents live on.`;
    await io.writeOut(`${line}\n`);
    return Promise.race([stopped, ended.promise]);
  },
});
