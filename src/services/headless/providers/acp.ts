import type { TokenUsage } from "../../../protocol/usage.ts";
import {
  type Fields,
  fieldsOf,
  isFields,
  itemsOf,
  numberOf,
  readableError,
  renderValue,
  textOf,
} from "../json-fields.ts";
import type { HeadlessProvider, TurnUsage } from "../provider.ts";
import { programOf } from "../provider.ts";
import { createStreamParser, type StreamReader, type TurnWriter, usageOf } from "../stream-parser.ts";
import { createOpenToolCalls, textsOfCall } from "../tool-calls.ts";

/** What the name of every ACP agent ends with: nothing takes it for the tool's own terminal or print mode. */
const suffix = "-acp";

/**
 * An agent that speaks ACP on its standard streams: one process for all turns of a session. Its stdout.jsonl
 * holds the JSON-RPC messages of the agent from the prompt to its answer. Null for a tool of another name.
 */
export function acpProvider(tool: string): HeadlessProvider | null {
  if (!tool.endsWith(suffix) || tool === suffix) return null;
  return {
    tool,
    ladder: () => ({ levels: [], off: null }),
    modelRefusal: "an ACP agent takes its model from its own configuration",
    command: (turn) => ({ argv: programOf(turn), stdin: null, env: {} }),
    parser({ turnIndex, sessionId = null }) {
      const reader = createReader(sessionId, { countsLastCall: tool === lastCallCounted });
      const parser = createStreamParser({ provider: tool, turnIndex, writesTerminal: true }, reader);
      return {
        ...parser,
        summary: () => ({ ...parser.summary(), sessionId: reader.conversation() }),
        line: (text, atUtc) => splitNoise(text).flatMap((part) => parser.line(part, atUtc)),
      };
    },
  };
}

/**
 * A message and the noise before it on the same line, which a program without the protocol in mind wrote
 * without an end of line; the line itself where there is no such noise. Pure.
 */
export function splitNoise(line: string): string[] {
  const at = line.indexOf('{"jsonrpc":');
  return at > 0 ? [line.slice(0, at), line.slice(at)] : [line];
}

/** An answer comes in pieces; it is reported whole where it ends, or when this much has gathered. */
const maxTextLength = 1_048_576;

/**
 * opencode 1.18.33 answers with the tokens of the last call of the model; before it each tool took one more.
 */
const lastCallCounted = "opencode-acp";

/**
 * `sessionId`: the conversation of the turn; null: that of its first update. What is of another one passes
 * through. `countsLastCall`: the tokens of a turn with tools are not covered.
 */
