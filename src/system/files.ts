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
   * The whole file as text, or null when it does not exist. A file that is not `ours` (the default) or
   * `private`, a link, another kind of file and one larger than 32 MiB count as absent. For `anyone` the file
   * may be behind a link, and another kind or size throws `precondition_failed`. Owner and mode are those of
   * the open file; other failures throw as they are.
   */
  read(path: string, policy?: { owner?: FileOwner }): string | null;
  exists(path: string): boolean;
  /**
   * Bytes `start` to before `end` (both from 0) of a file that is ours, as `read`; fewer where it ends.
   */
  readPart(path: string, start: number, end: number): Uint8Array;
  /** Size in bytes and modification time in epoch milliseconds, or null when absent. */
  stat(path: string): FileFacts | null;
  /** A regular file to be sent elsewhere; what `policy` does not allow is refused. */
  open(path: string, policy: OpenPolicy): OpenedFile;
  /** Whether the file that `path` names now lies below one of `folders`, by real paths. */
  isBelow(path: string, folders: readonly string[]): boolean;
  /** Why another user could change what `path` leads to, or null; see `findExposure`. */
  exposure(path: string, options?: { below?: string }): Exposure | null;
  /** What a person named to be read whole; never longer than asked for. */
  readInput(path: string, options: InputOptions): Promise<InputRead>;
  /** Whether this user may make files in the folder at `path`. */
  writable(path: string): boolean;
  /** What this user may still write on the disk of `path`. */
  freeBytes(path: string): number;
  /** True when `path` itself is a symbolic link, whatever it points to. */
  isLink(path: string): boolean;
  /** What the symbolic link at `path` says, or null when there is none. */
  linkTarget(path: string): string | null;
  /** The path without any symbolic link in it, or null when nothing is there. */
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
   * A new file whose content is on disk; its name is once `place` has moved it. Throws when it exists
   * already. `durable: false` does not sync the content.
   */
  create(label: string, path: string, text: string, options?: { durable?: boolean }): void;
  /**
   * Writes a copy of another file. Refuses as `open`, and then writes nothing.
   * `durable: false` does not sync the content.
   */
  copy(label: string, from: string, to: string, options: CopyOptions): CopyResult;
  /** Renames durably: the new name is on disk when this returns. */
  place(label: string, from: ContainedPath, to: ContainedPath): void;
  /** Puts the content of a file, or the names inside a folder, on disk. Throws where it is absent. */
  sync(label: string, path: string): void;
  /** As `sync`, off the event loop. */
  syncInBackground(label: string, path: string): Promise<void>;
  /** A symbolic link at `path` that says `target`. Throws when something is there already. */
  symlink(label: string, target: string, path: string): void;
  /**
   * Removes the temporary files in a folder (not below it) that processes which are no more began to write.
   */
  removeLeftovers(label: string, folder: string): void;
  /**
   * Appends in one write. Not synced: for logs and events, whose truth lives elsewhere. Throws for a link.
   */
  append(label: string, path: string, text: string): void;
  /**
   * Opens a file to add bytes to, for streams: each write is on its way to the disk when it returns,
   * unsynced. Throws for a link.
   */
  openAppend(label: string, path: string): Appender;
  /**
   * As `openAppend`, of a new file that is written off the event loop. Rejects when something has its name.
   */
  createInBackground(label: string, path: string): Promise<BackgroundAppender>;
  /** As `removeFile`, off the event loop. */
  removeInBackground(label: string, path: string): Promise<void>;
  /** Cuts the file off after `size` bytes. Throws for a link. */
  truncate(label: string, path: string, size: number): void;
  rename(label: string, from: ContainedPath, to: ContainedPath): void;
  /**
   * Removes a file, or a folder with all that it holds; absent is fine. Never follows a link at `path`
   * itself.
   */
  remove(label: string, path: ContainedPath): void;
  /** Removes a file or a link, never what it leads to, and no folder; absent is fine. */
  removeFile(label: string, path: string): void;
  /** Whether `path` itself, not what a link there leads to, is a folder of this user. */
  isOwnFolder(path: string): boolean;
  /** What is at `path` itself, which is no link: a socket of this user or root, anything else, or nothing. */
  socketAt(path: string): "own" | "other" | "absent";
  /** As `containedPath`. */
  contained(root: string, names: string | readonly string[], expected?: ExpectedKind): ContainedPath;
  /** The same, and whether something is there. */
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
          throw namedFolder(error, path);
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
 * rmSync of Bun 1.4 leaves the rest where it is, and says nothing, once a part was gone before it came to it.
 */
function removeWhole(path: string): void {
  for (let attempt = 0; attempt < removalAttempts; attempt++) {
    rmSync(path, { recursive: true, force: true });
    if (lstatOrNull(path) === null) return;
  }
  throw new Error(`cannot remove ${path}: it changes meanwhile`);
}

/** The system's own words name the temporary file. */
function namedFolder(error: unknown, path: string): unknown {
  const { code } = error as { code?: string };
  if (code !== "EISDIR") return error;
  return Object.assign(new Error(`${path} is a folder where a file belongs; move it away`), { code });
}

/** A file of ours that is not yet under its name; the number is the process that writes it. */
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
    // An error for every file that is not there would cost more than the look.
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}
