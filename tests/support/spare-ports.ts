import { createServer, type Server } from "node:net";

/**
 * Below what kernels hand out by themselves: whoever asks for any port, or calls somebody, gets none of
 * these.
 */
const [first, last] = [10_000, 32_000] as const;

function listenAt(port: number): Promise<Server | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(null));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

/**
 * Ports of this machine that nobody listens on, and that nobody takes by chance before their server begins.
 */
export async function sparePorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>();
  while (held.size < count) {
    const port = first + Math.floor(Math.random() * (last - first));
    const server = held.has(port) ? null : await listenAt(port);
    if (server) held.set(port, server);
  }
  await Promise.all([...held.values()].map((server) => new Promise((resolve) => server.close(resolve))));
  return [...held.keys()];
}
