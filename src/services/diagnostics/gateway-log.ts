import { basename, dirname } from "node:path";
import { type Clock, timestampNow } from "../../system/clock.ts";
import type { ContainedPath } from "../../system/contained-path.ts";
import type { Files } from "../../system/files.ts";

/**
 * A file that never grows beyond `maxBytes`: before an append that would, it becomes `<path>.1`, `.1` becomes
 * `.2` and so on up to `backups`; the oldest goes. With no backups it starts empty. The size is asked for
 * each time: a process started by us may have its streams appended to the same file.
 */
export function createRotatingFile(options: {
  files: Files;
  label: string;
  path: string;
  maxBytes: number;
  backups: number;
}) {
  const { files, label, path, maxBytes, backups } = options;
  let made = false;

  function rotate(): void {
    for (const old of keptSuffixes().filter((suffix) => suffix >= backups)) {
      files.removeFile(`${label}-rotate`, `${path}.${old}`);
    }
    for (const suffix of keptSuffixes().reverse()) {
      files.rename(`${label}-rotate`, kept(`.${suffix}`), kept(`.${suffix + 1}`));
    }
    if (backups > 0) files.rename(`${label}-rotate`, kept(""), kept(".1"));
    else files.removeFile(`${label}-rotate`, path);
  }

  function kept(suffix: string): ContainedPath {
    return files.contained(dirname(path), [basename(path) + suffix]);
  }

  /** Ascending. */
  function keptSuffixes(): number[] {
    const prefix = `${basename(path)}.`;
    return files
      .list(dirname(path))
      .filter((name) => name.startsWith(prefix) && /^[1-9]\d*$/.test(name.slice(prefix.length)))
      .map((name) => Number(name.slice(prefix.length)))
      .sort((left, right) => left - right);
  }

  return {
    /**
     * Appends whole lines. What is larger than the limit by itself is dropped. Throws what the file system
     * throws.
     */
    append(text: string): void {
      const bytes = Buffer.byteLength(text);
      if (bytes > maxBytes) return;
      const size = files.stat(path)?.size ?? 0;
      if (size + bytes > maxBytes) rotate();
      // Once: a folder that is removed afterwards was removed on purpose.
      if (!made) files.ensureDirectory(`${label}-folder`, dirname(path));
      made = true;
      files.append(label, path, text);
    },
  };
}

type Fields = Record<string, string | number | boolean | null | undefined>;

/** Line log of one process: `<time> <text> key=value ...`. Never holds prompts, bodies or tokens. */
export interface Log {
  line(text: string, fields?: Fields): void;
}

interface FileLog extends Log {
  /** Writes what was held back. Lines after it are written and never held back. */
  close(): void;
}

const maxRemembered = 256;
const repeatQuietMs = 30_000;
const defaultLimits = { maxBytes: 4 * 1024 * 1024, backups: 3 };

/**
 * Appends to a file of bounded size, rotated with numeric suffixes. A line that says what it said less than
 * 30 s ago is held back; when the 30 s are over it is written once more with `suppressed=<how often>`. A log
 * that cannot be written must not stop the work: the failure is dropped here.
 */
export function createFileLog(deps: {
  files: Files;
  clock: Clock;
  path: string;
  limits?: { maxBytes: number; backups: number };
  /** Gets each line that is written, without its end. */
  echo?: (line: string) => void;
}): FileLog {
  const { files, clock, path, limits = defaultLimits } = deps;
  const file = createRotatingFile({ files, label: "file:log", path, ...limits });
  /**
   * Written less than 30 s ago, oldest first; at most `maxRemembered`, since lines with an id never repeat.
   */
  const recent = new Map<string, { atMs: number; suppressed: number; cancel: () => void }>();
  let closed = false;

  function write(said: string): void {
    const line = `${timestampNow(clock)} ${said}`;
    try {
      deps.echo?.(line);
      file.append(`${line}\n`);
    } catch {
      // Full disk or removed folder: the state that matters is in SQLite and reports its own errors.
    }
  }

  function release(said: string): void {
    const entry = recent.get(said);
    recent.delete(said);
    entry?.cancel();
    if (entry && entry.suppressed > 0) write(`${said} suppressed=${entry.suppressed}`);
  }

  function forgetOld(nowMs: number): void {
    for (const [said, { atMs, suppressed }] of recent) {
      if (nowMs - atMs < repeatQuietMs) return;
      // A log that holds lines back has a timer for them.
      if (suppressed === 0) recent.delete(said);
    }
  }

  return {
    line(text, fields = {}) {
      const said = text + renderFields(fields);
      if (closed) return write(said);
      const nowMs = clock.monotonicMs();
      forgetOld(nowMs);
      const entry = recent.get(said);
      if (!entry) {
        const [oldest] = recent.size < maxRemembered ? [] : recent.keys();
        if (oldest !== undefined) release(oldest);
        recent.set(said, { atMs: nowMs, suppressed: 0, cancel: () => {} });
        return write(said);
      }
      entry.suppressed += 1;
      if (entry.suppressed > 1) return;
      entry.cancel = clock.after(entry.atMs + repeatQuietMs - nowMs, () => release(said));
    },
    close() {
      closed = true;
      for (const said of [...recent.keys()]) release(said);
    },
  };
}

function renderFields(fields: Fields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([key, value]) => ` ${key}=${quote(String(value))}`)
    .join("");
}

function quote(value: string): string {
  const oneLine = value.replace(/[\x00-\x1f\x7f]+/g, " ");
  return /[\s"=]/.test(oneLine) ? JSON.stringify(oneLine) : oneLine;
}
