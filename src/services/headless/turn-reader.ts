import { type TurnEvent, toTurnEvent } from "../../protocol/turns.ts";
import type { Files } from "../../system/files.ts";
import type { AgentTurns } from "../agent/agent.ts";
import { toEvent } from "./follow-turn.ts";
import { createLineSplitter } from "./line-splitter.ts";
import { partsOf } from "./settle-turn.ts";
import { type TurnDirectories, toTurnStatus } from "./turn-directory.ts";

/** The turns of a session as their directories show them, with or without a gateway. Nothing is changed. */
export type TurnReader = Pick<AgentTurns, "exists" | "list" | "read" | "events" | "artifact">;

const lineEnd = 1;
/** A page of 100 events is a part or two. */
const eventPartBytes = 64 * 1024;
const maxIndexedTurns = 64;
const maxMarks = 4096;
const firstStride = 64;

interface EventPosition {
  /** How many events precede it. */
  passed: number;
  /** Bytes from the beginning of the file to the event. */
  offset: number;
}

/**
 * Where the events of turns begin in their files, as far as they were read: a page is read without what precedes it. Files
 * of events only grow; a file that is shorter than what is known of it is read from its beginning again. Holds a bounded
 * number of positions, evenly spaced over a turn.
 */
export interface EventIndex {
  /** The last known position at or before the event with `after` events before it. */
  startOf(path: string, after: number, sizeBytes: number): EventPosition;
  note(path: string, position: EventPosition): void;
}

export function createEventIndex(): EventIndex {
  /** By path: offsets of every `stride`-th event, and of the end of what was read last. */
  const turns = new Map<string, { stride: number; marks: number[]; last: EventPosition }>();

  function entryOf(path: string) {
    const entry = turns.get(path) ?? { stride: firstStride, marks: [0], last: { passed: 0, offset: 0 } };
    turns.delete(path);
    turns.set(path, entry);
    for (const oldest of turns.keys()) {
      if (turns.size <= maxIndexedTurns) break;
      turns.delete(oldest);
    }
    return entry;
  }

  return {
    startOf(path, after, sizeBytes) {
      const { stride, marks, last } = entryOf(path);
      const mark = Math.min(Math.floor(after / stride), marks.length - 1);
      const marked = { passed: mark * stride, offset: marks[mark] ?? 0 };
      const nearest = last.passed <= after && last.passed > marked.passed ? last : marked;
      if (nearest.offset <= sizeBytes) return nearest;
      turns.delete(path);
      return { passed: 0, offset: 0 };
    },
    note(path, position) {
      const entry = entryOf(path);
      entry.last = position;
      if (position.passed !== entry.marks.length * entry.stride) return;
      entry.marks.push(position.offset);
      if (entry.marks.length <= maxMarks) return;
      entry.marks = entry.marks.filter((_, at) => at % 2 === 0);
      entry.stride *= 2;
    },
  };
}

/** `index`: shared by readers that are made for one request each; else the reader's own. */
export function createTurnReader(deps: {
  files: Files;
  turns: TurnDirectories;
  index?: EventIndex;
}): TurnReader {
  const { files, turns, index = createEventIndex() } = deps;

  function* readEvents(path: string, after: number): Generator<TurnEvent, undefined> {
    const splitter = createLineSplitter();
    let at = index.startOf(path, after, files.stat(path)?.size ?? 0);
    try {
      for (const part of partsOf(files, path, at.offset, { partBytes: eventPartBytes })) {
        for (const line of splitter.push(part)) {
          const event = line.truncated ? null : toEvent(line.text);
          if (event && at.passed % firstStride === 0) index.note(path, at);
          if (event && at.passed >= after) yield toTurnEvent(event);
          at = { passed: at.passed + (event ? 1 : 0), offset: at.offset + line.bytes + lineEnd };
        }
      }
    } finally {
      // A page reads one event more than it shows: the next page begins with that event.
      index.note(path, at);
    }
  }

  return {
    exists: (turnId) => turns.find(turnId) !== null,
    list: (limit) => turns.list(limit).flatMap((turn) => toTurnStatus(files, turn) ?? []),
    read(turnId) {
      const turn = turns.find(turnId);
      return turn && toTurnStatus(files, turn);
    },
    events(turnId, after) {
      const turn = turns.find(turnId);
      return turn && readEvents(turn.paths.events, after);
    },
    artifact(turnId, name, { offset, maxBytes }) {
      const turn = turns.find(turnId);
      if (!turn) return null;
      const path = turn.paths[name];
      const end = offset + (maxBytes ?? Number.POSITIVE_INFINITY);
      return {
        pieces: partsOf(files, path, offset, { maxBytes }),
        next: end < (files.stat(path)?.size ?? 0) ? end : null,
      };
    },
  };
}
