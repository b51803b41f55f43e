import { type Caller, createCallerLookup } from "./callers.ts";
import { type Clock, withinTime } from "./clock.ts";
import { guardConnections } from "./connection-guard.ts";
import { ServiceError } from "./errors.ts";
import { createPressureRelief } from "./idle-memory.ts";
import { type SocketHandler, type SocketUpgrade, socketEvents } from "./sockets.ts";

export interface HttpServer {
  host: string;
  /** The port that was really bound. */
  port: number;
  /** Refuses new connections, lets requests in flight finish for `graceMs`, then closes what is left. */
  stop(graceMs: number): Promise<void>;
}

export interface ListenOptions {
  fetch: (request: Request) => Response | Promise<Response>;
  /** Asked before `fetch` with who calls; an answer refuses the request. */
  admit?: (request: Request, caller: Caller) => Response | null;
  host: string;
  port: number;
  clock: Clock;
  /** Lets `fetch` turn requests whose path ends with `/socket` into WebSockets. */
  sockets?: SocketUpgrade;
  /** How long a body may bring nothing, whole seconds from 1 to 255, in steps of 4. Default four minutes. */
  stalledBodySeconds?: number;
}

/**
 * Serves an edge-style handler. `port` 0 takes a free one; a port in use is `conflict`, never another port
 * instead. Bodies of any length reach `fetch`, which refuses what is too long; what it does not read is
 * thrown away as it arrives. A connection that begins no request, or half of one, is closed after 12 s of
 * silence (which is Bun's, whatever `idleTimeout` says), a body that stalls after `stalledBodySeconds`.
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

/** By what HTTP/1.1 announces it with: to ask for `body` would make a stream of what is then read at once. */
function hasBody({ headers }: Request): boolean {
  return headers.has("content-length") || headers.has("transfer-encoding");
}

function serve(options: ListenOptions, busy: BusyCallers) {
  const { stalledBodySeconds = defaultStalledBodySeconds, admit } = options;
  const relieve = createPressureRelief(options.clock);

  /** Keeps the caller at `port` as busy until its answer is there, or has ended where it is a stream. */
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

  /** A request that became a socket has no answer; its connection is in use until the socket is closed. */
  async function upgraded(
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
      // Else a handler that fails is answered with a page that shows its error and our source.
      development: false,
      // With which Bun lets several processes listen on one port, unless set otherwise.
      reusePort: false,
      // Unset, Bun writes a warning when a body stalls.
      idleTimeout: 30,
      // The server's own refusal has no body that says why.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      websocket: socketEvents,
      fetch(request, server) {
        // A quiet event stream lives on, and a caller that keeps its connection is never cut off as it asks
        // again.
        const bringsBody = hasBody(request);
        server.timeout(request, bringsBody ? stalledBodySeconds : 0);
        const peer = server.requestIP(request);
        const refusal = admit?.(request, callerOf(peer));
        if (refusal) return refusal;
        const answer = options.fetch(request);
        const port = peer?.port ?? 0;
        if (options.sockets && request.url.endsWith("/socket"))
          return upgraded(request, options.sockets, port, answer);
        // Most answers are there at once; to wait for one takes longer than to make it.
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

/** Where it really listens, also when the host was a name. Bun's types do not have it. */
function boundTo(server: object): { address: string; port: number } {
  return (server as { address: { address: string; port: number } }).address;
}

/** Callers' ports by how many of their requests are under way. */
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
 * Whether the answer to a request without a body may be an event stream, by its path: a look into the headers
 * of each answer costs more than most answers.
 */
function mayStream(url: string): boolean {
  return url.includes("/events");
}

/**
 * The same answer; `onEnd` is called once, when its body has ended, failed or lost its reader. The request's
 * abort signal says only the last of these.
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

/** It goes on after its handler has answered, and may be silent for long. */
function isEventStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}
