import { closeSync, constants, fstatSync, openSync } from "node:fs";

/**
 * Calls `gone` once nobody reads the pipe at `fd` any more, which otherwise only the next write would show. Silent for
 * anything but a pipe of Linux. Returns the function that ends it.
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
