import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { NetworkHost } from "./netns.ts";

/**
 * A way to a TCP server of another host on which each caller's bytes can be late, also where the kernel has
 * no netem.
 */
export interface DelayedLine extends AsyncDisposable {
  /** Port beside the server. */
  port: number;
  /** All that is under way between this caller and the server takes so much longer, in each direction. */
  delay(caller: Pick<NetworkHost, "address">, delayMs: number): void;
}

/** `server`: the host and port of the server. `folder`: for the delays, one file for each address. */
export async function openDelayedLine(
  server: { network: Pick<NetworkHost, "address" | "prefix">; port: number },
  folder: string,
): Promise<DelayedLine> {
  mkdirSync(folder, { recursive: true });
  const { network, port } = server;
  const command = [process.execPath, import.meta.path, network.address, String(port), folder];
  const child = Bun.spawn([...network.prefix, ...command], { stdin: "ignore", stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error("the line does not listen");
  return {
    port: Number(new TextDecoder().decode(value)),
    delay(caller, delayMs) {
      const path = join(folder, caller.address);
      writeFileSync(`${path}.next`, String(delayMs));
      renameSync(`${path}.next`, path);
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

/** Run beside the server. */
function serveLine(host: string, port: number, folder: string): void {
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host, port, noDelay: true });
    const delayMs = () => delayOf(folder, near.remoteAddress ?? "");
    carry(near, far, delayMs);
    carry(far, near, delayMs);
  });
  server.listen(0, host, () => {
    const address = server.address();
    console.log(typeof address === "object" && address ? address.port : 0);
  });
}

/** In order, each part when its time has come; the end of one side too. */
function carry(from: Socket, to: Socket, delayMs: () => number): void {
  let last = Promise.resolve();
  const later = (act: () => void) => {
    const dueMs = performance.now() + delayMs();
    last = last.then(() => pause(Math.max(0, dueMs - performance.now()))).then(act);
  };
  from.on("data", (bytes) => later(() => void to.write(bytes)));
  from.on("error", () => {});
  from.on("close", () => later(() => void to.destroy()));
}

function delayOf(folder: string, address: string): number {
  try {
    return Number(readFileSync(join(folder, address), "utf8"));
  } catch {
    return 0;
  }
}

if (import.meta.main) serveLine(process.argv[2] ?? "", Number(process.argv[3]), process.argv[4] ?? "");
