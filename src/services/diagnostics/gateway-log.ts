import { type Clock, timestampNow } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";

/** Line log of one process: `<time> <text> key=value ...`. Never holds prompts, bodies or tokens. */
export interface Log {
  line(text: string, fields?: Record<string, string | number | boolean | null | undefined>): void;
}

/** Appends to a file. A log that cannot be written must not stop the work: the failure is dropped here. */
export function createFileLog(deps: { files: Files; clock: Clock; path: string }): Log {
  return {
    line(text, fields = {}) {
      const tail = Object.entries(fields)
        .filter(([, value]) => value !== undefined && value !== null)
        .map(([key, value]) => ` ${key}=${quote(String(value))}`)
        .join("");
      try {
        deps.files.append("file:log", deps.path, `${timestampNow(deps.clock)} ${text}${tail}\n`);
      } catch {
        // Full disk or removed folder: the state that matters is in SQLite and reports its own errors.
      }
    },
  };
}

function quote(value: string): string {
  const oneLine = value.replace(/[\x00-\x1f\x7f]+/g, " ");
  return /[\s"=]/.test(oneLine) ? JSON.stringify(oneLine) : oneLine;
}
