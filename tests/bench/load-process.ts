import type { Socket } from "bun";
import type { LoadOrder, LoadResult } from "./load.ts";

// HTTP/1.1 by hand on kept connections: the generator must cost less than what it measures.

process.on("message", async (order: LoadOrder) => {
  process.send?.(await measure(order));
});

interface Client {
  sentMs: number;
  received: string;
}

async function measure({ port, path, body, clients, durationMs }: LoadOrder): Promise<LoadResult> {
  const entity =
    body === undefined
      ? []
      : ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`];
  const head = [`${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`];
  const request = Buffer.from([...head, ...entity, "", body ?? ""].join("\r\n"));
  const expected = `HTTP/1.1 ${body === undefined ? 200 : 202} `;
  const durations: number[] = [];
  let refused = 0;
  let open = clients;
  const done = Promise.withResolvers<void>();
  const startMs = performance.now();
  const endMs = startMs + durationMs;

  function send(socket: Socket<Client>): void {
    socket.data.sentMs = performance.now();
    socket.data.received = "";
    socket.write(request);
  }

  function receive(socket: Socket<Client>, bytes: Buffer): void {
    const { data } = socket;
    data.received += bytes.toString("latin1");
    if (!isWhole(data.received)) return;
    const now = performance.now();
    if (data.received.startsWith(expected)) durations.push(now - data.sentMs);
    else refused += 1;
    if (now < endMs) send(socket);
    else socket.end();
  }

  for (let index = 0; index < clients; index++) {
    Bun.connect<Client>({
      hostname: "127.0.0.1",
      port,
      data: { sentMs: 0, received: "" },
      socket: {
        open: send,
        data: receive,
        close() {
          open -= 1;
          if (open === 0) done.resolve();
        },
      },
    }).catch(done.reject);
  }
  await done.promise;
  return { rate: durations.length / ((performance.now() - startMs) / 1000), durations, refused };
}

function isWhole(text: string): boolean {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return false;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head + 2))?.[1];
  return text.length >= head + 4 + Number(length ?? 0);
}
