import type { SecondUser } from "./second-user.ts";
import { until } from "./until.ts";

/** A server of the second user that answers as a gateway or coordinator would, and keeps what it was sent. */
export interface Thief {
  pid: number;
  port: number;
  /** Everything that it was sent, as text. */
  heard(): string;
  /** Resolves once it was asked something. */
  asked(): Promise<unknown>;
  stop(): Promise<void>;
}

const program = `
const { createServer } = require("node:net");
const [port, reply] = process.argv.slice(2);
const server = createServer((socket) => {
  socket.on("error", () => {});
  socket.on("data", (part) => {
    console.log(JSON.stringify(part.toString("latin1")));
    const path = /^[A-Z]+ ([^ ?]*)/.exec(part.toString("latin1"))?.[1];
    const body = path === "/health" ? JSON.stringify({ protocol_version: "v1", status: "ok", svc_service: "svc-coord" }) : reply;
    socket.write("HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: " + Buffer.byteLength(body) + "\\r\\n\\r\\n" + body);
  });
});
const listen = () => server.listen(Number(port), "127.0.0.1", () => console.log("ready " + server.address().port));
// A connection of somebody else may have the port for a moment.
let left = 100;
server.on("error", (error) => {
  if (error.code !== "EADDRINUSE" || left-- === 0) throw error;
  setTimeout(listen, 50);
});
listen();
`;

/** Listens on `port` (0: any) as the second user. `status`: what it answers to all but `/health`. */
export async function startThief(other: SecondUser, port: number, status: object): Promise<Thief> {
  const child = other.start(other.script(program, String(port), JSON.stringify(status)));
  const ready = await child.line();
  let heard = "";
  const read = (async () => {
    for (;;) heard += `${JSON.parse(await child.line())}\n`;
  })().catch(() => {});
  return {
    pid: child.pid,
    port: Number(ready.split(" ")[1]),
    heard: () => heard,
    asked: () => until("the thief is asked", () => heard !== ""),
    async stop() {
      await child.stop();
      await read;
    },
  };
}
