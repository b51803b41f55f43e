import { basename } from "node:path";
import type { TranscriptSource } from "../../../../protocol/transcript.ts";
import { afterThisTurn } from "../../../../system/clock.ts";
import { sha256 } from "../../../../system/digest.ts";
import { messageOf } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { boundsOfRecords, createLineSplitter } from "../../../headless/line-splitter.ts";
import { keyOfText } from "../../../terminal/keys.ts";
import { type LineReader, parseRecordLine } from "./record-lines.ts";
import type { TurnHead, TurnSource } from "./turn-source.ts";
import { createTurnFold, type TurnItem } from "./turn-source.ts";

const partBytes = 1024 * 1024;
/** Of a larger file that is read for the first time, the end. */
const maxScannedBytes = 64 * 1024 * 1024;
/** Of one turn. */
const maxTurnBytes = 32 * 1024 * 1024;
const lineEnd = 1;

interface Head extends TurnHead {
  offset: number;
  /** Which the file named before the prompt. */
  model: string | null;
}

/** Between two items of a file: what decides whether the next prompt begins a turn. */
export interface Preceding {
  /** Which the file named last. */
  model: string | null;
  /** Nothing came since the newest prompt: some versions of a tool write it twice. */
  justAsked: string | null;
  /** Nothing came since the tool's own notice: of several one turn begins. */
  justNoticed: boolean;
}

export const nothingPreceding: Preceding = { model: null, justAsked: null, justNoticed: false };

/** `begins`: the prompt that begins a turn, or null. Pure. */
export function next(
  preceding: Preceding,
  item: TurnItem,
): { preceding: Preceding; begins: Extract<TurnItem, { kind: "prompt" }> | null } {
  const { model, justAsked, justNoticed } = preceding;
  if (item.kind === "model") return { preceding: { ...preceding, model: item.model }, begins: null };
  if (item.kind !== "prompt") return { preceding: { ...nothingPreceding, model }, begins: null };
  if (item.text === justAsked || (item.own && justNoticed)) return { preceding, begins: null };
  return { preceding: { model, justAsked: item.text, justNoticed: item.own === true }, begins: item };
}

/** What of a file was read. */
interface Scan {
  identity: string;
  scannedTo: number;
  heads: Head[];
  damagedLines: number;
  preceding: Preceding;
}

const newScan = (identity: string): Scan => ({
  identity,
  scannedTo: 0,
  heads: [],
  damagedLines: 0,
  preceding: nothingPreceding,
});

interface RecordFileFacts {
  /** What it is, for people: `the record of claude`. */
  what: string;
  source: TranscriptSource;
  conversationId: string | null;
  reader: LineReader;
  /** The path, checked at each look. Throws `PathRefused`. */
  path: () => string;
}

/**
 * The turns of a file of JSON lines that only grows. A look reads what was added since the last one; of a
 * file that was replaced or cut, all. A link, a file of another user and one that others may write are not
 * read.
 */
