const everyMs = 1;
const withinMs = 10_000;

/**
 * Resolves when a GET of the path on the loopback port is answered with 200; asks every millisecond. Throws
 * after 10 s. A socket by hand: a fetch that is refused costs more than the answer.
 */
export async function answers(port: number, path = "/health"): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await asked(port, path))) {
    if (performance.now() > deadline) throw new Error(`nothing answers on port ${port}`);
    await Bun.sleep(everyMs);
  }
}

async function asked(port: number, path: string): Promise<boolean> {
  const answer = Promise.withResolvers<boolean>();
  await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (socket) => void socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`),
      data(socket, bytes) {
        answer.resolve(bytes.toString("latin1").startsWith("HTTP/1.1 200 "));
        socket.end();
      },
      close: () => answer.resolve(false),
      error: () => answer.resolve(false),
    },
  }).catch(() => answer.resolve(false));
  return answer.promise;
}
