import { Value } from "@sinclair/typebox/value";
import type { TurnRequest } from "../../../../protocol/turn-files.ts";
import type { TurnEvent, TurnStatusRecord } from "../../../../protocol/turns.ts";
import { type Tokens, TokenUsage } from "../../../../protocol/usage.ts";
import { parseTimestamp } from "../../../../system/clock.ts";
import { fieldsOf, itemsOf, textOf } from "../../../headless/json-fields.ts";
import { modelIn } from "../../../headless/provider.ts";
import type { TurnDirectories, TurnDirectory } from "../../../headless/turn-directory.ts";
import type { TurnReader } from "../../../headless/turn-reader.ts";
import { noTokens, sumOf, tokensBeyond } from "../../../headless/turn-usage.ts";
import { keyOfText } from "../../../terminal/keys.ts";
import { createTurnFold, type ReadTurn, type TurnItem, type TurnSource } from "./turn-source.ts";

/** More turns than this are not paged through. */
const maxTurns = 5000;

/** The turns of a headless agent, from their own events. `newest`: only so many of them. */
export function createHeadlessSource(deps: {
  directories: TurnDirectories;
  reader: TurnReader;
  newest?: number;
}): TurnSource {
  const { directories, reader, newest = maxTurns } = deps;
  /** As of the last look, oldest first. */
  let ordered: TurnDirectory[] = [];

  /** All that an ended turn said it had counted; null when it said nothing. */
  function countOf(turnId: string): Tokens | null {
    let last: TokenUsage[] = [];
    for (const event of reader.events(turnId, 0) ?? []) {
      const counts = countsOf(event);
      if (counts.length > 0) last = counts;
    }
    return last.length === 0 ? null : sumOf(last);
  }

  /**
   * What the turns before this one of its conversation counted; null when the conversation began elsewhere.
   */
  function countBefore(turn: TurnDirectory, request: TurnRequest): Tokens | null {
    if (request.session.mode === "new") return noTokens;
    const conversation = turn.result()?.session_id ?? null;
    if (conversation === null) return null;
    if (!ordered.some(({ turnId }) => turnId === turn.turnId)) ordered = directories.list(maxTurns).reverse();
    const at = ordered.findIndex(({ turnId }) => turnId === turn.turnId);
    for (const earlier of ordered.slice(0, Math.max(0, at)).reverse()) {
      if (earlier.result()?.session_id !== conversation) continue;
      const counted = countOf(earlier.turnId);
      if (counted !== null) return counted;
      if (earlier.request()?.session.mode === "new") return noTokens;
    }
    return null;
  }

  /** Tokens of the turn alone, with the model that was asked for where the tool names none. */
  function usageOf(
    turn: TurnDirectory,
    request: TurnRequest,
    counted: readonly TokenUsage[],
    whole: boolean,
  ) {
    const asked = request.model?.name ?? modelIn(request.args);
    const named = counted.map((one) => ({ ...one, model: one.model ?? asked }));
    const [first] = named;
    if (!whole || first === undefined) return named;
    const before = countBefore(turn, request);
    return before === null ? [] : [{ model: first.model, ...tokensBeyond(sumOf(named), before) }];
  }

  return {
    gap: () => null,
    damagedLines: () => 0,
    async heads() {
      ordered = directories.list(newest).reverse();
      return ordered.flatMap((turn) => {
        const request = turn.request();
        if (!request) return [];
        const startedMs = parseTimestamp(request.requested_at_utc);
        return [{ turnId: turn.turnId, startedMs, promptKey: keyOfText(request.prompt) }];
      });
    },
    async read(turnId) {
      const directory = directories.find(turnId);
      const record = reader.read(turnId);
      const request = directory?.request();
      if (!directory || !record || !request) return null;
      const fold = createTurnFold();
      fold.add({ kind: "prompt", text: request.prompt, atMs: parseTimestamp(record.started_at_utc) });
      let cut = false;
      let whole = false;
      for (const event of reader.events(turnId, 0) ?? []) {
        for (const item of readTurnEvent(event)) fold.add(item);
        const { shortened, tokens_of } = event.payload?.data ?? {};
        if (event.kind === "assistant" && Array.isArray(shortened)) cut = true;
        if (tokens_of === "conversation") whole = true;
      }
      const turn = fold.turn({ over: record.status !== "active" });
      return {
        ...withRecord(turn, record),
        usage: usageOf(directory, request, turn.usage, whole),
        turnId,
        source: "headless",
        evidence: "the events of the turn, canonical-events.jsonl",
        conversationId: directory.result()?.session_id ?? null,
        cut,
        headless: { requestId: request.request_id, acp: request.acp !== undefined },
      };
    },
  };
}

/** The record of the turn knows how it ended; its events may not. */
function withRecord<T extends Pick<ReadTurn, "status" | "error">>(turn: T, record: TurnStatusRecord) {
  const status = record.status === "active" ? ("running" as const) : record.status;
  const endedMs = record.completed_at_utc === null ? null : parseTimestamp(record.completed_at_utc);
  return { ...turn, status, error: record.error, endedMs };
}

/** Tokens that an event reports, by model. */
function countsOf(event: TurnEvent): TokenUsage[] {
  return itemsOf(event.payload?.data?.["tokens"]).filter((one) => Value.Check(TokenUsage, one));
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
    // Each report is of the whole turn so far: a later one takes the place of an earlier one.
    case "progress":
    case "completion":
      return countsOf(event).map(({ model, ...tokens }, at) => {
        return { kind: "usage", key: String(at), model, tokens, atMs };
      });
    default:
      return [];
  }
}
