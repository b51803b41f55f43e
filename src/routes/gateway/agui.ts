import { Elysia } from "elysia";
import { gatewayEndpoints, streamEndpoints } from "../../protocol/endpoints.ts";
import { aguiConnectionHeader } from "../../protocol/headers.ts";
import type { AguiItem } from "../../services/agui/stream-item.ts";
import { repliesOf, takes } from "../http/declared.ts";
import { jsonBody } from "../http/json-body.ts";
import { heartbeat, streamOf } from "../http/sse.ts";
import type { GatewayServices } from "./services.ts";

const { aguiCapabilities, aguiDetach } = gatewayEndpoints;
const { aguiConnect, aguiRun } = streamEndpoints;

/** GUI clients of the AG-UI protocol (contract 4.1). */
export const aguiRoutes = ({ agui }: Pick<GatewayServices, "agui">) =>
  new Elysia({ name: "gateway-agui" })
    .use(jsonBody)
    .get(aguiCapabilities.path, () => agui.capabilities(), { response: repliesOf(aguiCapabilities) })
    .post(
      aguiConnect.path,
      ({ body, request }) => {
        const reader = readerOf(request);
        const { connectionId, stream } = agui.connect(body, reader.left);
        return toAguiStream(stream, reader, { [aguiConnectionHeader]: connectionId });
      },
      { ...takes(aguiConnect) },
    )
    .post(
      aguiRun.path,
      async ({ body, request }) => {
        const reader = readerOf(request);
        return toAguiStream(await agui.run(body, reader.left), reader);
      },
      { ...takes(aguiRun) },
    )
    .delete(
      aguiDetach.path,
      ({ params, status }) => {
        const connectionId = params.connection_id;
        return agui.detach(connectionId)
          ? {
              status: "detached" as const,
              connectionId,
              detached: true as const,
              detail: "the stream is finished; the agent is left as it is",
            }
          : status(404, {
              status: "not_found" as const,
              connectionId,
              detached: false as const,
              detail: "no stream with this id is attached",
            });
      },
      { response: repliesOf(aguiDetach) },
    );

interface Reader {
  left: AbortSignal;
  leave(): void;
}

/** A server tells of a reader that left by the request, a caller in this process by the body. */
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
