import { join } from "node:path";

/** One measurement: `clients` connections that each send the next request when the last is answered. */
export interface LoadOrder {
  port: number;
  path: string;
  /** Sent by POST and answered with 202; without one, a GET answered with 200. */
  body?: string;
  clients: number;
  durationMs: number;
}

export interface LoadResult {
  /** Answers of the expected status a second. */
  rate: number;
  /** From a request's first byte to its answer's last, ms. */
  durations: number[];
  /** Answers of another status. */
  refused: number;
}

/** The load generator: a process of its own, so that it does not share our event loop. */
export interface Load extends AsyncDisposable {
  run(order: LoadOrder): Promise<LoadResult>;
}

export function createLoad(): Load {
  let answer: ((result: LoadResult) => void) | null = null;
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "load-process.ts")], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc: (message: LoadResult) => answer?.(message),
  });
  return {
    run(order) {
      const result = new Promise<LoadResult>((resolve, reject) => {
        answer = resolve;
        child.exited.then((code) => reject(new Error(`the load generator ended with ${code}`)));
      });
      child.send(order);
      return result;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}
