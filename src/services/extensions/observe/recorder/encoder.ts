import {
  advance,
  type Known,
  type Recorded,
  type RecordLine,
  renderCastHeader,
  renderCastLine,
  renderRecord,
} from "./records.ts";
import { createRedactor, type Redactor } from "./redact.ts";

/** What is to be recorded, with its time in epoch milliseconds, which never falls within a segment. */
export type Item = { t: number } & (
  | { is: "record"; record: Recorded }
  /** The next output begins with the whole screen in this size. `gap`: why something before it is missing. */
  | { is: "picture"; width: number; height: number; gap: string | null }
  | { is: "output"; bytes: Uint8Array }
  /** The wall clock was set back: what follows belongs into another segment. */
  | { is: "set_back" }
);

/** What goes to one segment, in this order. */
export interface Batch {
  /** Set when it begins a new one. */
  begins: { startMs: number } | null;
  records: string;
  cast: string;
  /** Of the last item. */
  lastMs: number;
}

/** Between two checkpoints. */
const checkpointBytes = 64 * 1024;

export function createEncoder(options: { title: string; known: Known }) {
  let known = options.known;
  let startMs: number | null = null;
  let sinceCheckpoint = 0;
  let redactor: Redactor = createRedactor();
  let decoder = new TextDecoder();
  /** The size that the segment's cast has; null before its first picture. */
  let size: { width: number; height: number } | null = null;
  let gap: { fromMs: number; why: string } | null = null;
  let heldMs: number | null = null;
  let lastOutputMs = 0;

  function begin(batches: Batch[], t: number): Batch {
    const last = batches.at(-1);
    if (startMs !== null && last !== undefined) end(last, t);
    startMs = t;
    size = null;
    const batch: Batch = { begins: { startMs: t }, records: "", cast: "", lastMs: t };
    batches.push(batch);
    checkpoint(batch, t);
    if (gap !== null) {
      const { fromMs, why } = gap;
      gap = null;
      put(batch, { k: "gap", fromMs, why, t });
    }
    return batch;
  }

  function end(batch: Batch, t: number): void {
    batch.cast += flush();
    put(batch, { k: "end", goesOn: true, t });
  }

  function checkpoint(batch: Batch, t: number): void {
    sinceCheckpoint = 0;
    batch.records += renderRecord({ k: "checkpoint", t, known });
  }

  function put(batch: Batch, line: RecordLine): void {
    known = advance(known, line);
    const text = renderRecord(line);
    batch.records += text;
    sinceCheckpoint += text.length;
    if (sinceCheckpoint >= checkpointBytes) checkpoint(batch, line.t);
  }

  const seconds = (t: number) => (t - (startMs ?? t)) / 1000;

  function picture(batch: Batch, item: Extract<Item, { is: "picture" }>): void {
    const { t, width, height } = item;
    batch.cast += flush();
    redactor = createRedactor();
    decoder = new TextDecoder();
    if (size === null) batch.cast += renderCastHeader({ width, height, startMs: t, title: options.title });
    else if (size.width !== width || size.height !== height) {
      batch.cast += renderCastLine(seconds(t), "r", `${width}x${height}`);
    }
    if (item.gap !== null) {
      put(batch, { k: "gap", fromMs: lastOutputMs || t, why: item.gap, t });
      batch.cast += renderCastLine(seconds(t), "m", `gap: ${item.gap}`);
    }
    size = { width, height };
  }

  function output(batch: Batch, t: number, bytes: Uint8Array): void {
    // Without the screen before it nobody could show it.
    if (size === null) return;
    const text = redactor.push(decoder.decode(bytes, { stream: true }));
    lastOutputMs = t;
    heldMs = redactor.holds() ? (heldMs ?? t) : null;
    if (text !== "") batch.cast += renderCastLine(seconds(t), "o", text);
  }

  function flush(): string {
    const text = redactor.flush();
    heldMs = null;
    // Never before what was written last.
    return text === "" || size === null ? "" : renderCastLine(seconds(lastOutputMs), "o", text);
  }

  function begins(item: Item, rotate: "no" | "at_picture" | "now"): boolean {
    if (startMs === null || item.is === "set_back") return true;
    return rotate === "now" || (rotate === "at_picture" && item.is === "picture");
  }

  return {
    /** `rotate`: the segment is large or old enough; `at`: when it ends although no picture comes. */
    encode(items: readonly Item[], { rotate }: { rotate: "no" | "at_picture" | "now" }): Batch[] {
      const batches: Batch[] = [];
      let wanted = rotate;
      for (const item of items) {
        let batch = batches.at(-1);
        if (begins(item, wanted)) {
          if (batch === undefined && startMs !== null) {
            batch = { begins: null, records: "", cast: "", lastMs: item.t };
            batches.push(batch);
          }
          batch = begin(batches, item.t);
          wanted = "no";
        } else if (batch === undefined) {
          batch = { begins: null, records: "", cast: "", lastMs: item.t };
          batches.push(batch);
        }
        batch.lastMs = item.t;
        if (item.is === "record") put(batch, { ...item.record, t: item.t });
        else if (item.is === "picture") picture(batch, item);
        else if (item.is === "output") output(batch, item.t, item.bytes);
      }
      return batches;
    },
    /**
     * The lines that are held back as long as more output may come, as if no more came; empty when there are
     * none.
     */
    flush,
    /** When output was held back first; null while nothing is. */
    heldSinceMs: (): number | null => heldMs,
    /**
     * The segment cannot be written any more: the next item begins another one. `why` is the gap until then.
     */
    abandon(fromMs: number, why: string): void {
      startMs = null;
      size = null;
      gap ??= { fromMs, why };
      redactor = createRedactor();
      heldMs = null;
    },
    /** Takes items in without writing them. */
    skip(items: readonly Item[], why: string): void {
      for (const item of items) {
        gap ??= { fromMs: item.t, why };
        if (item.is === "record") known = advance(known, { ...item.record, t: item.t });
      }
    },
    known: (): Known => known,
  };
}
