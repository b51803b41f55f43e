/** One WebSocket of a viewer. */
export interface ServerSocket {
  /** False when the viewer has gone. */
  send(data: string | Uint8Array): boolean;
  /** Bytes that the viewer has not read yet. */
  waiting(): number;
  close(reason: string): void;
}

/** What becomes of one connection. */
export interface SocketHandler {
  open(socket: ServerSocket): void;
  message(text: string): void;
  /** What waited was read. */
  drain(): void;
  closed(): void;
}

/** Turns a request into a WebSocket. The caller has been let in by then, and its origin looked at. */
export type SocketUpgrade = ReturnType<typeof createSocketUpgrade>;

/** A message of a viewer: a piece of typing, or a word or two. */
const maxMessageBytes = 64 * 1024;
/** A viewer that answers no ping for this long has gone. */
const idleSeconds = 60;

export function createSocketUpgrade() {
  const taken = new WeakMap<Request, Promise<void>>();
  let server: Bun.Server<SocketHandler> | null = null;
  const open = new Set<() => void>();
  return {
    bind(bound: Bun.Server<SocketHandler>): void {
      server = bound;
    },
    /** False when the request asks for none. Its answer is then the caller's; else there is none. */
    upgrade(request: Request, handler: SocketHandler): boolean {
      let leave = () => {};
      const { promise, resolve } = Promise.withResolvers<void>();
      const counted: SocketHandler = {
        ...handler,
        open(socket) {
          leave = () => socket.close("the server ends");
          open.add(leave);
          handler.open(socket);
        },
        closed() {
          open.delete(leave);
          resolve();
          handler.closed();
        },
      };
      if (server?.upgrade(request, { data: counted }) !== true) return false;
      taken.set(request, promise);
      return true;
    },
    /** Resolves when the socket that this request became is closed; null when it became none. */
    ended: (request: Request): Promise<void> | null => taken.get(request) ?? null,
    /** Closes all that are open. */
    close(): void {
      for (const leave of [...open]) leave();
    },
  };
}

/** The server's side of every socket: each is served by the handler that it was upgraded with. */
export const socketEvents: Bun.WebSocketHandler<SocketHandler> = {
  maxPayloadLength: maxMessageBytes,
  idleTimeout: idleSeconds,
  perMessageDeflate: false,
  open(socket) {
    socket.data.open({
      send: (data) => socket.send(data) !== 0,
      waiting: () => socket.getBufferedAmount(),
      close: (reason) => socket.close(1001, reason),
    });
  },
  message(socket, message) {
    // Viewers send text only.
    if (typeof message === "string") socket.data.message(message);
    else socket.close(1003, "text only");
  },
  drain: (socket) => socket.data.drain(),
  close: (socket) => socket.data.closed(),
};
