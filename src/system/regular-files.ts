import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { startSha256 } from "./digest.ts";

/** Which files may be read on behalf of a caller, and how large they may be. */
export interface ReadLimits {
  maxBytes: number;
  /**
   * Folders, absolute, below one of which the file lies by its real path. Default: any, but for those of the
   * kernel.
   */
  below?: readonly string[] | undefined;
  /** Also in folders of the kernel, such as /dev/shm: for our own paths. */
  anywhere?: boolean;
}

export type WhyNotRead = "absent" | "unreadable" | "not_regular" | "too_large" | "of_kernel" | "outside";

/** What lies there is made by the kernel at the moment it is read, such as the environment of a process. */
const kernelFolders = ["/proc", "/sys", "/dev"];

/**
 * Opens a regular file, and judges what is open: a name that leads elsewhere a moment later changes nothing.
 * The last part of `path` may not be a symbolic link. The caller closes `handle`. Source: spec/security.md,
 * rule 6.
 */
export function openToRead(
  path: string,
  limits: ReadLimits,
): { ok: true; handle: number; size: number } | { ok: false; why: WhyNotRead } {
  // To open a device may already have an effect.
  const named = realPathOf(path);
  const early = named === null ? null : whyMisplaced(named, limits);
  if (early !== null) return { ok: false, why: early };
  let handle: number;
  try {
    // Without waiting: a pipe would hold the opener until someone writes.
    handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return { ok: false, why: whyClosed(error) };
  }
  const facts = fstatSync(handle);
  const real = pathOfHandle(handle, path);
  let why: WhyNotRead | null = null;
  if (!facts.isFile()) why = "not_regular";
  else if (facts.size > limits.maxBytes) why = "too_large";
  else why = real === null ? "absent" : whyMisplaced(real, limits);
  if (why === null) return { ok: true, handle, size: facts.size };
  closeSync(handle);
  return { ok: false, why };
}

/** Whether the file that `path` names now lies below one of `folders`, by real paths. */
export function isBelow(path: string, folders: readonly string[]): boolean {
  const real = realPathOf(path);
  return real !== null && whyMisplaced(real, { below: folders }) === null;
}

function whyMisplaced(
  real: string,
  { below, anywhere = false }: Omit<ReadLimits, "maxBytes">,
): "of_kernel" | "outside" | null {
  if (!anywhere && kernelFolders.some((folder) => lies(folder, real))) return "of_kernel";
  if (below === undefined) return null;
  const allowed = below.flatMap((folder) => realPathOf(folder) ?? []);
  return allowed.some((folder) => lies(folder, real)) ? null : "outside";
}

function lies(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`);
}

/** Where the file that is open lies; null when it no longer has that name. */
function pathOfHandle(handle: number, path: string): string | null {
  if (process.platform === "linux") {
    const real = readlinkSync(`/proc/self/fd/${handle}`);
    return real.endsWith(" (deleted)") ? null : real;
  }
  const real = realPathOf(path);
  if (real === null) return null;
  const [found, open] = [statSync(real, { throwIfNoEntry: false }), fstatSync(handle)];
  return found && found.dev === open.dev && found.ino === open.ino ? real : null;
}

/** By the folder: a link at the end is refused when it is opened. */
function realPathOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    try {
      return join(realpathSync(dirname(path)), path.slice(path.lastIndexOf("/") + 1));
    } catch {
      return null;
    }
  }
}

function whyClosed(error: unknown): "absent" | "unreadable" | "not_regular" {
  const code = (error as { code?: string }).code;
  if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG") return "absent";
  if (code === "ELOOP" || code === "ENXIO") return "not_regular";
  if (code === "EACCES" || code === "EPERM") return "unreadable";
  throw error;
}

/** A regular file that was checked by its open descriptor, from which it is read. */
export type OpenedRegular =
  | { ok: true; size: number; stream: () => ReadableStream<Uint8Array>; close: () => void }
  | { ok: false; why: WhyNotRead };

const chunkBytes = 256 * 1024;

/**
 * Opens a regular file to be sent elsewhere a piece at a time. The last part of `path` may not be a symbolic
 * link. `stream` gives `size` bytes, fewer if the file is cut meanwhile, and is for one reader. Closing twice
 * is safe.
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

export type CopyResult = { ok: true; size: number; sha256: string } | { ok: false; why: WhyNotRead };

export interface CopyOptions extends ReadLimits {
  /** Default true: the content is on disk at the end. */
  durable?: boolean;
}

/**
 * Copies a regular file, a piece at a time, into a new one (0600). The last part of `from` may not be a
 * symbolic link. A refusal makes nothing.
 */
export function copyRegular(from: string, to: string, options: CopyOptions): CopyResult {
  const source = openToRead(from, options);
  if (!source.ok) return source;
  try {
    return copyInto(source.handle, to, options);
  } finally {
    closeSync(source.handle);
  }
}

function copyInto(source: number, to: string, { maxBytes, durable = true }: CopyOptions): CopyResult {
  const target = openSync(to, "wx", 0o600);
  let size = 0;
  let whole = false;
  try {
    const hash = startSha256();
    const chunk = new Uint8Array(chunkBytes);
    for (;;) {
      const read = readSync(source, chunk, 0, chunk.length, size);
      if (read === 0) break;
      size += read;
      // It may grow while it is read.
      if (size > maxBytes) return { ok: false, why: "too_large" };
      hash.update(chunk.subarray(0, read));
      for (let written = 0; written < read; ) written += writeSync(target, chunk, written, read - written);
    }
    // The umask may have taken bits away.
    fchmodSync(target, 0o600);
    if (durable) fsyncSync(target);
    whole = true;
    return { ok: true, size, sha256: hash.hex() };
  } finally {
    closeSync(target);
    if (!whole) rmSync(to, { force: true });
  }
}