function createReader(
  sessionId: string | null,
  { countsLastCall }: { countsLastCall: boolean },
): StreamReader & { conversation(): string | null } {
  let conversation = sessionId;
  let answer = "";
  /** Of the message that `answer` is of; null where the agent names none. */
  let messageId: string | null = null;
  let thought = "";
  /**
   * The agent's own state of the turn, which codex-acp 2.6.0 alone says: it ends a turn that the model
   * refused like any other.
   */
  let broken = false;
  /** Calls whose input is still to come. */
  const held = new Map<string, Fields>();
  /** The last usage_update of the turn. */
  let context: Fields | null = null;
  const kinds = new Map<string, string>();
  const calls = createOpenToolCalls();
  const done = new Set<string>();

  function flush(turn: TurnWriter): void {
    for (const id of held.keys()) beginCall(id, turn);
    flushText(turn);
  }

  function flushText(turn: TurnWriter): void {
    if (thought !== "") turn.emit("reasoning", "agent_thought_chunk", thought, { text: thought });
    if (answer !== "") turn.answer("agent_message_chunk", answer);
    thought = "";
    answer = "";
  }

  function beginCall(key: string, turn: TurnWriter): void {
    const call = held.get(key);
    if (call === undefined) return;
    held.delete(key);
    const kind = textOf(call["kind"]) ?? "tool";
    const title = textOf(call["title"]);
    turn.request(String(call["sessionUpdate"]), {
      id: textOf(call["toolCallId"]),
      kind,
      name: textOf(call["name"]) ?? title ?? kind,
      arguments: isEmpty(call["rawInput"]) ? (title ?? {}) : call["rawInput"],
    });
  }

  /**
   * Several calls may be open at once. claude-agent-acp 0.101.0 and opencode 1.18.33 report a call first and
   * its input in an update.
   */
  function readCall(update: Fields, turn: TurnWriter): void {
    const key = textOf(update["toolCallId"]) ?? "";
    const isNew = !kinds.has(key);
    if (isNew) {
      flushText(turn);
      held.set(key, update);
    } else {
      const call = held.get(key);
      if (call) held.set(key, { ...call, ...withoutNulls(update), sessionUpdate: call["sessionUpdate"] });
    }
    const kind = textOf(update["kind"]) ?? kinds.get(key) ?? "tool";
    kinds.set(key, kind);
    const status = textOf(update["status"]);
    if ((status !== null && status !== "pending") || !(isNew || isEmpty(update["rawInput"])))
      beginCall(key, turn);
    if ((status === "completed" || status === "failed") && !done.has(key)) {
      done.add(key);
      turn.result(String(update["sessionUpdate"]), {
        id: textOf(update["toolCallId"]),
        kind,
        status: status === "completed" ? "success" : "error",
        output: outputOf(update),
      });
    }
  }

  /** For the line that reports a permission request. */
  function noteTitle(params: Fields): void {
    const { sessionUpdate, toolCallId, title, status } = fieldsOf(params["update"]);
    const update = { sessionUpdate, toolCallId, title, status };
    calls.note({ sessionId: params["sessionId"], update }, textOf(title)?.length ?? 0);
  }

  function readUpdate(update: Fields, turn: TurnWriter): void {
    const type = textOf(update["sessionUpdate"]) ?? "unknown";
    switch (type) {
      case "agent_message_chunk": {
        const text = textIn(update["content"]);
        const id = textOf(update["messageId"]);
        if (thought !== "" || (answer !== "" && id !== messageId)) flush(turn);
        messageId = id;
        turn.piece(type, text);
        answer += text;
        if (answer.length > maxTextLength) flush(turn);
        return;
      }
      case "agent_thought_chunk":
        if (answer !== "") flush(turn);
        thought += textIn(update["content"]);
        if (thought.length > maxTextLength) flush(turn);
        return;
      case "tool_call":
      case "tool_call_update":
        readCall(update, turn);
        return;
      case "plan": {
        const entries = itemsOf(update["entries"]).map((one) => textOf(fieldsOf(one)["content"]) ?? "");
        turn.emit("progress", type, `plan: ${entries.join("; ")}`, { summary: entries.join("; ") });
        return;
      }
      case "usage_update":
        context = {
          used: update["used"] ?? null,
          size: update["size"] ?? null,
          cost: update["cost"] ?? null,
        };
        return;
      case "session_info_update": {
        const state = fieldsOf(fieldsOf(fieldsOf(update["_meta"])["codex"])["threadStatus"])["type"];
        if (state !== undefined) broken = state === "systemError";
        turn.emit("passthrough", type, type);
        return;
      }
      case "notice": {
        const text = textOf(update["message"]) ?? textIn(update["content"]);
        turn.emit("diagnostic", type, text, { severity: "warning", text });
        return;
      }
      default:
        turn.emit("passthrough", type, type);
    }
  }

  function readEnd(record: Fields, turn: TurnWriter): void {
    const last = answer;
    flush(turn);
    const error = record["error"];
    if (error !== undefined) {
      const text = errorText(fieldsOf(error));
      turn.complete("session/prompt", { status: "error", errorText: text, usage: null });
      return;
    }
    const result = fieldsOf(record["result"]);
    const reason = textOf(result["stopReason"]);
    if (reason === null) {
      turn.emit("passthrough", "response", "response");
      return;
    }
    const usage = usageIn(result);
    // A part of a turn that is taken for the whole is worse than no count.
    const tokens = countsLastCall && kinds.size > 0 ? null : toTokenUsage(result, usage);
    const details = {
      stop_reason: reason,
      ...(context ? { context } : {}),
      ...(tokens ? { tokens: [tokens] } : {}),
    };
    if (reason === "end_turn" && broken) {
      const errorText = last === "" ? "the agent stopped after an error" : readableError(last.trim());
      turn.complete("session/prompt", { status: "error", errorText, usage }, details);
      return;
    }
    turn.complete(
      "session/prompt",
      reason === "end_turn"
        ? { status: "success", resultText: null, usage }
        : { status: "error", errorText: stopTexts[reason] ?? `the agent stopped: ${reason}`, usage },
      details,
    );
  }

  return {
    read(record, turn) {
      const method = textOf(record["method"]);
      const params = fieldsOf(record["params"]);
      const of = textOf(params["sessionId"]);
      conversation ??= of;
      if (of !== null && of !== conversation) {
        turn.emit("passthrough", method ?? "message", "a message of another conversation");
        return;
      }
      if (method === "session/update") {
        noteTitle(params);
        readUpdate(fieldsOf(params["update"]), turn);
        return;
      }
      if (method === "session/request_permission") {
        const call = calls.complete(of, fieldsOf(params["toolCall"]));
        const title =
          textOf(call["title"]) ?? textsOfCall(call)[0] ?? textOf(call["toolCallId"]) ?? "a tool call";
        flush(turn);
        turn.emit("progress", method, `asks for permission: ${title}`, { summary: title });
        return;
      }
      if (method === null && ("result" in record || "error" in record)) return readEnd(record, turn);
      turn.emit("passthrough", method ?? "message", method ?? "a message without a method");
    },
    finish: flush,
    conversation: () => conversation,
  };
}

