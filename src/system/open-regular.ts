import { closeSync, readSync } from "node:fs";
import { openToRead, type ReadLimits, type WhyNotRead } from "./open-to-read.ts";

/** A regular file that was open when it was looked at: what is read is what was checked. */
export type OpenedRegular =
  | { ok: true; size: number; stream: () => ReadableStream<Uint8Array>; close: () => void }
  | { ok: false; why: WhyNotRead };

const chunkBytes = 256 * 1024;

/**
 * Opens a regular file to be sent elsewhere a piece at a time. The last part of `path` may not be a symbolic link.
 * `stream` gives `size` bytes, fewer if the file is cut meanwhile, and is for one reader. Closing twice is safe.
 */
export function openRegular(path: string, limits: ReadLimits): OpenedRegular {
  const opened = openToRead(path, limits);
  if (!opened.ok) return opened;
  const { handle, size } = opened;
  let open = true;
  const close = () => {
    if (open) closeSync(handle);
    open = false;
  };
  return {
    ok: true,
    size,
    close,
    stream: () => {
      let position = 0;
      return new ReadableStream<Uint8Array>({
        pull(controller) {
          const chunk = new Uint8Array(Math.min(chunkBytes, size - position));
          const read = chunk.length === 0 ? 0 : readSync(handle, chunk, 0, chunk.length, position);
          position += read;
          if (read > 0) return controller.enqueue(chunk.subarray(0, read));
          close();
          controller.close();
        },
        cancel: close,
      });
    },
  };
}
