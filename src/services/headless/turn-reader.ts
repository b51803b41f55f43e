import { type TurnEvent, toTurnEvent } from "../../protocol/turns.ts";
import type { Files } from "../../system/files.ts";
import type { AgentTurns } from "../agent/turns.ts";
import { toEvent } from "./follow-turn.ts";
import { createLineSplitter } from "./line-splitter.ts";
import { partsOf } from "./settle-turn.ts";
import { type TurnDirectories, toTurnStatus } from "./turn-directory.ts";

/** The turns of a session as their directories tell them, with or without a gateway. Nothing is changed. */
export type TurnReader = Pick<AgentTurns, "exists" | "list" | "read" | "events" | "artifact">;

export function createTurnReader(deps: { files: Files; turns: TurnDirectories }): TurnReader {
  const { files, turns } = deps;

  function readEvents(path: string, { after, limit }: { after: number; limit: number }): TurnEvent[] {
    const splitter = createLineSplitter();
    const found: TurnEvent[] = [];
    let passed = 0;
    for (const part of partsOf(files, path, 0, Number.POSITIVE_INFINITY)) {
      for (const line of splitter.push(part)) {
        const event = line.truncated ? null : toEvent(line.text);
        if (!event || passed++ < after) continue;
        found.push(toTurnEvent(event));
        if (found.length >= limit) return found;
      }
    }
    return found;
  }

  return {
    exists: (turnId) => turns.find(turnId) !== null,
    list: (limit) => turns.list(limit).flatMap((turn) => toTurnStatus(files, turn) ?? []),
    read(turnId) {
      const turn = turns.find(turnId);
      return turn && toTurnStatus(files, turn);
    },
    events(turnId, page) {
      const turn = turns.find(turnId);
      return turn && readEvents(turn.paths.events, page);
    },
    artifact(turnId, name, { offset, maxBytes }) {
      const turn = turns.find(turnId);
      return turn && partsOf(files, turn.paths[name], offset, maxBytes);
    },
  };
}
