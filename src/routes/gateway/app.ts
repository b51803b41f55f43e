import { openApiRoutes } from "../openapi/routes.ts";
import { aguiRoutes } from "./agui.ts";
import { createCoreApp, type GatewayAppOptions } from "./core.ts";
import { eventRoutes } from "./events.ts";
import { headlessRoutes } from "./headless.ts";
import { mailRoutes } from "./mail.ts";
import { notifierRoutes } from "./notifier.ts";
import { reminderRoutes } from "./reminders.ts";
import type { GatewayServices } from "./services.ts";

/**
 * The HTTP surface of one gateway as an edge-style handler: `app.fetch(request)` is all a server needs. Source:
 * contract 4.1.
 */
export function createGatewayApp(options: GatewayAppOptions<GatewayServices>) {
  const { services } = options;
  return createCoreApp(options)
    .use(mailRoutes(services))
    .use(notifierRoutes(services))
    .use(reminderRoutes(services))
    .use(headlessRoutes(services))
    .use(eventRoutes(services))
    .use(aguiRoutes(services))
    .use(openApiRoutes(async () => (await import("./openapi.ts")).gatewayOpenApi));
}

export type GatewayApp = ReturnType<typeof createGatewayApp>;
