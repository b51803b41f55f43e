import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { messageOf } from "./errors.ts";
import { visible } from "./visible.ts";

/**
 * Calls `stop` once on the first SIGINT, SIGTERM or SIGHUP, or when `over` resolves, and resolves when it is
 * done; a second signal ends the process at once. Resolves with the conventional exit code: 0, because a
 * requested stop is no failure.
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
 * For a process that must outlive its terminal: SIGHUP is ignored, and the first SIGINT or SIGTERM calls
 * `wish` instead of ending the process; further ones do nothing.
 */
export function outliveTerminal(wish: (signal: "SIGINT" | "SIGTERM") => void): void {
  let wished = false;
  process.on("SIGHUP", () => {});
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (!wished) wish(signal);
      wished = true;
    });
  }
}

/**
 * Ends the process with exit code 1 when an error reaches nobody: a rejected promise that no code awaits, or
 * an exception outside of every call of ours. `report` writes it to the log first; standard error gets it in
 * any case.
 */
export function endOnUnhandled(report: (error: unknown) => void): void {
  const end = (error: unknown) => {
    try {
      report(error);
    } catch {
      // The log itself may be what failed.
    }
    process.stderr.write(visible(`unexpected fault, the process ends: ${messageOf(error)}\n`));
    process.exit(1);
  };
  process.on("unhandledRejection", end);
  process.on("uncaughtException", end);
}

/**
 * Calls `gone` once nobody reads the pipe at `fd` any more, which otherwise only the next write would show.
 * Silent for anything but a pipe of Linux. Returns the function that ends it.
 */
export function onReaderGone(fd: number, gone: () => void): () => void {
  let own: number;
  try {
    if (!fstatSync(fd).isFIFO()) return () => {};
    // A separate handle, so that nothing of the stream on `fd` is touched.
    own = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return () => {};
  }
  let over = false;
  // Bun's types offer `fd` and forget it here.
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
