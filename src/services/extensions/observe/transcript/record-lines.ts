import { parseTimestamp } from "../../../../system/clock.ts";
import {
  type Fields,
  fieldsOf,
  isFields,
  itemsOf,
  readableError,
  renderValue,
  textOf,
} from "../../../headless/json-fields.ts";
import { claudeTokens, codexTokens, geminiTokens } from "../../../headless/turn-usage.ts";
import type { TurnItem } from "./turn-source.ts";

/**
 * What one parsed line of a tool's record says; nothing for a line of another purpose. Never throws. Pure.
 */
export type LineReader = (record: Fields) => TurnItem[];

/** The readers of tools that write their record as JSON lines. Recordings: tests/transcripts. */
export const lineReaders: Readonly<Record<string, LineReader>> = {
  claude: readClaude,
  codex: readCodex,
  gemini: readGemini,
  // The scripted agent writes the same lines as claude.
  demo: readClaude,
};

/** The items of one line of text, or null when it is no JSON object. Pure. */
export function parseRecordLine(reader: LineReader, line: string): TurnItem[] | null {
  try {
    const record: unknown = JSON.parse(line);
    return isFields(record) ? reader(record) : null;
  } catch {
    return null;
  }
}

const timeOf = (record: Fields): number | null => parseTimestamp(textOf(record["timestamp"]) ?? "");

/**
 * Claude Code, measured with 2.1.150, 2.1.197 and 2.1.330: one line for each block of a message. Lines of its
 * helpers, of its commands and of its compaction are no turns; what a helper used counts for the turn.
 */
function readClaude(record: Fields): TurnItem[] {
  const atMs = timeOf(record);
  if (record["isSidechain"] === true || record["isMeta"] === true)
    return record["type"] === "assistant" ? claudeUsage(record, atMs) : [];
  const { content, stop_reason: stop } = fieldsOf(record["message"]);
  switch (record["type"]) {
    case "user":
      return record["isCompactSummary"] === true ? [] : readClaudeUser(content, atMs);
    case "assistant":
      return readClaudeAssistant(record, itemsOf(content), stop, atMs);
    case "attachment": {
      const { type, prompt } = fieldsOf(record["attachment"]);
      const text = contentText(prompt);
      // The end of background work that comes in the middle of a turn belongs to that.
      const asks = type === "queued_command" && text !== "" && !claudeOwn.test(text);
      return asks ? [{ kind: "prompt", text, atMs }] : [];
    }
    case "system":
      return record["subtype"] === "turn_duration"
        ? [{ kind: "end", status: "completed", error: null, atMs }]
        : [];
    default:
      return [];
  }
}

/** A command of the tool itself, its output, and what a hook or the harness says in the person's name. */
const claudeOwn =
  /^\s*<(?:command-name|command-message|local-command-\w+|bash-(?:input|stdout|stderr)|task-notification|system-reminder)\b/;

const claudeNotice = /^\s*<task-notification\b/;

function readClaudeUser(content: unknown, atMs: number | null): TurnItem[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : itemsOf(content);
  const results = blocks.map(fieldsOf).filter((block) => block["type"] === "tool_result");
  if (results.length > 0) {
    return results.map((block) => ({
      kind: "tool_result",
      id: textOf(block["tool_use_id"]),
      ok: block["is_error"] !== true,
      output: contentText(block["content"]),
      atMs,
    }));
  }
  const text = contentText(blocks);
  if (text.startsWith("[Request interrupted by user"))
    return [{ kind: "end", status: "interrupted", error: null, atMs }];
  const notice = noticeOf(text);
  if (notice !== null) return [{ kind: "prompt", text: notice, own: true, atMs }];
  return text === "" || claudeOwn.test(text) ? [] : [{ kind: "prompt", text, atMs }];
}

/**
 * What Claude Code says of background work that ended, with which it begins a turn by itself (2.1.332); null
 * for any other text. Pure.
 */
function noticeOf(text: string): string | null {
  if (!claudeNotice.test(text)) return null;
  return /<summary>([^<]{1,500})<\/summary>/.exec(text)?.[1]?.trim() || "background work ended";
}

function readClaudeAssistant(
  record: Fields,
  blocks: readonly unknown[],
  stop: unknown,
  atMs: number | null,
): TurnItem[] {
  const text = contentText(blocks);
  if (record["isApiErrorMessage"] === true)
    return [{ kind: "end", status: "failed", error: text === "" ? null : text, atMs }];
  // An interrupt before the first word leaves a message of the tool itself.
  if (fieldsOf(record["message"])["model"] === synthetic) return [];
  const items = blocks.map(fieldsOf).flatMap((block): TurnItem[] => {
    const said = textOf(block["text"]);
    if (block["type"] === "text" && said !== null) return [{ kind: "text", text: said, key: null, atMs }];
    if (block["type"] !== "tool_use" && block["type"] !== "server_tool_use") return [];
    const name = textOf(block["name"]) ?? "tool";
    return [{ kind: "tool_call", id: textOf(block["id"]), name, input: block["input"], atMs }];
  });
  const ends = (stop === "end_turn" || stop === "stop_sequence" || stop === "max_tokens") && text !== "";
  const counted = [...items, ...claudeUsage(record, atMs)];
  return ends ? [...counted, { kind: "end", status: "completed", error: null, atMs }] : counted;
}

const synthetic = "<synthetic>";

