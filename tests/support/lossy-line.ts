import { connect, createServer, type Socket } from "node:net";

/** A way to a server of this machine on which answers can get lost. */
export interface LossyLine extends AsyncDisposable {
  /** The server's address by this way. */
  url: string;
  /** Of how many answers one is lost: what was asked is done, and the asker's connection breaks. 0: none. */
  losesOneIn: number;
  /** Answers that were lost. */
  readonly lost: number;
}

/** `url`: where the server is. */
export async function openLossyLine(url: string): Promise<LossyLine> {
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  let answers = 0;
  let lost = 0;

  const server = createServer((near) => {
    const far = connect({ host: hostname, port: Number(port) });
    let asked = false;
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on("close", () => open.delete(socket)).on("error", () => {});
    }
    near.on("data", (bytes) => {
      asked = true;
      far.write(bytes);
    });
    far.on("data", (bytes) => {
      if (asked) answers += 1;
      if (asked && line.losesOneIn > 0 && answers % line.losesOneIn === 0) {
        lost += 1;
        near.destroy();
      }
      asked = false;
      if (!near.destroyed) near.write(bytes);
    });
    far.on("close", () => near.destroy());
    near.on("end", () => far.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const own = new URL(url);
  own.port = String(typeof address === "object" && address ? address.port : 0);

  const line: LossyLine = {
    url: own.href,
    losesOneIn: 0,
    get lost() {
      return lost;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return line;
}
