import { Elysia } from "elysia";
import {
  type ForwardedEndpoint,
  forwardedEndpoints,
  forwardedStreams,
} from "../../protocol/forwarded-endpoints.ts";
import type { CoordinatorServices } from "./services.ts";

/**
 * The routes of the one table of forwarded operations. What a request holds is the gateway's to judge: nothing is read
 * here but where it goes.
 */
export const forwardRoutes = ({ forward }: Pick<CoordinatorServices, "forward">) => {
  const app = new Elysia({ name: "coordinator-forward" });
  for (const route of [...Object.values(forwardedEndpoints), ...Object.values(forwardedStreams)]) {
    app.route(
      route.method,
      route.path,
      ({ params, request }) => {
        const values = params as Record<string, string>;
        return forward.send(route, values["agent_ref"] ?? "", {
          ...(request.method === "HEAD" ? { method: "HEAD" } : {}),
          target: targetOf(route, values, request.url),
          headers: request.headers,
          body: request.body,
          signal: request.signal,
        });
      },
      { parse: "none" },
    );
  }
  return app;
};

/** The same operation at the gateway: its path with the same parameters, and the query as it came. Pure. */
function targetOf(route: ForwardedEndpoint, params: Readonly<Record<string, string>>, url: string): string {
  const path = route.gatewayPath.replace(/:([a-z_]+)/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ""),
  );
  return path + new URL(url).search;
}
