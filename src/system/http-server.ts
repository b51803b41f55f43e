import { type Clock, sleep } from "./clock.ts";
import { ServiceError } from "./errors.ts";

export interface HttpServer {
  host: string;
  /** The port that was really bound. */
  port: number;
  /** Refuses new connections, lets requests in flight finish for `graceMs`, then closes what is left. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Serves an edge-style handler. `port` 0 takes a free one; a port in use is `conflict`, never another port
 * instead. Bodies beyond `maxBodyBytes` are cut off by the server as a last resort.
 */
export function listen(options: {
  fetch: (request: Request) => Response | Promise<Response>;
  host: string;
  port: number;
  maxBodyBytes: number;
  clock: Clock;
}): HttpServer {
  const server = serve(options);
  return {
    host: options.host,
    port: server.port ?? options.port,
    async stop(graceMs) {
      const nap = new AbortController();
      await Promise.race([server.stop(false), sleep(options.clock, graceMs, nap.signal)]);
      nap.abort();
      await server.stop(true);
    },
  };
}

function serve(options: Parameters<typeof listen>[0]) {
  try {
    return Bun.serve({
      hostname: options.host,
      port: options.port,
      // The default ends a quiet event stream after 10 s.
      idleTimeout: 0,
      maxRequestBodySize: options.maxBodyBytes,
      fetch: options.fetch,
    });
  } catch (error) {
    if ((error as { code?: string }).code === "EADDRINUSE") {
      throw new ServiceError("conflict", `port ${options.port} of ${options.host} is already in use`);
    }
    throw error;
  }
}
