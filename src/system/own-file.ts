import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  promises,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { ServiceError } from "./errors.ts";

// Files of this user. Every function opens the file itself, never the target of a link, and uses the open
// descriptor from then on.

export interface Appender {
  /** All of `bytes`, in order. */
  write(bytes: Uint8Array): void;
  /** Closing twice is safe; nothing may be written afterwards. */
  close(): void;
}

/** Flags that neither follow a link at the end of the path nor wait for the other end of a pipe. */
const flags = {
  append:
    constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  change: constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK,
};

export function appendTo(path: string, text: string): void {
  const appender = openAppend(path);
  try {
    appender.write(Buffer.from(text, "utf8"));
  } finally {
    appender.close();
  }
}

/**
 * Appends to a regular file that only this user may write; throws for a link, a pipe or another file. Does
 * nothing when the file has `maxBytes`. `text` is one write, so that lines of several writers never mix.
 */
export function appendToOwn(path: string, text: string, maxBytes: number): void {
  const handle = openSync(path, flags.append, 0o600);
  try {
    const facts = fstatSync(handle);
    if (!facts.isFile() || !isOwn(facts)) throw new Error("not a regular file of this user alone");
    if (facts.size < maxBytes) writeSync(handle, text);
  } finally {
    closeSync(handle);
  }
}

export function truncateWhole(path: string, size: number): void {
  const handle = openSync(path, flags.change);
  try {
    ftruncateSync(handle, size);
  } finally {
    closeSync(handle);
  }
}

export function openAppend(path: string): Appender {
  const handle = openSync(path, flags.append, 0o600);
  let open = true;
  return {
    write(bytes) {
      for (let written = 0; written < bytes.length; ) written += writeSync(handle, bytes, written);
    },
    close() {
      if (open) closeSync(handle);
      open = false;
    },
  };
}

/** Like `Appender`, off the event loop: a slow disk delays only the returned promises. */
export interface BackgroundAppender {
  /** Writes all of `bytes`, in the order of the calls. */
  write(bytes: Uint8Array): Promise<void>;
  /** Closing twice is safe. */
  close(): Promise<void>;
}

/** Creates a file for this user alone. Rejects when something has its name. */
export async function createInBackground(path: string): Promise<BackgroundAppender> {
  const handle = await promises.open(path, flags.append | constants.O_EXCL, 0o600);
  let closed = false;
  return {
    async write(bytes) {
      for (let written = 0; written < bytes.length; ) {
        written += (await handle.write(bytes, written)).bytesWritten;
      }
    },
    async close() {
      if (closed) return;
      closed = true;
      await handle.close();
    },
  };
}

export function writeWhole(
  path: string,
  content: string | Uint8Array,
  { durable, mode }: { durable: boolean; mode: number },
): void {
  const handle = openSync(path, "wx", mode);
  try {
    const bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content;
    for (let written = 0; written < bytes.length; ) written += writeSync(handle, bytes, written);
    // The umask may have cleared bits of the mode.
    fchmodSync(handle, mode);
    if (durable) fsyncSync(handle);
  } catch (error) {
    closeSync(handle);
    rmSync(path, { force: true });
    throw error;
  }
  closeSync(handle);
}

export const writableByOthers = 0o022;
const readableByOthers = 0o077;

/** The user of this process, which never changes. */
export const ownUser: number = process.geteuid?.() ?? 0;

/**
 * Whether only this user (and root) may change a file of this owner and mode; with `private`, also read it.
 */
export function isOwn(facts: { uid: number; mode: number }, access: "ours" | "private" = "ours"): boolean {
  const openToOthers = access === "private" ? writableByOthers | readableByOthers : writableByOthers;
  return (facts.uid === ownUser || facts.uid === 0) && (facts.mode & openToOthers) === 0;
}

export function isAbsent(error: unknown): boolean {
  const code = (error as { code?: string }).code;
  return code === "ENOENT" || code === "ENOTDIR";
}

/**
 * Creates an empty file with mode 0600 for SQLite, which gives the files beside it the same mode. An existing
 * file is not opened: closing a handle on it would drop a POSIX lock of this process.
 */
export function createPrivately(path: string): void {
  refuseLinkedDatabase(path);
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}

/**
 * Like `createPrivately`, with `content` on disk before the file gets its name. An existing database or log
 * is unchanged, since a log belongs to the file for which it was written; so is a file that another process
 * creates meanwhile. A file system without hard links gets an empty file.
 */
export function createPrivatelyWith(path: string, content: () => Uint8Array): void {
  refuseLinkedDatabase(path);
  if (["", "-wal", "-journal"].some((suffix) => lstatSync(path + suffix, { throwIfNoEntry: false }))) {
    createPrivately(path);
    return;
  }
  // The name is that of a temporary file, which the next start removes.
  const temporary = `${dirname(path)}/.${process.pid}-000000000000.tmp`;
  rmSync(temporary, { force: true });
  writeWhole(temporary, content(), { durable: true, mode: 0o600 });
  try {
    linkSync(temporary, path);
  } catch {
    createPrivately(path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/**
 * Throws `precondition_failed` when a database file, or a file that SQLite opens beside it, is a link, a pipe
 * or a folder: SQLite follows links and would write to their targets.
 */
export function refuseLinkedDatabase(path: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) {
    const found = lstatSync(path + suffix, { throwIfNoEntry: false });
    if (!found || found.isFile()) continue;
    throw new ServiceError(
      "precondition_failed",
      `${basename(path)}${suffix} is no regular file, such as a symbolic link; remove it and try again`,
      { data: { file: "not_regular" } },
    );
  }
}

/** Identity of the file at `path`, which changes when another file takes its name; null without a file. */
export function fileIdentity(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.dev}:${found.ino}` : null;
}

/** Size and time of the file at `path`; null without a file. */
export function fileShape(path: string): { size: number; modifiedMs: number } | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? { size: found.size, modifiedMs: found.mtimeMs } : null;
}

/** See `Files.freeBytes`. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}