export function createRecordFile(files: Files, facts: RecordFileFacts): TurnSource {
  const idBase = sha256(`${facts.source}\n${facts.what}\n${facts.conversationId ?? ""}`).slice(0, 10);
  let scan = newScan("");
  let gap: string | null = null;
  let looking: Promise<void> | null = null;

  /** The file as it is now, or null with `gap` set. */
  function find(): { path: string; size: number } | null {
    try {
      const path = facts.path();
      const found = files.stat(path);
      if (!found) {
        gap = `${facts.what} is not there any more: ${basename(path)}`;
        return null;
      }
      const isSame = found.identity === scan.identity && found.size >= scan.scannedTo;
      if (!isSame) scan = newScan(found.identity);
      return { path, size: found.size };
    } catch (error) {
      gap = `${facts.what} is not read: ${messageOf(error)}`;
      return null;
    }
  }

  async function look(): Promise<void> {
    gap = null;
    const found = find();
    if (!found) return;
    const { path, size } = found;
    let skipping = size - scan.scannedTo > maxScannedBytes;
    if (skipping) scan = { ...newScan(scan.identity), scannedTo: size - maxScannedBytes };
    let lineStart = scan.scannedTo;
    if (skipping) gap = `${facts.what} is large: only its last ${maxScannedBytes / 2 ** 20} MiB are read`;
    const splitter = createLineSplitter(boundsOfRecords);
    for (let at = lineStart; at < size; ) {
      const part = files.readPart(path, at, Math.min(size, at + partBytes));
      if (part.length === 0) {
        if (at === scan.scannedTo)
          gap = `${facts.what} is not read: it is no regular file of this user alone`;
        break;
      }
      at += part.length;
      for (const line of splitter.push(part)) {
        if (!skipping) note(line.truncated ? null : line.text, lineStart);
        skipping = false;
        lineStart += line.bytes + lineEnd;
      }
      // Others are served between two parts.
      if (at < size) await new Promise<void>(afterThisTurn);
    }
    scan.scannedTo = lineStart;
  }

  function note(line: string | null, offset: number): void {
    if (line?.trim() === "") return;
    const items = line === null ? null : parseRecordLine(facts.reader, line);
    if (items === null) scan.damagedLines += 1;
    for (const item of items ?? []) {
      const { preceding, begins } = next(scan.preceding, item);
      scan.preceding = preceding;
      if (begins) scan.heads.push(toHead(begins, offset));
    }
  }

  function toHead({ text, own, atMs }: Extract<TurnItem, { kind: "prompt" }>, offset: number): Head {
    return {
      turnId: `${idBase}-${offset.toString(36)}`,
      startedMs: atMs,
      promptKey: own || text === "" ? null : keyOfText(text),
      ...(own ? { own: true } : {}),
      offset,
      model: scan.preceding.model,
    };
  }

  /** Callers of one moment share a look. */
  function lookOnce(): Promise<void> {
    looking ??= look().finally(() => {
      looking = null;
    });
    return looking;
  }

  /** The items of the turn at `offset`; `whole`: its end was reached. */
  async function itemsOf(path: string, offset: number, end: number) {
    const splitter = createLineSplitter(boundsOfRecords);
    const items: TurnItem[] = [];
    const limit = Math.min(end, offset + maxTurnBytes);
    let cut = limit < end;
    const take = (lines: ReturnType<typeof splitter.push>) => {
      for (const line of lines) {
        if (line.truncated || line.shortened) cut = true;
        if (!line.truncated) items.push(...(parseRecordLine(facts.reader, line.text) ?? []));
      }
    };
    for (let at = offset; at < limit; ) {
      const part = files.readPart(path, at, Math.min(limit, at + partBytes));
      if (part.length === 0) break;
      at += part.length;
      take(splitter.push(part));
      if (at < limit) await new Promise<void>(afterThisTurn);
    }
    return { items, cut };
  }

  return {
    gap: () => gap,
    damagedLines: () => scan.damagedLines,
    async heads() {
      await lookOnce();
      return scan.heads;
    },
    async read(turnId, { last }) {
      const { heads } = scan;
      const index = heads.findIndex((head) => head.turnId === turnId);
      const head = heads[index];
      const found = head && find();
      // A file that was replaced has other turns.
      if (!head || !found || scan.heads !== heads) return null;
      const next = heads[index + 1];
      const { items, cut } = await itemsOf(found.path, head.offset, next?.offset ?? found.size);
      const fold = createTurnFold(head.model);
      for (const item of items) fold.add(item);
      return {
        ...fold.turn({ over: next !== undefined || !last }),
        turnId,
        source: facts.source,
        evidence: `${facts.what}, ${basename(found.path)} from byte ${head.offset}`,
        conversationId: facts.conversationId,
        cut,
      };
    },
  };
}
