import { type Caller, createCallerLookup } from "./callers.ts";
import { type Clock, withinTime } from "./clock.ts";
import { guardConnections } from "./connection-guard.ts";
import { ServiceError } from "./errors.ts";
import { createPressureRelief } from "./idle-memory.ts";
import { type SocketHandler, type SocketUpgrade, socketEvents } from "./sockets.ts";

export interface HttpServer {
  host: string;
  /** The bound port. */
  port: number;
  /** Refuses new connections, lets requests finish for `graceMs`, then closes the remaining connections. */
  stop(graceMs: number): Promise<void>;
}

export interface ListenOptions {
  fetch: (request: Request) => Response | Promise<Response>;
  /** Called before `fetch` with the caller; an answer refuses the request. */
  admit?: (request: Request, caller: Caller) => Response | null;
  host: string;
  port: number;
  clock: Clock;
  /** Lets `fetch` turn requests whose path ends with `/socket` into WebSockets. */
  sockets?: SocketUpgrade;
  /** Time limit between two parts of a body, whole seconds from 1 to 255, in steps of 4. Default 240. */
  stalledBodySeconds?: number;
}

/**
 * Serves `fetch`. `port` 0 takes a free port; a port in use throws `conflict`. Bodies of any length reach
 * `fetch`, which refuses a body that is too long; bytes that it does not read are discarded. A connection
 * without a complete request is closed after 12 s of silence, which Bun fixes for every `idleTimeout`; a
 * stalled body after `stalledBodySeconds`.
 */
export function listen(options: ListenOptions): HttpServer {
  const busy = createBusyCallers();
  const server = serve(options, busy);
  const endGuard = guardConnections(boundTo(server).port, busy);
  return {
    host: options.host,
    port: server.port ?? options.port,
    async stop(graceMs) {
      endGuard();
      await withinTime(options.clock, graceMs, server.stop(false));
      await server.stop(true);
    },
  };
}

const defaultStalledBodySeconds = 240;

/** Reads the headers that announce a body, since reading `body` would create a stream. */
function hasBody({ headers }: Request): boolean {
  return headers.has("content-length") || headers.has("transfer-encoding");
}

function serve(options: ListenOptions, busy: BusyCallers) {
  const { stalledBodySeconds = defaultStalledBodySeconds, admit } = options;
  const relieve = createPressureRelief(options.clock);

  /**
   * Counts the caller at `port` as busy until its answer is ready; for a stream, until the stream has ended.
   */
  async function follow(
    request: Request,
    bringsBody: boolean,
    port: number,
    answer: Response | Promise<Response>,
  ): Promise<Response> {
    busy.enter(port);
    let leave = () => busy.leave(port);
    try {
      const response = await answer;
      if (bringsBody) server.timeout(request, 0);
      if (!(bringsBody || mayStream(request.url)) || !isEventStream(response)) return response;
      const followed = withEnd(response, leave);
      leave = () => {};
      return followed;
    } finally {
      leave();
      relieve();
    }
  }

  /** Counts the caller of a WebSocket as busy until the socket closes; such a request has no answer. */
  async function followUpgrade(
    request: Request,
    sockets: SocketUpgrade,
    port: number,
    answer: Response | Promise<Response>,
  ): Promise<Response | undefined> {
    busy.enter(port);
    try {
      const response = await answer;
      const ended = sockets.ended(request);
      if (ended === null) return response;
      busy.enter(port);
      void ended.then(() => busy.leave(port));
      return undefined;
    } finally {
      busy.leave(port);
    }
  }

  let server: Bun.Server<SocketHandler>;
  try {
    server = Bun.serve({
      hostname: options.host,
      port: options.port,
      // Otherwise the answer of a failed handler is a page with its error and source.
      development: false,
      // Otherwise Bun lets several processes listen on one port.
      reusePort: false,
      // Without a value Bun writes a warning when a body stalls.
      idleTimeout: 30,
      // The refusal of Bun would have no body with a reason.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      websocket: socketEvents,
      fetch(request, server) {
        // No time limit without a body: a quiet event stream continues, and a caller that keeps its
        // connection is not cut off at its next request.
        const bringsBody = hasBody(request);
        server.timeout(request, bringsBody ? stalledBodySeconds : 0);
        const peer = server.requestIP(request);
        const refusal = admit?.(request, callerOf(peer));
        if (refusal) return refusal;
        const answer = options.fetch(request);
        const port = peer?.port ?? 0;
        if (options.sockets && request.url.endsWith("/socket"))
          return followUpgrade(request, options.sockets, port, answer);
        // Most answers are ready at once, and awaiting one takes longer than creating it.
        if (bringsBody || !(answer instanceof Response) || mayStream(request.url)) {
          return follow(request, bringsBody, port, answer);
        }
        relieve();
        return answer;
      },
    });
    const callerOf = createCallerLookup(boundTo(server));
    options.sockets?.bind(server);
    return server;
  } catch (error) {
    if ((error as { code?: string }).code === "EADDRINUSE") {
      throw new ServiceError("conflict", `port ${options.port} of ${options.host} is already in use`);
    }
    throw error;
  }
}

/** The bound address, also for a host name. Bun's types lack it. */
function boundTo(server: object): { address: string; port: number } {
  return (server as { address: { address: string; port: number } }).address;
}

/** Counts the running requests of each caller's port. */
interface BusyCallers {
  enter(port: number): void;
  leave(port: number): void;
  has(port: number): boolean;
}

function createBusyCallers(): BusyCallers {
  const counts = new Uint16Array(65_536);
  return {
    enter(port) {
      counts[port] = (counts[port] ?? 0) + 1;
    },
    leave(port) {
      counts[port] = Math.max(0, (counts[port] ?? 0) - 1);
    },
    has: (port) => (counts[port] ?? 0) > 0,
  };
}

/**
 * Whether the answer to a request without a body may be an event stream, by its path: reading the headers of
 * each answer costs more than most answers.
 */
function mayStream(url: string): boolean {
  return url.includes("/events");
}

/**
 * Returns the same answer and calls `onEnd` once, when its body has ended, failed or lost its reader. The
 * request's abort signal reports only the lost reader.
 */
export function withEnd(response: Response, onEnd: () => void): Response {
  const reader = response.body?.getReader();
  if (reader === undefined) {
    onEnd();
    return response;
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = await reader.read();
          if (!next.done) return controller.enqueue(next.value);
          onEnd();
          controller.close();
        } catch (error) {
          onEnd();
          controller.error(error);
        }
      },
      cancel(reason) {
        onEnd();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { status: response.status, headers: response.headers });
}

/** An event stream continues after its handler returned, and may be silent for a long time. */
function isEventStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}
