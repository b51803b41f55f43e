import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  promises,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import {
  type ContainedPath,
  containedPath,
  type ExpectedKind,
  type Located,
  locate,
} from "./contained-path.ts";
import type { Ids } from "./ids.ts";
import {
  type CopyOptions,
  type CopyResult,
  copyRegular,
  type FileOwner,
  isBelow,
  type OpenedFile,
  type OpenPolicy,
  openToStream,
  readPart,
  readText,
} from "./open-file.ts";
import {
  type Appender,
  appendTo,
  type BackgroundAppender,
  createInBackground,
  freeBytes,
  isAbsent,
  openAppend,
  truncateWhole,
  writeWhole,
} from "./own-file.ts";
import { type Exposure, findExposure } from "./ownership.ts";
import { type InputOptions, type InputRead, readInputFile } from "./read-input.ts";
import type { Steps } from "./steps.ts";

/**
 * The only access to the file system. Files are created 0600 and folders 0700 (ruling 21). Every write takes
 * the label of its step (see `Steps`). Paths are absolute.
 */
export interface Files {
  /**
   * The whole file as text; null when it does not exist. A file that is not `ours` (the default) or
   * `private`, a link, another kind of file and a file larger than 32 MiB count as absent. With `anyone` a
   * link is followed, and another kind or size throws `precondition_failed`. Owner and mode are those of the
   * open file. Other failures are thrown unchanged.
   */
  read(path: string, policy?: { owner?: FileOwner }): string | null;
  exists(path: string): boolean;
  /**
   * Bytes `start` to before `end` (both from 0) of a file that is `ours`, as in `read`; fewer at its end.
   */
  readPart(path: string, start: number, end: number): Uint8Array;
  /** Size in bytes and modification time in epoch milliseconds, or null when absent. */
  stat(path: string): FileFacts | null;
  /** Opens a regular file for streaming; refuses a file that `policy` does not allow. */
  open(path: string, policy: OpenPolicy): OpenedFile;
  /** Whether the real path of `path` is below one of `folders` now. */
  isBelow(path: string, folders: readonly string[]): boolean;
  /** Why another user could change the file at `path`; null when none can; see `findExposure`. */
  exposure(path: string, options?: { below?: string }): Exposure | null;
  /** Reads the whole input that a person named, up to a maximum length. */
  readInput(path: string, options: InputOptions): Promise<InputRead>;
  /** Whether this user may create files in the folder at `path`. */
  writable(path: string): boolean;
  /** Bytes that this user may still write on the disk of `path`. */
  freeBytes(path: string): number;
  /** Whether `path` is a symbolic link, with any target. */
  isLink(path: string): boolean;
  /** The target of the symbolic link at `path`; null without a link. */
  linkTarget(path: string): string | null;
  /** The path with all symbolic links resolved; null when nothing is there. */
  realPath(path: string): string | null;
  /** Names inside a folder, sorted; empty when the folder is absent. */
  list(path: string): string[];
  ensureDirectory(label: string, path: string): void;
  /**
   * Replaces the file durably: temporary file in the same folder, fsync, rename, fsync of the folder. After a
   * crash a reader sees the old content or the new, never a part. `durable: false` skips both syncs. The
   * rename is a separate step, `<label>.rename`.
   */
  write(label: string, path: string, text: string, options?: { durable?: boolean; mode?: number }): void;
  /**
   * Creates a file and syncs its content. Its name is on disk only after `place` has moved it. Throws when
   * the file exists. `durable: false` does not sync the content.
   */
  create(label: string, path: string, text: string, options?: { durable?: boolean }): void;
  /**
   * Writes a copy of another file. Refuses like `open`, and writes nothing then. `durable: false` does not
   * sync the content.
   */
  copy(label: string, from: string, to: string, options: CopyOptions): CopyResult;
  /** Renames durably: the new name is on disk when this returns. */
  place(label: string, from: ContainedPath, to: ContainedPath): void;
  /** Syncs the content of a file, or the names in a folder. Throws when it does not exist. */
  sync(label: string, path: string): void;
  /** Like `sync`, off the event loop. */
  syncInBackground(label: string, path: string): Promise<void>;
  /** Creates a symbolic link at `path` with the target `target`. Throws when something is there. */
  symlink(label: string, target: string, path: string): void;
  /**
   * Removes temporary files of processes that have ended from a folder, not from its subfolders.
   */
  removeLeftovers(label: string, folder: string): void;
  /**
   * Appends in one write without a sync, for logs and events, which are not the authority. Throws for a link.
   */
  append(label: string, path: string, text: string): void;
  /**
   * Opens a file for appending. A write returns once the system has its bytes, without a sync. Throws for a
   * link.
   */
  openAppend(label: string, path: string): Appender;
  /**
   * Like `openAppend` for a new file, written off the event loop. Rejects when something has its name.
   */
  createInBackground(label: string, path: string): Promise<BackgroundAppender>;
  /** Like `removeFile`, off the event loop. */
  removeInBackground(label: string, path: string): Promise<void>;
  /** Truncates the file to `size` bytes. Throws for a link. */
  truncate(label: string, path: string, size: number): void;
  rename(label: string, from: ContainedPath, to: ContainedPath): void;
  /**
   * Removes a file, or a folder with its content; does nothing when it is absent. Never follows a link at
   * `path`.
   */
  remove(label: string, path: ContainedPath): void;
  /** Removes a file or a link (not its target), but no folder; does nothing when it is absent. */
  removeFile(label: string, path: string): void;
  /** Whether `path` is a folder of this user; links are not followed. */
  isOwnFolder(path: string): boolean;
  /** The entry at `path`, links not followed: `own` for a socket of this user or root. */
  socketAt(path: string): "own" | "other" | "absent";
  /** See `containedPath`. */
  contained(root: string, names: string | readonly string[], expected?: ExpectedKind): ContainedPath;
  /** Like `contained`, with the kind of the entry. */
  locate(root: string, names: string | readonly string[], expected?: ExpectedKind): Located;
}

