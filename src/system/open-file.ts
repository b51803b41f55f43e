import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { startSha256 } from "./digest.ts";
import { ServiceError } from "./errors.ts";
import { createReadRelief } from "./idle-memory.ts";
import { isAbsent, isOwn } from "./own-file.ts";
import { failedToRead } from "./storage-fault.ts";

/** Rules for files that may be read. Only regular files are ever read. */
export interface OpenPolicy {
  /**
   * Users who can change the file. `ours`: only this user and root. `private`: only they can also read it.
   * Default: anyone.
   */
  owner?: FileOwner;
  /** Default: any size. */
  maxBytes?: number;
  /**
   * Absolute folders, one of which must contain the real path. `anywhere`: any folder, also one of the kernel
   * such as /dev/shm. Default: any folder except those of the kernel.
   */
  within?: readonly string[] | "anywhere" | undefined;
  /** Whether the last part of the path may be a symbolic link. Default: no. */
  followsLink?: boolean;
}

export type FileOwner = "ours" | "private" | "anyone";

export type WhyNotRead =
  | "absent"
  | "unreadable"
  | "not_regular"
  | "not_ours"
  | "too_large"
  | "of_kernel"
  | "outside";

type Refusal = { ok: false; why: WhyNotRead };

/** `error`: the error of the system, or the one that it would report for a folder. */
type Refused = Refusal & { error?: unknown };

/** The kernel creates the content of these folders at each read, such as the environment of a process. */
const kernelFolders = ["/proc", "/sys", "/dev"];

/**
 * Opens a file for reading and checks the open file, so that a later change of the name has no effect. Never
 * waits for the other end of a pipe. The caller closes `handle`. Source: spec/security.md, rules 3 and 6.
 */
export function openFile(
  path: string,
  policy: OpenPolicy,
): { ok: true; handle: number; size: number } | Refused {
  const { owner = "anyone", maxBytes = Number.POSITIVE_INFINITY, within, followsLink = false } = policy;
  const isRestricted = within !== "anywhere";
  if (isRestricted) {
    // Opening a device may already have an effect.
    const named = realPathOf(path);
    const why = named === null ? null : whyMisplaced(named, within);
    if (why !== null) return { ok: false, why };
  }
  let handle: number;
  try {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    handle = openSync(path, O_RDONLY | O_NONBLOCK | (followsLink ? 0 : O_NOFOLLOW));
  } catch (error) {
    return { ok: false, why: whyClosed(error), error: failedToRead(error) };
  }
  const facts = fstatSync(handle);
  if (facts.isDirectory()) {
    closeSync(handle);
    return { ok: false, why: "not_regular", error: { code: "EISDIR" } };
  }
  let why: WhyNotRead | null = null;
  if (!facts.isFile()) why = "not_regular";
  else if (owner !== "anyone" && !isOwn(facts, owner)) why = "not_ours";
  else if (facts.size > maxBytes) why = "too_large";
  else if (isRestricted) {
    const real = pathOfHandle(handle, path);
    why = real === null ? "absent" : whyMisplaced(real, within);
  }
  if (why === null) return { ok: true, handle, size: facts.size };
  closeSync(handle);
  return { ok: false, why };
}

/** Maximum size of a file that is read whole; a message with its body has at most 8 MiB. */
const maxTextBytes = 32 * 2 ** 20;

const relieve = createReadRelief();

/**
 * See `Files.read`. Throws other errors of the system.
 */
export function readText(path: string, { owner = "ours" }: { owner?: FileOwner } = {}): string | null {
  const isOfAnyone = owner === "anyone";
  const policy = { owner, maxBytes: maxTextBytes, within: "anywhere", followsLink: isOfAnyone } as const;
  const opened = openFile(path, policy);
  if (!opened.ok) {
    throwUnlessAbsent(opened);
    if (isOfAnyone && opened.why !== "absent") throw refusalOf(path, opened);
    return null;
  }
  try {
    relieve(opened.size);
    return readFileSync(opened.handle, "utf8");
  } finally {
    closeSync(opened.handle);
  }
}