function claudeUsage(record: Fields, atMs: number | null): TurnItem[] {
  const { id, model, usage } = fieldsOf(record["message"]);
  const key = textOf(id);
  if (key === null || usage === undefined || model === synthetic) return [];
  return [{ kind: "usage", key, model: textOf(model), tokens: claudeTokens(usage), atMs }];
}

/** Codex, measured with 0.157.1 and 0.169.0; `user_message` is of older versions. */
function readCodex(record: Fields): TurnItem[] {
  const atMs = timeOf(record);
  const payload = fieldsOf(record["payload"]);
  switch (record["type"]) {
    case "event_msg":
      return readCodexEvent(payload, atMs);
    case "response_item":
      return readCodexItem(payload, atMs);
    case "turn_context": {
      const model = textOf(payload["model"]);
      return model === null ? [] : [{ kind: "model", model, atMs }];
    }
    case "token_usage_record": {
      const key = textOf(payload["response_id"]) ?? `at ${atMs}`;
      return [{ kind: "usage", key, model: null, tokens: codexTokens(payload["usage"]), atMs }];
    }
    default:
      return [];
  }
}

function readCodexEvent(payload: Fields, atMs: number | null): TurnItem[] {
  switch (payload["type"]) {
    case "user_message":
      return promptItem(textOf(payload["message"]) ?? "", atMs);
    case "item_completed": {
      const item = fieldsOf(payload["item"]);
      return item["type"] === "UserMessage" ? promptItem(contentText(item["content"]), atMs) : [];
    }
    case "task_complete":
    case "turn_complete": {
      const { message } = fieldsOf(payload["error"]);
      const error = typeof message === "string" ? readableError(message) : null;
      return [{ kind: "end", status: error === null ? "completed" : "failed", error, atMs }];
    }
    case "turn_aborted":
      return [{ kind: "end", status: "interrupted", error: null, atMs }];
    default:
      return [];
  }
}

function readCodexItem(payload: Fields, atMs: number | null): TurnItem[] {
  const id = textOf(payload["call_id"]);
  switch (payload["type"]) {
    case "message":
      return payload["role"] === "assistant"
        ? [{ kind: "text", text: contentText(payload["content"]), key: textOf(payload["id"]), atMs }]
        : [];
    case "function_call":
    case "custom_tool_call":
    case "local_shell_call": {
      const input = payload["arguments"] ?? payload["input"] ?? payload["action"];
      return [{ kind: "tool_call", id, name: textOf(payload["name"]) ?? "shell", input, atMs }];
    }
    case "function_call_output":
    case "custom_tool_call_output": {
      const { output } = payload;
      const text = textOf(output) ?? textOf(fieldsOf(output)["content"]) ?? renderValue(output);
      const code = /^Process exited with code (\d+)$/m.exec(text)?.[1];
      return [{ kind: "tool_result", id, ok: code === undefined ? null : code === "0", output: text, atMs }];
    }
    default:
      return [];
  }
}

/**
 * Gemini, measured with 0.60.0 and 0.61.0: a message is written again with the tools that it called. `$set`
 * repeats the conversation and says nothing new.
 */
function readGemini(record: Fields): TurnItem[] {
  const atMs = timeOf(record);
  const { content } = record;
  switch (record["type"]) {
    case "user": {
      const results = itemsOf(content).flatMap((part) => fieldsOf(part)["functionResponse"] ?? []);
      if (results.length > 0) return [];
      const text = contentText(content);
      return text.startsWith("<session_context>") ? [] : promptItem(text, atMs);
    }
    case "gemini":
      return readGeminiMessage(record, contentText(content), atMs);
    case "error":
      return [{ kind: "end", status: "failed", error: readableError(contentText(content)), atMs }];
    case "info":
      return contentText(content).startsWith("Request cancelled")
        ? [{ kind: "end", status: "interrupted", error: null, atMs }]
        : [];
    default:
      return [];
  }
}

function readGeminiMessage(record: Fields, text: string, atMs: number | null): TurnItem[] {
  const said: TurnItem[] = [{ kind: "text", text, key: textOf(record["id"]), atMs }];
  const key = textOf(record["id"]);
  if (key !== null && record["tokens"] !== undefined) {
    const tokens = geminiTokens(record["tokens"]);
    said.push({ kind: "usage", key, model: textOf(record["model"]), tokens, atMs });
  }
  const calls = itemsOf(record["toolCalls"]).map(fieldsOf);
  if (calls.length === 0) return [...said, { kind: "end", status: "completed", error: null, atMs }];
  return [
    ...said,
    ...calls.flatMap((call): TurnItem[] => {
      const id = textOf(call["id"]);
      const name = textOf(call["name"]) ?? "tool";
      const began: TurnItem = { kind: "tool_call", id, name, input: call["args"], atMs };
      const status = textOf(call["status"]);
      if (status === null) return [began];
      const [result] = itemsOf(call["result"]).map((part) => fieldsOf(fieldsOf(part)["functionResponse"]));
      const output = renderValue(fieldsOf(result?.["response"])["output"] ?? result?.["response"] ?? "");
      return [began, { kind: "tool_result", id, ok: status === "success", output, atMs }];
    }),
  ];
}

function promptItem(text: string, atMs: number | null): TurnItem[] {
  return text === "" ? [] : [{ kind: "prompt", text, atMs }];
}

/** The text of a content field: a string, or blocks of which those with text count. */
function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return itemsOf(content)
    .flatMap((block) => textOf(fieldsOf(block)["text"]) ?? [])
    .join("\n");
}
