import { type OpencodeRow, openOpencodeStore } from "../../../../db/tools/opencode-store.ts";
import { jsonValue } from "../../../../protocol/json.ts";
import { messageOf } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { type Fields, fieldsOf, numberOf, renderValue, textOf } from "../../../headless/json-fields.ts";
import { opencodeTokens } from "../../../headless/turn-usage.ts";
import { keyOfText } from "../../../terminal/keys.ts";
import type { TurnHead, TurnSource } from "./turn-source.ts";
import { createTurnFold, type TurnItem } from "./turn-source.ts";

const maxHeads = 5000;

/** The turns of one conversation in opencode's store. `path`: checked at each look; throws `PathRefused`. */
export function createOpencodeSource(
  files: Files,
  { path, conversationId }: { path: () => string; conversationId: string },
): TurnSource {
  let gap: string | null = null;

  function withStore<T>(read: (store: ReturnType<typeof openOpencodeStore>) => T, nothing: T): T {
    gap = null;
    try {
      const at = path();
      if (!files.stat(at)) {
        gap = "the store of opencode is not there any more: opencode.db";
        return nothing;
      }
      const store = openOpencodeStore(at);
      try {
        return read(store);
      } finally {
        store.close();
      }
    } catch (error) {
      gap = `the store of opencode is not read: ${messageOf(error)}`;
      return nothing;
    }
  }

  return {
    gap: () => gap,
    damagedLines: () => 0,
    heads: async () =>
      withStore<TurnHead[]>((store) => {
        return store.prompts(conversationId, maxHeads).flatMap(({ messageId, createdMs, part }) => {
          const text = part === null ? null : textOf(parse(part)["text"]);
          if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(messageId)) return [];
          return [
            { turnId: messageId, startedMs: createdMs, promptKey: text === null ? null : keyOfText(text) },
          ];
        });
      }, []),
    async read(turnId, { last }) {
      const rows = withStore<OpencodeRow[]>((store) => store.turn(conversationId, turnId), []);
      if (rows.length === 0) return null;
      const fold = createTurnFold();
      for (const item of readOpencodeRows(rows)) fold.add(item);
      return {
        ...fold.turn({ over: !last }),
        turnId,
        source: "tool",
        evidence: `the store of opencode, message ${turnId}`,
        conversationId,
        cut: false,
      };
    },
  };
}

/** What the rows of one turn say. Measured with 1.18.27 and 1.18.33. Never throws. Pure. */
export function readOpencodeRows(rows: readonly OpencodeRow[]): TurnItem[] {
  return rows.flatMap((row, index) => {
    const message = parse(row.message);
    const lastOfMessage = rows[index + 1]?.messageId !== row.messageId;
    const part = row.part === null ? {} : parse(row.part);
    const items = message["role"] === "user" ? promptOf(part, row.createdMs) : answerOf(part, row.createdMs);
    if (!lastOfMessage || message["role"] !== "assistant") return items;
    return [...items, ...usageOf(row.messageId, message), ...endOf(message)];
  });
}

function promptOf(part: Fields, atMs: number): TurnItem[] {
  const text = textOf(part["text"]);
  const typed = part["type"] === "text" && part["synthetic"] !== true && text !== null;
  return typed ? [{ kind: "prompt", text, atMs }] : [];
}

function answerOf(part: Fields, createdMs: number): TurnItem[] {
  const atMs = numberOf(fieldsOf(part["time"])["end"]) ?? createdMs;
  if (part["type"] === "text" && part["synthetic"] !== true) {
    return [{ kind: "text", text: textOf(part["text"]) ?? "", key: null, atMs }];
  }
  if (part["type"] !== "tool") return [];
  const id = textOf(part["callID"]);
  const state = fieldsOf(part["state"]);
  const called: TurnItem = {
    kind: "tool_call",
    id,
    name: textOf(part["tool"]) ?? "tool",
    input: state["input"] ?? {},
    atMs,
  };
  const { status } = state;
  if (status !== "completed" && status !== "error") return [called];
  const output = renderValue(state["output"] ?? state["error"] ?? "");
  return [called, { kind: "tool_result", id, ok: status === "completed", output, atMs }];
}

function usageOf(key: string, message: Fields): TurnItem[] {
  if (message["tokens"] === undefined) return [];
  const tokens = opencodeTokens(message["tokens"]);
  return [{ kind: "usage", key, model: textOf(message["modelID"]), tokens, atMs: null }];
}

function endOf(message: Fields): TurnItem[] {
  const atMs = numberOf(fieldsOf(message["time"])["completed"]);
  const error = fieldsOf(message["error"]);
  const name = textOf(error["name"]);
  if (name === "MessageAbortedError") return [{ kind: "end", status: "interrupted", error: null, atMs }];
  if (name !== null) {
    const why = textOf(fieldsOf(error["data"])["message"]) ?? name;
    return [{ kind: "end", status: "failed", error: why, atMs }];
  }
  const { finish } = message;
  const goesOn = finish === undefined || finish === "tool-calls" || atMs === null;
  return goesOn ? [] : [{ kind: "end", status: "completed", error: null, atMs }];
}

const parse = (text: string): Fields => fieldsOf(jsonValue(text));
