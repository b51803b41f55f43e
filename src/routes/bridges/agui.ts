import { aguiEndpoints, aguiStreamEndpoints } from "../../protocol/agui.ts";
import { aguiConnectionHeader } from "../../protocol/wire.ts";
import type { Agui } from "../../services/extensions/bridges/agui/agui.ts";
import type { AguiItem } from "../../services/extensions/bridges/agui/paced-stream.ts";
import { mount, type Routes } from "../http/mount.ts";
import { heartbeat, streamOf } from "../http/sse.ts";

/** The operations that the AG-UI routes call. */
type AguiService = Pick<Agui, "capabilities" | "connect" | "detach" | "run">;

/** The AG-UI routes of one gateway. */
export const gatewayAguiRoutes = (agui: AguiService): readonly Routes[] => [
  aguiRoutes(agui),
  aguiStreamRoutes(agui),
];

/** The AG-UI routes that are not streams (contract 4.1). */
const aguiRoutes = (agui: AguiService) =>
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

/** The AG-UI streams. */
const aguiStreamRoutes = (agui: AguiService) =>
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
  /** Aborts when the reader has left. */
  left: AbortSignal;
  leave(): void;
}

/** A server aborts the request of a reader that left; a caller in the same process cancels the body. */
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
