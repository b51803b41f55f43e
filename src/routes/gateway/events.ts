import { Elysia } from "elysia";
import { streamEndpoints } from "../../protocol/endpoints.ts";
import { numbersIn } from "../http/declared.ts";
import { createFollowers } from "../http/followers.ts";
import { resumePosition, toServerSentEvents } from "../http/sse.ts";
import type { GatewayServices } from "./services.ts";

const { events } = streamEndpoints;

/** The stream of everything that happens at one gateway. */
export const eventRoutes = ({ stream }: Pick<GatewayServices, "stream">) => {
  const followers = createFollowers();
  return new Elysia({ name: "gateway-events" }).get(
    events.path,
    ({ request, query }) => {
      const afterSeq = resumePosition(request, query.after);
      const items = followers.admit(request.signal, (signal) => stream.follow({ afterSeq, signal }));
      return toServerSentEvents(request, items);
    },
    { query: events.query, transform: numbersIn(events.query) },
  );
};
