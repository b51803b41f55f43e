import { aguiEndpoints, aguiStreamEndpoints } from "../../protocol/agui.ts";
import { streamEndpoints } from "../../protocol/endpoints.ts";
import { aguiConnectionHeader } from "../../protocol/wire.ts";
import type { AguiItem } from "../../services/agui/paced-stream.ts";
import { admitting, framesAnswer } from "../console/terminal.ts";
import { createFollowers } from "../http/followers.ts";
import { mount } from "../http/mount.ts";
import { heartbeat, renderScreen, resumePosition, streamOf, toServerSentEvents } from "../http/sse.ts";
import type { GatewayServices } from "./services.ts";

/** The stream of everything that happens at one gateway. */
export function eventRoutes({
  stream,
  screen,
  terminal,
}: Pick<GatewayServices, "stream" | "screen" | "terminal">) {
  const followers = createFollowers();
  const viewers = createFollowers();
  const watchers = createFollowers();
  return mount({
    name: "gateway-events",
    endpoints: {
      events: streamEndpoints.events,
      screenEvents: streamEndpoints.screenEvents,
      terminalFrames: streamEndpoints.terminalFrames,
    },
    unchecked: "all",
    handlers: {
      events: ({ request, query }) => {
        const afterSeq = resumePosition(request, query.after);
        const items = followers.admit(request.signal, (signal) => stream.follow({ afterSeq, signal }));
        return toServerSentEvents(request, items);
      },
      screenEvents: ({ request }) => {
        const items = viewers.admit(request.signal, (signal) => screen.follow({ signal }));
        return streamOf(items, renderScreen, { method: request.method });
      },
      terminalFrames: ({ request }) => framesAnswer(admitting(watchers, terminal), request),
    },
  });
}

/** What GUI clients of the AG-UI protocol ask besides their streams (contract 4.1). */
export const aguiRoutes = ({ agui }: Pick<GatewayServices, "agui">) =>
  mount({
    name: "gateway-agui",
    endpoints: aguiEndpoints,
    handlers: {
      aguiCapabilities: () => agui.capabilities(),
      aguiDetach: ({ params, status }) => {
        const connectionId = params.connection_id;
        return agui.detach(connectionId)
          ? {
              status: "detached",
              connectionId,
              detached: true,
              detail: "the stream is finished; the agent is left as it is",
            }
          : status(404, {
              status: "not_found",
              connectionId,
              detached: false,
              detail: "no stream with this id is attached",
            });
      },
    },
  });

/** Streams of the AG-UI protocol. */
export const aguiStreamRoutes = ({ agui }: Pick<GatewayServices, "agui">) =>
  mount({
    name: "gateway-agui-streams",
    endpoints: aguiStreamEndpoints,
    unchecked: "all",
    handlers: {
      aguiConnect: ({ body, request }) => {
        const reader = readerOf(request);
        const { connectionId, stream } = agui.connect(body, reader.left);
        return toAguiStream(stream, reader, { [aguiConnectionHeader]: connectionId });
      },
      aguiRun: async ({ body, request }) => {
        const reader = readerOf(request);
        return toAguiStream(await agui.run(body, reader.left), reader);
      },
    },
  });

interface Reader {
  left: AbortSignal;
  leave(): void;
}

/** A server aborts the request of a reader that left; a caller in this process cancels the body. */
function readerOf(request: Request): Reader {
  const cancelled = new AbortController();
  return {
    left: AbortSignal.any([request.signal, cancelled.signal]),
    leave: () => cancelled.abort(),
  };
}

function toAguiStream(
  items: AsyncGenerator<AguiItem>,
  reader: Reader,
  headers: Record<string, string> = {},
): Response {
  const render = (item: AguiItem) =>
    item.item === "heartbeat" ? heartbeat : `data: ${JSON.stringify(item.event)}\n\n`;
  return streamOf(items, render, {
    headers: { "x-accel-buffering": "no", ...headers },
    onCancel: reader.leave,
  });
}
