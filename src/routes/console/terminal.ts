import { Elysia } from "elysia";
import { encodeFrame, type TerminalFrame } from "../../services/extensions/console/frames.ts";
import type { LiveTerminal } from "../../services/extensions/console/live-terminal.ts";
import { createViewer } from "../../services/extensions/console/viewer.ts";
import type { SocketUpgrade } from "../../system/sockets.ts";
import type { Routes } from "../http/mount.ts";
import { createFollowers, type Followers } from "../http/sse.ts";

/**
 * The live terminal over a WebSocket, at `path`. The gate has already refused pages of other origins, which
 * browsers name for sockets too.
 */
export function terminalSocket(options: {
  path: string;
  sockets: Pick<SocketUpgrade, "upgrade">;
  /** Throws when there is no such agent. */
  terminalOf: (params: Record<string, string>) => LiveTerminal;
}): Routes {
  const { path, sockets, terminalOf } = options;
  const viewers = createFollowers();
  return new Elysia({ name: "terminal-socket", seed: options }).get(
    path,
    ({ params, request }) => {
      const viewer = createViewer(limitViewers(viewers, terminalOf(params as Record<string, string>)));
      if (sockets.upgrade(request, viewer)) return new Response(null, { status: 204 });
      const headers = { upgrade: "websocket", connection: "upgrade" };
      return Response.json({ detail: "this is a WebSocket" }, { status: 426, headers });
    },
    { detail: { hide: true } },
  ) as unknown as Routes;
}

/** `terminal` with the limit of `viewers`: a further viewer is refused. */
export function limitViewers(viewers: Followers, terminal: LiveTerminal): LiveTerminal {
  return { ...terminal, frames: (signal) => viewers.admit(signal, (left) => terminal.frames(left)) };
}

/** The live terminal as a stream of frames, which a coordinator reads from a gateway. */
export async function framesAnswer(terminal: LiveTerminal, request: Request): Promise<Response> {
  const left = new AbortController();
  const signal = AbortSignal.any([request.signal, left.signal]);
  const headers = { "content-type": "application/octet-stream", "cache-control": "no-cache" };
  if (request.method === "HEAD") return new Response(null, { headers });
  const frames = terminal.frames(signal);
  // Waits for the first frame, so that a terminal that cannot be shown is a refusal and not a broken stream.
  let first: IteratorResult<TerminalFrame> | null = await frames.next();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = first ?? (await frames.next());
        first = null;
        if (next.done) controller.close();
        else controller.enqueue(encodeFrame(next.value));
      },
      async cancel() {
        left.abort();
        await frames.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}