/** See `Files.readPart`; empty for a file that is not ours. */
export function readPart(path: string, start: number, end: number): Uint8Array {
  const opened = openFile(path, { owner: "ours", within: "anywhere" });
  if (!opened.ok) {
    throwUnlessAbsent(opened);
    return new Uint8Array();
  }
  try {
    const bytes = new Uint8Array(Math.max(0, end - start));
    let filled = 0;
    while (filled < bytes.length) {
      const read = readSync(opened.handle, bytes, filled, bytes.length - filled, start + filled);
      if (read === 0) break;
      filled += read;
    }
    return bytes.subarray(0, filled);
  } finally {
    closeSync(opened.handle);
  }
}

/** Throws an error of the system, but not for a link, a pipe or another owner. */
function throwUnlessAbsent({ why, error }: Refused): void {
  if (error !== undefined && why !== "not_regular" && !isAbsent(error)) throw error;
}

function refusalOf(path: string, { why, error }: Refused): ServiceError {
  const clause = why === "too_large" ? `is larger than ${maxTextBytes / 2 ** 20} MiB` : "is no regular file";
  const refusal = new ServiceError("precondition_failed", `${JSON.stringify(basename(path))} ${clause}`);
  // With the system's code a caller recognizes a folder and can explain the path that a person typed.
  const isFolder = (error as { code?: string } | undefined)?.code === "EISDIR";
  return isFolder ? Object.assign(refusal, { code: "EISDIR" }) : refusal;
}

/** See `Files.isBelow`. */
export function isBelow(path: string, folders: readonly string[]): boolean {
  const real = realPathOf(path);
  return real !== null && whyMisplaced(real, folders) === null;
}

function whyMisplaced(real: string, within: readonly string[] | undefined): "of_kernel" | "outside" | null {
  if (kernelFolders.some((folder) => contains(folder, real))) return "of_kernel";
  if (within === undefined) return null;
  const allowed = within.flatMap((folder) => realPathOf(folder) ?? []);
  return allowed.some((folder) => contains(folder, real)) ? null : "outside";
}

function contains(folder: string, path: string): boolean {
  const relativePath = relative(folder, path);
  return relativePath !== "" && relativePath !== ".." && !relativePath.startsWith(`..${sep}`);
}

/** The real path of the open file; null when the file no longer has that name. */
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

/** The real path; for an entry that cannot be resolved, by its folder. Opening refuses a link at the end. */
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
  throw failedToRead(error);
}

/** A regular file that was checked and is read through its open descriptor. */
export type OpenedFile =
  | { ok: true; size: number; stream: () => ReadableStream<Uint8Array>; close: () => void }
  | Refusal;

const chunkBytes = 256 * 1024;

/**
 * Opens a regular file for streaming. The last part of `path` must not be a symbolic link. `stream` is for
 * one reader and has `size` bytes, fewer when the file is truncated meanwhile. Closing twice is safe.
 */
export function openToStream(path: string, policy: OpenPolicy): OpenedFile {
  const opened = openFile(path, policy);
  if (!opened.ok) return { ok: false, why: opened.why };
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

export type CopyResult = { ok: true; size: number; sha256: string } | Refusal;

export interface CopyOptions extends OpenPolicy {
  /** Whether to sync the content. Default true. */
  durable?: boolean;
}

/**
 * Copies a regular file, in chunks, into a new file (0600). The last part of `from` must not be a symbolic
 * link. A refusal creates no file.
 */
export function copyRegular(from: string, to: string, options: CopyOptions): CopyResult {
  const source = openFile(from, options);
  if (!source.ok) return { ok: false, why: source.why };
  try {
    return copyInto(source.handle, to, options);
  } finally {
    closeSync(source.handle);
  }
}

function copyInto(
  source: number,
  to: string,
  { maxBytes = Number.POSITIVE_INFINITY, durable = true }: CopyOptions,
): CopyResult {
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
      // The file may grow while it is read.
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
