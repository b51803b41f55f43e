import { type Clock, timestampNow } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { createRotatingFile } from "./rotating-file.ts";

type Fields = Record<string, string | number | boolean | null | undefined>;

/** Line log of one process: `<time> <text> key=value ...`. Never holds prompts, bodies or tokens. */
export interface Log {
  line(text: string, fields?: Fields): void;
}

export interface FileLog extends Log {
  /** Writes what was held back. Lines after it are written and never held back. */
  close(): void;
}

const maxRemembered = 256;
const repeatQuietMs = 30_000;
const defaultLimits = { maxBytes: 4 * 1024 * 1024, backups: 3 };

/**
 * Appends to a file of bounded size, rotated with numeric suffixes. A line that says what it said less than 30 s ago
 * is held back; when the 30 s are over it is written once more with `suppressed=<how often>`. A log that cannot be
 * written must not stop the work: the failure is dropped here.
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
  /** Written less than 30 s ago, oldest first; at most `maxRemembered`, since lines with an id never repeat. */
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
