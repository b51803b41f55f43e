import { Elysia } from "elysia";
import { type FaultReporter, httpErrors } from "../http/errors.ts";
import { type GateOptions, httpGate } from "../http/gate.ts";
import { openApiRoutes } from "../openapi/routes.ts";
import { agentRoutes } from "./agents.ts";
import { forwardRoutes } from "./forward.ts";
import { serverRoutes } from "./server.ts";
import type { CoordinatorServices } from "./services.ts";
import { turnRoutes } from "./turns.ts";

/**
 * The HTTP surface over all agents as an edge-style handler: `app.fetch(request)` is all a server needs. Source:
 * contract 4.4.
 */
export function createCoordinatorApp(options: {
  services: CoordinatorServices;
  gate: GateOptions;
  faults: FaultReporter;
}) {
  const { services } = options;
  const app = new Elysia({ name: "coordinator", normalize: false });
  return app
    .use(httpErrors({ faults: options.faults, routes: () => app.routes }))
    .use(httpGate(options.gate))
    .use(serverRoutes(services))
    .use(agentRoutes(services))
    .use(turnRoutes(services))
    .use(forwardRoutes(services))
    .use(openApiRoutes(async () => (await import("./openapi.ts")).coordinatorOpenApi));
}

export type CoordinatorApp = ReturnType<typeof createCoordinatorApp>;
