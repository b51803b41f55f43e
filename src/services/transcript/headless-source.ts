import type { TurnEvent, TurnStatusRecord } from "../../protocol/turns.ts";
import { parseTimestamp } from "../../system/clock.ts";
import { fieldsOf, textOf } from "../headless/json-fields.ts";
import type { TurnDirectories, TurnDirectory } from "../headless/turn-directory.ts";
import type { TurnReader } from "../headless/turn-reader.ts";
import { keyOfText } from "../terminal/prompt-key.ts";
import { createTurnFold, type TurnItem } from "./turn-items.ts";
import type { TurnSource } from "./turn-source.ts";

/** More turns than this are not paged through. */
const maxTurns = 5000;

/** The turns of a headless agent, from their own events. */
export function createHeadlessSource(deps: { directories: TurnDirectories; reader: TurnReader }): TurnSource {
  const { directories, reader } = deps;
  const promptOf = (turn: TurnDirectory) => turn.request()?.prompt ?? null;
  return {
    gap: () => null,
    damagedLines: () => 0,
    async heads() {
      return directories
        .list(maxTurns)
        .flatMap((turn) => {
          const request = turn.request();
          if (!request) return [];
          const startedMs = parseTimestamp(request.requested_at_utc);
          return [{ turnId: turn.turnId, startedMs, promptKey: keyOfText(request.prompt) }];
        })
        .reverse();
    },
    async read(turnId) {
      const directory = directories.find(turnId);
      const record = reader.read(turnId);
      if (!directory || !record) return null;
      const fold = createTurnFold();
      const prompt = promptOf(directory);
      if (prompt !== null)
        fold.add({ kind: "prompt", text: prompt, atMs: parseTimestamp(record.started_at_utc) });
      let cut = false;
      for (const event of reader.events(turnId, 0) ?? []) {
        for (const item of readTurnEvent(event)) fold.add(item);
        const { shortened } = event.payload?.data ?? {};
        if (event.kind === "assistant" && Array.isArray(shortened)) cut = true;
      }
      return {
        ...withRecord(fold.turn({ over: record.status !== "active" }), record),
        turnId,
        source: "headless",
        evidence: "the events of the turn, canonical-events.jsonl",
        conversationId: directory.result()?.session_id ?? null,
        cut,
      };
    },
  };
}

/** The record of the turn knows how it ended; its events may not. */
function withRecord<T extends { status: string; error: string | null }>(turn: T, record: TurnStatusRecord) {
  const status = record.status === "active" ? ("running" as const) : record.status;
  const endedMs = record.completed_at_utc === null ? null : parseTimestamp(record.completed_at_utc);
  return { ...turn, status, error: record.error, endedMs };
}

/** What a canonical event says of the turn. Pure. */
function readTurnEvent(event: TurnEvent): TurnItem[] {
  const data = event.payload?.data ?? {};
  const atMs = parseTimestamp(event.timestamp_utc);
  const id = textOf(data["action_id"]);
  switch (event.kind) {
    case "assistant":
      return [{ kind: "text", text: textOf(data["text"]) ?? event.message, key: null, atMs }];
    case "action_request":
      return [
        {
          kind: "tool_call",
          id,
          name: textOf(data["name"]) ?? "action",
          input: data["arguments"] ?? {},
          atMs,
        },
      ];
    case "action_result": {
      const status = textOf(data["status"]);
      const ok = status === "success" || status === "completed" ? true : status === "error" ? false : null;
      const output = textOf(fieldsOf(data)["result_summary"]) ?? "";
      return [{ kind: "tool_result", id, ok, output, atMs }];
    }
    default:
      return [];
  }
}