const isEmpty = (value: unknown) =>
  value === undefined || value === null || (isFields(value) && Object.keys(value).length === 0);

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));

const stopTexts: Readonly<Record<string, string>> = {
  cancelled: "the agent cancelled the turn",
  max_tokens: "the agent reached its limit of tokens",
  max_turn_requests: "the agent reached its limit of model requests in one turn",
  refusal: "the agent refused to go on",
};

function errorText(error: Fields): string {
  const data = error["data"];
  const details = textOf(fieldsOf(data)["details"]) ?? textOf(fieldsOf(data)["message"]) ?? textOf(data);
  const message = textOf(error["message"]) ?? "the agent answered with an error";
  return readableError(details === null || details === message ? message : `${message}: ${details}`);
}

function textIn(content: unknown): string {
  const block = fieldsOf(content);
  const type = textOf(block["type"]);
  if (type === "text") return textOf(block["text"]) ?? "";
  return type === null ? "" : `[${type}]`;
}

function outputOf(update: Fields): string {
  const parts = itemsOf(update["content"]).map((item) => {
    const one = fieldsOf(item);
    if (one["type"] === "content") return textIn(one["content"]);
    return one["type"] === "diff" ? `changed ${textOf(one["path"]) ?? "a file"}` : "";
  });
  const text = parts.filter((part) => part !== "").join("\n");
  const raw = update["rawOutput"];
  return text !== "" || raw === undefined || raw === null ? text : renderValue(raw);
}

/** opencode and the adapters answer with `usage`, gemini 0.61.0 with `_meta.quota.token_count`. */
function usageIn(result: Fields): TurnUsage | null {
  const usage = usageOf(result["usage"], {
    input_tokens: "inputTokens",
    cached_input_tokens: "cachedReadTokens",
    output_tokens: "outputTokens",
    total_tokens: "totalTokens",
    reasoning_tokens: "thoughtTokens",
  });
  if (usage) return usage;
  const quota = fieldsOf(fieldsOf(result["_meta"])["quota"]);
  return usageOf(quota["token_count"], {
    input_tokens: "input_tokens",
    output_tokens: "output_tokens",
    cached_input_tokens: "cached_tokens",
    total_tokens: "total_tokens",
  });
}

/**
 * The tokens of a turn by one rule for all agents, or null. claude-agent-acp 0.101.0, codex-acp 2.6.0 and
 * opencode 1.18.33 count what the cache took and gave apart from `inputTokens`; opencode counts thoughts
 * apart from `outputTokens`, which only its total shows, and reports the last call of a turn alone. gemini
 * 0.61.0 leaves thoughts out.
 */
function toTokenUsage(result: Fields, usage: TurnUsage | null): TokenUsage | null {
  if (!usage) return null;
  const counts = fieldsOf(result["usage"]);
  const count = (value: unknown) => Math.max(0, Math.trunc(numberOf(value) ?? 0));
  const cached = count(usage.cached_input_tokens);
  const written = count(counts["cachedWriteTokens"]);
  const reasoning = count(usage.reasoning_tokens);
  const output = count(usage.output_tokens);
  const input = count(usage.input_tokens) + (isFields(result["usage"]) ? cached + written : 0);
  const isApart = usage.total_tokens !== null && usage.total_tokens === input + output + reasoning;
  if (input === 0 && output === 0) return null;
  const models = itemsOf(fieldsOf(fieldsOf(result["_meta"])["quota"])["model_usage"]);
  return {
    model: models.length === 1 ? textOf(fieldsOf(models[0])["model"]) : null,
    input_tokens: input,
    cached_input_tokens: cached,
    cache_write_tokens: written,
    output_tokens: isApart ? output + reasoning : output,
    reasoning_tokens: reasoning,
  };
}
