import { connect, type Socket } from "node:net";
import { createTestSignal } from "../support/until.ts";

/** A connection to 127.0.0.1 over which bytes go as they are. */
export interface RawLine extends Disposable {
  socket: Socket;
  send(text: string): void;
  /** All that came so far, a character for each byte. */
  heard(): string;
  /** Resolves when what came satisfies `enough`, or the other side has closed. */
  until(enough: (heard: string) => boolean): Promise<{ heard: string; closed: boolean }>;
}

/** Resolves once connected. */
export async function openRawLine(port: number): Promise<RawLine> {
  const socket = connect(port, "127.0.0.1");
  let heard = "";
  let closed = false;
  const changes = createTestSignal<void>();
  socket.on("data", (bytes: Buffer) => {
    heard += bytes.toString("latin1");
    changes.emit();
  });
  // A reset is a way to close.
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
    changes.emit();
  });
  const opened = Promise.withResolvers<void>();
  socket.once("connect", () => opened.resolve());
  socket.once("error", opened.reject);
  await opened.promise;
  return {
    socket,
    send: (text) => void socket.write(Buffer.from(text, "latin1")),
    heard: () => heard,
    until: (enough) =>
      changes.until("enough bytes", () => (closed || enough(heard) ? { heard, closed } : null)),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}