interface FileFacts {
  size: number;
  modifiedMs: number;
  directory: boolean;
  /** Equal exactly for names of the same file. */
  identity: string;
}

export function createFiles(deps: { ids: Ids; steps: Steps }): Files {
  const { ids, steps } = deps;
  const step = <T>(label: string, run: () => T): T => {
    steps.before(label);
    const result = run();
    steps.after(label);
    return result;
  };
  return {
    read: readText,
    exists: (path) => statOrNull(path) !== null,
    readPart,
    stat: (path) => {
      const found = statOrNull(path);
      return (
        found && {
          size: found.size,
          modifiedMs: found.mtimeMs,
          directory: found.isDirectory(),
          identity: `${found.dev}:${found.ino}`,
        }
      );
    },
    open: openToStream,
    exposure: (path, { below } = {}) => findExposure(path, undefined, below),
    isBelow,
    readInput: readInputFile,
    writable: (path) => {
      try {
        accessSync(path, constants.W_OK | constants.X_OK);
        return true;
      } catch {
        return false;
      }
    },
    freeBytes,
    isLink,
    linkTarget: (path) => (isLink(path) ? readlinkSync(path) : null),
    realPath: (path) => (statOrNull(path) ? realpathSync(path) : null),
    list: namesIn,
    ensureDirectory: (label, path) => {
      if (statOrNull(path)?.isDirectory()) return;
      step(label, () => mkdirSync(path, { recursive: true, mode: 0o700 }));
    },
    write(label, path, text, { durable = true, mode = 0o600 } = {}) {
      step(label, () => {
        const temporary = join(dirname(path), `.${process.pid}-${ids.hex(6)}.tmp`);
        writeWhole(temporary, text, { durable, mode });
        try {
          step(`${label}.rename`, () => renameSync(temporary, path));
        } catch (error) {
          rmSync(temporary, { force: true });
          throw explainFolder(error, path);
        }
        if (durable) sync(dirname(path));
      });
    },
    removeLeftovers(label, folder) {
      for (const name of namesIn(folder)) {
        const writer = TEMPORARY.exec(name)?.[1];
        if (writer === undefined || isAlive(Number(writer))) continue;
        step(label, () => rmSync(join(folder, name), { force: true }));
      }
    },
    append: (label, path, text) => step(label, () => appendTo(path, text)),
    openAppend: (label, path) => step(label, () => openAppend(path)),
    async createInBackground(label, path) {
      steps.before(label);
      const appender = await createInBackground(path);
      steps.after(label);
      return {
        async write(bytes) {
          steps.before(label);
          await appender.write(bytes);
          steps.after(label);
        },
        close: appender.close,
      };
    },
    async removeInBackground(label, path) {
      steps.before(label);
      await promises.rm(path, { force: true });
      steps.after(label);
    },
    truncate: (label, path, size) => step(label, () => truncateWhole(path, size)),
    create: (label, path, text, { durable = true } = {}) =>
      step(label, () => writeWhole(path, text, { durable, mode: 0o600 })),
    copy: (label, from, to, options) => step(label, () => copyRegular(from, to, options)),
    place(label, from, to) {
      step(label, () => renameSync(from, to));
      sync(dirname(to));
    },
    sync: (label, path) => step(label, () => sync(path)),
    async syncInBackground(label, path) {
      steps.before(label);
      const handle = await promises.open(path, "r");
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
      steps.after(label);
    },
    symlink: (label, target, path) => step(label, () => symlinkSync(target, path)),
    rename: (label, from, to) => step(label, () => renameSync(from, to)),
    remove: (label, path) => step(label, () => removeWhole(path)),
    removeFile: (label, path) => step(label, () => unlinkIfThere(path)),
    isOwnFolder: (path) => {
      const found = lstatSync(path, { throwIfNoEntry: false });
      return found?.isDirectory() === true && found.uid === process.geteuid?.();
    },
    socketAt: (path) => {
      const found = lstatOrNull(path);
      if (found === null) return "absent";
      return found.isSocket() && (found.uid === process.geteuid?.() || found.uid === 0) ? "own" : "other";
    },
    contained: containedPath,
    locate,
  };
}

const removalAttempts = 100;

/**
 * Repeats the removal: rmSync of Bun 1.4 stops silently when an entry disappears meanwhile.
 */
function removeWhole(path: string): void {
  for (let attempt = 0; attempt < removalAttempts; attempt++) {
    rmSync(path, { recursive: true, force: true });
    if (lstatOrNull(path) === null) return;
  }
  throw new Error(`cannot remove ${path}: it changes meanwhile`);
}

/** Names the folder in the message; the message of the system names the temporary file. */
function explainFolder(error: unknown, path: string): unknown {
  const { code } = error as { code?: string };
  if (code !== "EISDIR") return error;
  return Object.assign(new Error(`${path} is a folder where a file belongs; move it away`), { code });
}

/** The name of a temporary file; the number is the id of the process that writes it. */
const TEMPORARY = /^\.(\d+)-[0-9a-f]{12}\.tmp$/;

function isLink(path: string): boolean {
  return lstatOrNull(path)?.isSymbolicLink() ?? false;
}

function lstatOrNull(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}

function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}

function sync(path: string): void {
  const handle = openSync(path, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path).sort();
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

function statOrNull(path: string) {
  try {
    // Avoids an error for every absent file, which costs more than the call.
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}
