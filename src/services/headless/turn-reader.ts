import { type TurnEvent, toTurnEvent } from "../../protocol/turns.ts";
import type { Files } from "../../system/files.ts";
import type { AgentTurns } from "../agent/turns.ts";
import { toEvent } from "./follow-turn.ts";
import { createLineSplitter } from "./line-splitter.ts";
import { partsOf } from "./settle-turn.ts";
import { type TurnDirectories, toTurnStatus } from "./turn-directory.ts";

/** The turns of a session as their directories tell them, with or without a gateway. Nothing is changed. */
export type TurnReader = Pick<AgentTurns, "exists" | "list" | "read" | "events" | "artifact">;

const lineEnd = 1;
const mostPageStarts = 64;

export function createTurnReader(deps: { files: Files; turns: TurnDirectories }): TurnReader {
  const { files, turns } = deps;
  /** Where in a file of events, which only grows, the events after a number of them begin. */
  const pageStarts = new Map<string, number>();

  function* readEvents(path: string, after: number): Generator<TurnEvent, undefined> {
    const splitter = createLineSplitter();
    const known = pageStarts.get(`${path} ${after}`);
    let passed = known === undefined ? 0 : after;
    let offset = known ?? 0;
    // A page reads one event more than it shows, to know whether there is one.
    let before: [page: string, offset: number] | null = null;
    try {
      for (const part of partsOf(files, path, offset, Number.POSITIVE_INFINITY)) {
        for (const line of splitter.push(part)) {
          const begin = offset;
          offset += line.bytes + lineEnd;
          const event = line.truncated ? null : toEvent(line.text);
          if (!event || passed++ < after) continue;
          before = [`${path} ${passed - 1}`, begin];
          yield toTurnEvent(event);
        }
      }
    } finally {
      if (before) noteStart(...before);
      noteStart(`${path} ${passed}`, offset);
    }
  }

  /** Whoever follows a turn asks for what comes after the last page: it is not read from the beginning each time. */
  function noteStart(page: string, offset: number): void {
    pageStarts.delete(page);
    pageStarts.set(page, offset);
    for (const oldest of pageStarts.keys()) {
      if (pageStarts.size <= mostPageStarts) return;
      pageStarts.delete(oldest);
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
        pieces: partsOf(files, path, offset, maxBytes ?? Number.POSITIVE_INFINITY),
        next: end < (files.stat(path)?.size ?? 0) ? end : null,
      };
    },
  };
}
