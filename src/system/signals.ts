import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { messageOf } from "./errors.ts";
import { visible } from "./visible.ts";

/**
 * Calls `stop` once on the first SIGINT, SIGTERM or SIGHUP, or when `over` resolves, and resolves when `stop`
 * is done. A second signal ends the process at once. Resolves with the exit code: 0, because a requested stop
 * is not a failure.
 */
export function untilStopped(stop: () => Promise<void>, over?: Promise<void>): Promise<number> {
  return new Promise((resolve) => {
    let stopping = false;
    const begin = () => {
      stopping = true;
      stop().then(
        () => resolve(0),
        (error) => {
          process.stderr.write(visible(`${String(error)}\n`));
          resolve(1);
        },
      );
    };
    void over?.then(() => stopping || begin());
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        if (stopping) process.exit(1);
        begin();
      });
    }
  });
}

/**
 * For a process that must outlive its terminal: ignores SIGHUP, and calls `onRequest` at the first SIGINT or
 * SIGTERM instead of ending the process; further signals do nothing.
 */
export function outliveTerminal(onRequest: (signal: "SIGINT" | "SIGTERM") => void): void {
  let isRequested = false;
  process.on("SIGHUP", () => {});
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (!isRequested) onRequest(signal);
      isRequested = true;
    });
  }
}

/**
 * Ends the process with exit code 1 on an unhandled error: a rejected promise that no code awaits, or an
 * uncaught exception. `report` writes it to the log first; standard error always gets it.
 */
export function endOnUnhandled(report: (error: unknown) => void): void {
  const end = (error: unknown) => {
    try {
      report(error);
    } catch {
      // The log itself may have failed.
    }
    process.stderr.write(visible(`unexpected fault, the process ends: ${messageOf(error)}\n`));
    process.exit(1);
  };
  process.on("unhandledRejection", end);
  process.on("uncaughtException", end);
}

/**
 * Calls `gone` when the last reader of the pipe at `fd` has closed it, which otherwise only the next write
 * would show. Does nothing for other descriptors and outside Linux. Returns the function that ends the watch.
 */
export function onReaderGone(fd: number, gone: () => void): () => void {
  let own: number;
  try {
    if (!fstatSync(fd).isFIFO()) return () => {};
    // A separate handle, which does not affect the stream on `fd`.
    own = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return () => {};
  }
  let over = false;
  // Bun's types lack `fd` here.
  const handle = { fd: own, socket: { data() {}, close: () => over || gone() } } as unknown;
  const opened = Bun.connect(handle as Bun.UnixSocketOptions).catch(() => {
    closeSync(own);
    return null;
  });
  return () => {
    over = true;
    void opened.then((socket) => socket?.end());
  };
}
