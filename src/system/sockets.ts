/** One WebSocket of a viewer. */
export interface ServerSocket {
  /** False when the viewer has gone. */
  send(data: string | Uint8Array): boolean;
  /** Bytes that the viewer has not read yet. */
  waiting(): number;
  close(reason: string): void;
}

/** The events of one connection. */
export interface SocketHandler {
  open(socket: ServerSocket): void;
  message(text: string): void;
  /** The viewer has read the waiting bytes. */
  drain(): void;
  closed(): void;
}

/** Turns a request into a WebSocket. The gate has already checked the caller and its origin. */
export type SocketUpgrade = ReturnType<typeof createSocketUpgrade>;

/** Maximum length of a viewer's message, which is text that a person typed or a command. */
const maxMessageBytes = 64 * 1024;
/** A viewer that answers no ping for this long is disconnected. */
const idleSeconds = 60;

export function createSocketUpgrade() {
  const upgraded = new WeakMap<Request, Promise<void>>();
  let server: Bun.Server<SocketHandler> | null = null;
  const open = new Set<() => void>();
  return {
    bind(bound: Bun.Server<SocketHandler>): void {
      server = bound;
    },
    /**
     * False for a request that is not an upgrade; the caller answers it. An upgraded request has no answer.
     */
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
      upgraded.set(request, promise);
      return true;
    },
    /** Resolves when the socket of this request is closed; null for a request without a socket. */
    ended: (request: Request): Promise<void> | null => upgraded.get(request) ?? null,
    /** Closes all open sockets. */
    close(): void {
      for (const leave of [...open]) leave();
    },
  };
}

/** Passes the events of each socket to the handler of its upgrade. */
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
