import { Elysia } from "elysia";
import {
  coordinatorStreams,
  coordinatorEndpoints as endpoints,
} from "../../protocol/coordinator-endpoints.ts";
import type { FleetStreamItem } from "../../services/fleet/fleet-stream.ts";
import { repliesOf } from "../http/declared.ts";
import { createFollowers } from "../http/followers.ts";
import { heartbeat, renderEvent, streamOf } from "../http/sse.ts";
import type { CoordinatorServices } from "./services.ts";

const { fleetEvents } = coordinatorStreams;

/** The server itself, and the one stream of everything that happens. */
export const serverRoutes = ({ server, events }: Pick<CoordinatorServices, "server" | "events">) => {
  const followers = createFollowers();
  return new Elysia({ name: "coordinator-server" })
    .get(endpoints.health.path, () => ({ status: "ok" as const, svc_service: "svc-coord" as const }), {
      response: repliesOf(endpoints.health),
    })
    .get(endpoints.currentInstance.path, () => server.instance(), {
      response: repliesOf(endpoints.currentInstance),
    })
    .post(
      endpoints.shutdown.path,
      () => {
        server.shutdown();
        return { status: "ok" as const };
      },
      { response: repliesOf(endpoints.shutdown) },
    )
    .get(
      fleetEvents.path,
      ({ request, query }) => {
        // The header of the protocol wins over the query.
        const after = request.headers.get("last-event-id") ?? query.after ?? null;
        const items = followers.admit(request.signal, (signal) => events.follow({ after, signal }));
        const render = (item: FleetStreamItem) =>
          item.item === "heartbeat" ? heartbeat : renderEvent(item.id, item.event);
        return streamOf(items, render, { method: request.method });
      },
      { query: fleetEvents.query },
    );
};
