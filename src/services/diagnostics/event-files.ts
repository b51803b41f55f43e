import { basename, dirname } from "node:path";
import type { GatewayEvent } from "../../protocol/events.ts";
import type { Files } from "../../system/files.ts";
import { eventsAfter, eventsWith, findTornTail, firstSeqIn, lastSeqIn } from "./event-lines.ts";

/** Where events are kept: `events.jsonl`, and beside it the files it has been, `events.<first seq>.jsonl`. */
export interface EventFiles {
  /** The greatest `seq` that was on disk when the files were opened; 0 when there was none. */
  lastSeq: number;
  /** The smallest `seq` still kept, or null. */
  firstSeq(): number | null;
  /**
   * Appends lines, whole and in order, of which the first has `seq`. Throws what the file system throws; then none of
   * them counts as written, and the next append takes away what there is of them.
   */
  append(lines: string, seq: number): void;
  /** Events after a position, oldest first, across files. */
  after(seq: number): Generator<GatewayEvent>;
  /** Events whose lines contain a text, newest first, across files; what does not contain it costs little. */
  containing(text: string): Generator<GatewayEvent>;
}

export interface EventFileLimits {
  /** Size of one file, bytes. */
  maxBytes: number;
  /** Number of files, the one written to included. */
  count: number;
}

/**
 * Opens the files and heals what a crash left: a last line that is torn is cut away, one that only lacks its end
 * gets it. Positions are stable: they go on where the newest event on disk stands, whatever file it is in.
 */
export function openEventFiles(options: { files: Files; path: string; limits: EventFileLimits }): EventFiles {
  const { files, path, limits } = options;
  const folder = dirname(path);
  const stem = basename(path, ".jsonl");
  const pattern = new RegExp(`^${stem}\\.(\\d+)\\.jsonl$`);

  /** First positions of the closed files, ascending. */
  function closed(): number[] {
    return files
      .list(folder)
      .flatMap((name) => pattern.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((left, right) => left - right);
  }
  const closedPath = (seq: number) => files.contained(folder, [`${stem}.${seq}.jsonl`]);

  heal();
  let first = firstSeqIn(files, path);
  /** Size of the file before a write that failed and may have left a part of it. */
  let wholeSize: number | null = null;

  function heal(): void {
    const torn = findTornTail(files, path);
    if (!torn) return;
    if (torn.wholeEvent) files.append("file:events-heal", path, "\n");
    else files.truncate("file:events-heal", path, torn.offset);
  }

  function cutTo(size: number): void {
    if ((files.stat(path)?.size ?? 0) > size) files.truncate("file:events-heal", path, size);
  }

  function lastClosedSeq(): number {
    for (const seq of closed().reverse()) {
      const found = lastSeqIn(files, closedPath(seq));
      if (found !== null) return found;
    }
    return 0;
  }

  function rotate(): void {
    if (first === null) files.removeFile("file:events-drop", path);
    else files.rename("file:events-rotate", files.contained(folder, [basename(path)]), closedPath(first));
    for (const seq of closed().slice(0, -(limits.count - 1) || undefined)) {
      files.removeFile("file:events-drop", closedPath(seq));
    }
  }

  return {
    lastSeq: lastSeqIn(files, path) ?? lastClosedSeq(),
    firstSeq: () => {
      for (const seq of closed()) return seq;
      return first;
    },
    append(lines, seq) {
      if (wholeSize !== null) cutTo(wholeSize);
      wholeSize = null;
      // Asked for each time: a person may have taken the file away.
      let size = files.stat(path)?.size ?? 0;
      if (size > 0 && size + Buffer.byteLength(lines) > limits.maxBytes) {
        rotate();
        size = 0;
      }
      if (size === 0) first = seq;
      wholeSize = size;
      files.append("file:events", path, lines);
      wholeSize = null;
    },
    *after(seq) {
      const begins = closed();
      for (const [index, begin] of begins.entries()) {
        const next = begins[index + 1] ?? first;
        // All of it lies before the position.
        if (next !== null && next <= seq + 1) continue;
        yield* eventsAfter(files, closedPath(begin), seq);
      }
      yield* eventsAfter(files, path, seq);
    },
    *containing(text) {
      yield* eventsWith(files, path, text);
      for (const begin of closed().reverse()) yield* eventsWith(files, closedPath(begin), text);
    },
  };
}
