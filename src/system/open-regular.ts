import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { whyClosed } from "./copy-regular.ts";

/** A regular file that was open when it was looked at: what is read is what was checked. */
export type OpenedRegular =
  | { ok: true; size: number; stream: () => ReadableStream<Uint8Array>; close: () => void }
  | { ok: false; why: "absent" | "unreadable" | "not_regular" | "too_large" };

const chunkBytes = 256 * 1024;

/**
 * Opens a regular file to be sent elsewhere a piece at a time. The last part of `path` may not be a symbolic link.
 * `stream` gives `size` bytes, fewer if the file is cut meanwhile, and is for one reader. Closing twice is safe.
 */
export function openRegular(path: string, options: { maxBytes: number }): OpenedRegular {
  let handle: number;
  try {
    // Without waiting: a pipe would hold the opener until someone writes.
    handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return { ok: false, why: whyClosed(error) };
  }
  let open = true;
  const close = () => {
    if (open) closeSync(handle);
    open = false;
  };
  const facts = fstatSync(handle);
  const refused = !facts.isFile() ? "not_regular" : facts.size > options.maxBytes ? "too_large" : null;
  if (refused) {
    close();
    return { ok: false, why: refused };
  }
  const { size } = facts;
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
