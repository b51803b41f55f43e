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

/** Which files may be read. Every file that is read is a regular one. */
export interface OpenPolicy {
  /**
   * Who can change the file. `ours`: this user and root alone. `private`: so, and nobody else can read it.
   * Default: anyone.
   */
  owner?: FileOwner;
  /** Default: any size. */
  maxBytes?: number;
  /**
   * Folders, absolute, below one of which the file lies by its real path. `anywhere`: also in folders of the
   * kernel, such as /dev/shm, for our own paths. Default: anywhere but in those.
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

/** `error`: what the system reported where it refused, or would report of a folder. */
type Refused = Refusal & { error?: unknown };

/** What lies there is made by the kernel at the moment it is read, such as the environment of a process. */
const kernelFolders = ["/proc", "/sys", "/dev"];

/**
 * Opens a file to read it, and judges what is open: a name that leads elsewhere a moment later changes
 * nothing. Never waits for the other end of a pipe. The caller closes `handle`. Source: spec/security.md,
 * rules 3 and 6.
 */
export function openFile(
  path: string,
  policy: OpenPolicy,
): { ok: true; handle: number; size: number } | Refused {
  const { owner = "anyone", maxBytes = Number.POSITIVE_INFINITY, within, followsLink = false } = policy;
  const isJudgedByPlace = within !== "anywhere";
  if (isJudgedByPlace) {
    // To open a device may already have an effect.
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
  else if (isJudgedByPlace) {
    const real = pathOfHandle(handle, path);
    why = real === null ? "absent" : whyMisplaced(real, within);
  }
  if (why === null) return { ok: true, handle, size: facts.size };
  closeSync(handle);
  return { ok: false, why };
}

/** No file that is read whole is larger: a message with its body has 8 MiB. */
const maxTextBytes = 32 * 2 ** 20;

const relieve = createReadRelief();

/**
 * The whole file as text, or null when it is absent. A file that is not `owner`'s, of another kind or too
 * large is absent too when it has to be ours. For `anyone`, the file may be behind a link, and other kinds
 * and sizes throw `precondition_failed`. Throws what the system reports otherwise.
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

/** Bytes `start` to before `end` of a file that is ours; fewer where it ends, and none of any other file. */
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

/** A link, a pipe or another owner is no failure of the system. */
function throwUnlessAbsent({ why, error }: Refused): void {
  if (error !== undefined && why !== "not_regular" && !isAbsent(error)) throw error;
}

function refusalOf(path: string, { why, error }: Refused): ServiceError {
  const clause = why === "too_large" ? `is larger than ${maxTextBytes / 2 ** 20} MiB` : "is no regular file";
  const refusal = new ServiceError("precondition_failed", `${JSON.stringify(basename(path))} ${clause}`);
  // From the system's own code of a folder a caller knows what to say about a path that a person typed.
  const isFolder = (error as { code?: string } | undefined)?.code === "EISDIR";
  return isFolder ? Object.assign(refusal, { code: "EISDIR" }) : refusal;
}

/** Whether the file that `path` names now lies below one of `folders`, by real paths. */
export function isBelow(path: string, folders: readonly string[]): boolean {
  const real = realPathOf(path);
  return real !== null && whyMisplaced(real, folders) === null;
}

function whyMisplaced(real: string, within: readonly string[] | undefined): "of_kernel" | "outside" | null {
  if (kernelFolders.some((folder) => lies(folder, real))) return "of_kernel";
  if (within === undefined) return null;
  const allowed = within.flatMap((folder) => realPathOf(folder) ?? []);
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
  throw failedToRead(error);
}

/** A regular file that was checked by its open descriptor, from which it is read. */
export type OpenedFile =
  | { ok: true; size: number; stream: () => ReadableStream<Uint8Array>; close: () => void }
  | Refusal;

const chunkBytes = 256 * 1024;

/**
 * Opens a regular file to be sent elsewhere a piece at a time. The last part of `path` may not be a symbolic
 * link. `stream` gives `size` bytes, fewer if the file is cut meanwhile, and is for one reader. Closing twice
 * is safe.
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
  /** Default true: the content is on disk at the end. */
  durable?: boolean;
}

/**
 * Copies a regular file, a piece at a time, into a new one (0600). The last part of `from` may not be a
 * symbolic link. A refusal makes nothing.
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
