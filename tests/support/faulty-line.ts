import { connect, createServer, type Socket } from "node:net";

/** A way of TCP to a server of this machine, with which the test interferes. */
export interface FaultyLine extends AsyncDisposable {
  port: number;
  /** What the server sends is thrown away; what it is sent arrives. */
  losesAnswers: boolean;
  /** Connections stay open, and nothing is carried in either direction. */
  hold(isHeld: boolean): void;
  /** Ends every connection; new ones are taken. */
  cut(): void;
}

export async function openFaultyLine(port: number): Promise<FaultyLine> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isHeld = false;
  const server = createServer((near) => {
    const far = connect({ host: "127.0.0.1", port });
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on("data", (bytes) => {
        if (!(from === far && line.losesAnswers)) to.write(bytes);
      });
      from.on("error", () => {});
      from.on("close", () => {
        to.destroy();
        pairs.delete(pair);
      });
      if (isHeld) from.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const end = () => {
    for (const [near, far] of pairs) {
      near.destroy();
      far.destroy();
    }
  };
  const line: FaultyLine = {
    port: typeof address === "object" && address ? address.port : 0,
    losesAnswers: false,
    hold(held) {
      isHeld = held;
      for (const pair of pairs) for (const side of pair) side[held ? "pause" : "resume"]();
    },
    cut: end,
    async [Symbol.asyncDispose]() {
      end();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return line;
}
