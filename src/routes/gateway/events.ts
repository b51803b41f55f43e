import { Elysia } from "elysia";
import { streamEndpoints } from "../../protocol/endpoints.ts";
import { numbersIn } from "../http/declared.ts";
import { resumePosition, toServerSentEvents } from "../http/sse.ts";
import type { GatewayServices } from "./services.ts";

const { events } = streamEndpoints;

/** The stream of everything that happens at one gateway. */
export const eventRoutes = ({ stream }: Pick<GatewayServices, "stream">) =>
  new Elysia({ name: "gateway-events" }).get(
    events.path,
    ({ request, query }) =>
      toServerSentEvents(
        request,
        stream.follow({ afterSeq: resumePosition(request, query.after), signal: request.signal }),
      ),
    { query: events.query, transform: numbersIn(events.query) },
  );
