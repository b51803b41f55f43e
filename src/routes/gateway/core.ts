import type { Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { coreEndpoints } from "../../protocol/core-endpoints.ts";
import { protocolVersion } from "../../protocol/gateway.ts";
import { repliesOf } from "../http/declared.ts";
import { type FaultReporter, httpErrors } from "../http/errors.ts";
import { type GateOptions, httpGate } from "../http/gate.ts";
import type { HttpObservation } from "../http/observe.ts";
import { controlRoutes } from "./control.ts";
import { requestRoutes } from "./requests.ts";
import type { CoreServices } from "./services.ts";

const endpoints = coreEndpoints;

/** What the core's app and the whole one are made with; `Services` is what the routes of each call. */
export interface GatewayAppOptions<Services> {
  services: Services;
  gate: GateOptions;
  faults: FaultReporter;
  observation?: HttpObservation;
}

function statusRoutes({ board }: Pick<CoreServices, "board">) {
  // Read as a property: Elysia looks for calls in a handler's text and awaits whatever may be a promise.
  const shown = {
    get status() {
      return board.status();
    },
  };
  return (
    new Elysia({ name: "gateway-status" })
      // Without a check of what it answers: building one takes 4 ms of a gateway's start, which ends with this answer.
      .get(
        endpoints.health.path,
        (): Static<typeof endpoints.health.reply> => ({
          protocol_version: protocolVersion,
          status: "ok",
        }),
      )
      .get(endpoints.status.path, () => shown.status, { response: repliesOf(endpoints.status) })
  );
}

/**
 * What a gateway answers from its first moment on, as an edge-style handler: its status, its queue and its terminal.
 * `createGatewayApp` has all routes.
 */
export function createCoreApp(options: GatewayAppOptions<CoreServices>) {
  const { services } = options;
  const app = new Elysia({ name: "gateway", normalize: false });
  if (options.observation) app.use(options.observation.plugin);
  return app
    .use(httpErrors({ faults: options.faults, routes: () => app.routes }))
    .use(httpGate(options.gate))
    .use(statusRoutes(services))
    .use(requestRoutes(services))
    .use(controlRoutes(services));
}
