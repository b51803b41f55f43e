import type { HttpServer, listen as listenUnderBun } from "../../../src/system/http-server.ts";

declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen: () => void; signal: AbortSignal },
    handler: (request: Request) => Response | Promise<Response>,
  ): { addr: { port: number }; finished: Promise<void> };
};

/** Serves the handler with Deno's own server. */
export const listen: typeof listenUnderBun = ({ fetch, host, port }): HttpServer => {
  const stopped = new AbortController();
  const server = Deno.serve({ hostname: host, port, onListen: () => {}, signal: stopped.signal }, fetch);
  return {
    host,
    port: server.addr.port,
    async stop() {
      stopped.abort();
      await server.finished;
    },
  };
};
