/**
 * Holds connections and writes `text` once to each: `bun stubborn-holder.ts <port> <count> [text]` prints
 * `held` once all were tried, and stays, whatever becomes of them.
 */
const [port, count, text = ""] = process.argv.slice(2);
const tried = Array.from({ length: Number(count) }, () =>
  Bun.connect({
    hostname: "127.0.0.1",
    port: Number(port),
    socket: { open: (socket) => void (text === "" || socket.write(text)), data() {}, error() {} },
  }).catch(() => null),
);
await Promise.all(tried);
console.log("held");
await new Promise(() => setInterval(() => {}, 60_000));

export {};
