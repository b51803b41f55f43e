import { parseJson } from "../../protocol/json.ts";
import { CanonicalEvent, type TurnProcess, type TurnResult } from "../../protocol/turn-files.ts";
import { type TurnEvent, toTurnEvent } from "../../protocol/turns.ts";
import { sleep } from "../../system/clock.ts";
import { messageOf, runStep } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { createLoop } from "../../system/lifecycle.ts";
import type { FolderWatch } from "../../system/watch.ts";
import type { AgentTurns } from "../agent/agent.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { createLineSplitter } from "./line-splitter.ts";
import { isRunnerAlive, partsOf, type SettleDeps, settleTurn } from "./settle-turn.ts";
import { type TurnDirectories, type TurnDirectory, toTurnStatus } from "./turn-directory.ts";

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
 * Where the events of turns begin in their files, as far as they were read: a page is read without what
 * precedes it. Files of events only grow; a file that has become shorter is read from its beginning again.
 * Holds a bounded number of positions, evenly spaced over a turn.
 */
interface EventIndex {
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

export interface FollowDeps extends SettleDeps {
  watch: FolderWatch;
  log: Log;
}

interface TurnNews {
  /** The tool was started. */
  onStarted: (process: TurnProcess) => void;
  /** In order, each once. `old`: it was there before we began to follow. */
  onEvent: (event: CanonicalEvent, facts: { old: boolean }) => void;
  /** After each look: what the turn asks may have changed. */
  onLook?: () => void;
  /** Once, after all events. */
  onEnd: (result: TurnResult) => void;
}

export interface FollowedTurn {
  /** Looks no more; the turn goes on. */
  stop(): Promise<void>;
}

/** Notices may be lost on some file systems; nothing waits longer than this to be seen. */
const pollIntervalMs = 500;
const partBytes = 256 * 1024;

/**
 * Follows a turn through its directory until its final state, which it gives it itself when the runner is
 * gone. `claimWithinMs`: a turn that no runner has claimed by then never will be run.
 */
export function followTurn(
  deps: FollowDeps,
  turn: TurnDirectory,
  options: { claimWithinMs: number; news: TurnNews },
): FollowedTurn {
  const { files, clock, processes, news } = { ...deps, ...options };
  const deadlineMs = clock.monotonicMs() + options.claimWithinMs;
  const splitter = createLineSplitter();
  const oldBytes = files.stat(turn.paths.events)?.size ?? 0;
  let offset = 0;
  let reportedStart = false;
  let ended = false;
  /** The last look failed: what it wrote in the folder must not make it look again at once. */
  let troubled = false;

  async function readEvents(): Promise<void> {
    for (;;) {
      const part = files.readPart(turn.paths.events, offset, offset + partBytes);
      if (part.length === 0) return;
      // A turn that said very much must not keep this process from everything else.
      if (offset > 0 && part.length === partBytes) await sleep(clock, 0);
      offset += part.length;
      for (const line of splitter.push(part)) {
        const event = line.truncated ? null : toEvent(line.text);
        if (event) news.onEvent(event, { old: offset <= oldBytes });
      }
    }
  }

  function tellStarted(): void {
    const process = reportedStart ? null : turn.process();
    if (process?.child_pid == null) return;
    reportedStart = true;
    news.onStarted(process);
  }

  async function look(): Promise<number | null> {
    if (ended) return null;
    tellStarted();
    // The final state is written after the last event: in this order none is missed.
    const result = await runStep("end of the turn", settleIfGone);
    tellStarted();
    await runStep("events of the turn", readEvents);
    news.onLook?.();
    if (!result) return pollIntervalMs;
    ended = true;
    unwatch();
    news.onEnd(result);
    return null;
  }

  async function settleIfGone(): Promise<TurnResult | null> {
    if (turn.result()) return settleTurn(deps, turn);
    if (isRunnerAlive(processes, turn)) return null;
    if (turn.process()) return settleTurn(deps, turn);
    if (clock.monotonicMs() < deadlineMs) return null;
    return settleTurn(deps, turn, { unbegun: "its runner was never started" });
  }

  const loop = createLoop({
    clock,
    async turn() {
      try {
        const delayMs = await look();
        troubled = false;
        return delayMs;
      } catch (error) {
        troubled = true;
        throw error;
      }
    },
    onError: (error) => deps.log.line("following a turn failed", { error: messageOf(error) }),
  });
  const unwatch = deps.watch.watchFolder(turn.paths.folder, () => {
    if (!troubled) loop.wake();
  });
  loop.start();
  return {
    async stop() {
      unwatch();
      await loop.stop();
    },
  };
}

/** Null for a line that is no event of ours. */
const toEvent = (text: string) => parseJson(CanonicalEvent, text);
