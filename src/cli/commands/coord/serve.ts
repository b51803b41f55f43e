import { defaultCoordinatorPort } from "../../../services/fleet/coordinator-files.ts";
import { endOnUnhandled, untilStopped } from "../../../system/signals.ts";
import { openCliContext, prepareSessionPlace } from "../../command-line/cli-context.ts";
import { type Command, command, type Flag } from "../../command-line/command.ts";
import { warn } from "../../command-line/narrate.ts";
import { type Coordinator, createCoordinator } from "../../coordinator/coordinator.ts";
import type { CoordinatorHosts, ServeExtension } from "../../extension.ts";
import {
  loadCoordinatorExtensions,
  loadGatewayExtensions,
  loadSignals,
  loadStoredRoutes,
} from "../../extensions.ts";
import {
  chooseListener,
  coordinatorListenerFlags,
  toPort,
  toRulesFile,
} from "../../gateway/gateway-flags.ts";

/** `extensions`: flags that they add, and what these ask for. */
export const serveCommand = (extensions: readonly ServeExtension[]): Command =>
  command({
    name: "serve",
    description: "Serve one API over all agents of this user, until stopped",
    examples: [
      "svc-coord serve",
      "svc-coord serve --port 0 --json",
      "svc-coord serve --ssh me@build-3 --ssh gpu=ssh://me@10.0.0.7:2222",
    ],
    args: {
      ...coordinatorListenerFlags,
      "of-console": { type: "boolean", description: "`svc console --stop` may end it", hidden: true },
      ...(Object.assign({}, ...extensions.map(({ flags }) => flags)) as Record<never, Flag>),
    },
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
      const call = { context, io, args, log: (line: string) => coordinator.log(line) };
      let hosts: CoordinatorHosts | null = null;
      for (const { warning: warningOf, openHosts } of extensions) {
        const problem = warningOf?.(call) ?? null;
        if (problem !== null) await warn(io, problem);
        hosts ??= (await openHosts?.(call)) ?? null;
      }
      const rules = (args as Readonly<Record<string, unknown>>)["rules"];
      const coordinator: Coordinator = createCoordinator({
        context,
        io,
        ...listener,
        token,
        rulesFile: toRulesFile(typeof rules === "string" ? rules : undefined, { io, files: context.files }),
        ...(hosts ? { hosts } : {}),
        isOfConsole: args["of-console"],
        onShutdown: () => void stop(),
        createExtensions: await loadGatewayExtensions(),
        extensions: await loadCoordinatorExtensions(),
        planSignals: await loadSignals(),
        storedRoutes: await loadStoredRoutes(),
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
