/**
 * Holds idle connections: `bun connection-holder.ts <port> <count>` prints `held <count>` once all are open
 * and ends when its stdin does, or with 1 when one could not be opened or was closed.
 */
const [port, count] = process.argv.slice(2).map(Number);
const opened: Promise<unknown>[] = [];
for (let nth = 0; nth < (count ?? 0); nth++) {
  opened.push(
    Bun.connect({
      hostname: "127.0.0.1",
      port: port ?? 0,
      socket: { data() {}, close: () => process.exit(1), error: () => process.exit(1) },
    }),
  );
  // The server's queue of connections that nobody has taken yet is short.
  if (opened.length % 100 === 0) await Promise.all(opened);
}
await Promise.all(opened);
console.log(`held ${opened.length}`);
for await (const _ of Bun.stdin.stream()) {
  // Until it ends.
}
process.exit(0);

export {};
