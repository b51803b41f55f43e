import { jsonValue } from "../../protocol/json.ts";
import type { CanonicalEvent, CanonicalKind } from "../../protocol/turn-files.ts";
import { messageOf } from "../../system/errors.ts";
import { type EventContext, toCanonicalEvent, toSummary } from "./display.ts";
import { type Fields, fieldsOf, isFields, numberOf, renderValue, textOf } from "./json-fields.ts";
import type { ProviderParser, TurnSummary, TurnUsage } from "./provider.ts";

/** What a tool's reader may say about the record in its hands. */
export interface TurnWriter {
  emit(kind: CanonicalKind, type: string, message: string, data?: Record<string, unknown>): void;
  /** An event of kind assistant; its text is the answer so far. */
  answer(type: string, text: string): void;
  /** A piece of an answer that follows whole: progress with `text_delta`. */
  piece(type: string, text: string): void;
  request(type: string, action: ActionRequest): void;
  result(type: string, action: ActionResult): void;
  /** The tool's terminal event: kind completion. `details` beside status and usage. */
  complete(type: string, outcome: Completion, details?: Record<string, unknown>): void;
  /** Tokens so far, for tools that count by the step. */
  count(usage: TurnUsage | null): void;
  /** The error if no terminal event names one. */
  noteError(text: string): void;
  /** The turn goes on after what looked like its end. */
  reopen(): void;
  sessionId(): string | null;
  /** The tool names its session, and its model where it does. */
  introduce(type: string, data?: { model: string | null }): void;
}

interface ActionRequest {
  id: string | null;
  /** The tool's class of actions: command_execution, tool, ... */
  kind: string;
  name: string;
  arguments: unknown;
}

interface ActionResult {
  id: string | null;
  kind: string;
  status: string;
  /** What the action gave, of any length. */
  output: string;
  details?: Record<string, unknown>;
}

type Completion =
  | { status: "success"; resultText: string | null; usage: TurnUsage | null }
  /** `errorText`: null when the tool does not say why. */
  | { status: "error"; errorText: string | null; usage: TurnUsage | null };

/** How one tool's JSON lines are read. The functions may throw: the line then passes through. */
export interface StreamReader {
  /** One object of the stream. */
  read(record: Fields, turn: TurnWriter): void;
  /** The stream has ended. */
  finish?(turn: TurnWriter): void;
}

/** Lines up to this length are repeated whole in `raw_payload`; longer ones are only in stdout.jsonl. */
const maxRawLength = 65_536;

/**
 * A parser of a tool that writes one JSON object a line. `reader` keeps the state of this turn only. Lines
 * that are no JSON become diagnostics, blank ones nothing, JSON that is no object passes through.
 */
export function createStreamParser(
  context: EventContext & { writesTerminal: boolean },
  reader: StreamReader,
): ProviderParser {
  const summary: Omit<TurnSummary, "historySummary"> = {
    sessionId: null,
    terminal: null,
    writesTerminal: context.writesTerminal,
    errorText: null,
    resultText: null,
    usage: null,
  };
  let events: CanonicalEvent[] = [];
  let current: { atUtc: string; raw?: unknown; omitted?: number } = { atUtc: "" };

  function emit(kind: CanonicalKind, type: string, message: string, data?: Record<string, unknown>): void {
    const { atUtc, raw, omitted } = current;
    const bounded = data && toBoundedData(data);
    const shown = omitted === undefined ? bounded : { ...bounded, raw_omitted_characters: omitted };
    events.push(
      toCanonicalEvent(context, {
        kind,
        message,
        type,
        atUtc,
        sessionId: summary.sessionId,
        raw,
        ...(shown ? { data: shown } : {}),
      }),
    );
  }

  const turn: TurnWriter = {
    emit,
    answer(type, text) {
      summary.resultText = text;
      emit("assistant", type, text, { text });
    },
    piece: (type, text) => emit("progress", type, text, { summary: toSummary(text), text_delta: text }),
    request(type, { id, kind, name, arguments: given }) {
      const argumentsSummary = toSummary(renderValue(given));
      emit("action_request", type, `${name} ${argumentsSummary}`, {
        action_id: id,
        action_kind: kind,
        name,
        arguments: given,
        arguments_summary: argumentsSummary,
      });
    },
    result(type, { id, kind, status, output, details }) {
      const resultSummary = toSummary(output);
      emit("action_result", type, resultSummary === "" ? status : `${status}: ${resultSummary}`, {
        action_id: id,
        action_kind: kind,
        status,
        result_summary: resultSummary,
        ...details,
      });
    },
    complete(type, outcome, details = {}) {
      summary.terminal = outcome.status;
      summary.usage = outcome.usage;
      // Without a reason in it, what the tool reported before it ended may be one.
      if (outcome.status === "error") {
        if (outcome.errorText !== null) summary.errorText = toSummary(outcome.errorText, 2000);
      } else if (outcome.resultText !== null) summary.resultText = outcome.resultText;
      const reason = outcome.status === "error" ? outcome.errorText : null;
      const message = reason === null ? outcome.status : `error: ${reason}`;
      emit("completion", type, message, { status: outcome.status, usage: outcome.usage, ...details });
    },
    count(usage) {
      summary.usage = usage;
    },
    noteError(text) {
      summary.errorText = toSummary(text, 2000);
    },
    reopen() {
      summary.terminal = null;
    },
    sessionId: () => summary.sessionId,
    introduce(type, data) {
      const { sessionId } = summary;
      emit("session", type, `session ${sessionId ?? "without id"}`, { session_id: sessionId, ...data });
    },
  };

  function collect(run: () => void): CanonicalEvent[] {
    events = [];
    run();
    return events;
  }

  return {
    line: (text, atUtc) =>
      collect(() => {
        if (text.trim() === "") return;
        current = { atUtc };
        const record = jsonValue(text);
        if (record === undefined) {
          emit("diagnostic", "text", text, { severity: "warning", text: toSummary(text, 2000) });
          return;
        }
        current = text.length > maxRawLength ? { atUtc, omitted: text.length } : { atUtc, raw: record };
        if (!isFields(record)) {
          emit("passthrough", "json", text);
          return;
        }
        summary.sessionId = sessionIdOf(record) ?? summary.sessionId;
        try {
          reader.read(record, turn);
        } catch (error) {
          emit("passthrough", typeOf(record), `not understood: ${messageOf(error)}`);
        }
      }),
    end: (atUtc) =>
      collect(() => {
        current = { atUtc };
        reader.finish?.(turn);
      }),
    summary() {
      const { resultText, errorText, terminal } = summary;
      const said = terminal === "error" ? (errorText ?? resultText) : (resultText ?? errorText);
      return { ...summary, historySummary: said === null ? null : toSummary(said) };
    },
  };
}

/** With escapes and what else an event holds, a line of canonical-events.jsonl stays far below 4 MiB. */
const maxFieldLength = 262_144;

/** Texts cut to the bound, larger values left out; `shortened` names them. stdout.jsonl has all of it. */
function toBoundedData(data: Record<string, unknown>): Record<string, unknown> {
  const shortened: string[] = [];
  const bounded = Object.entries(data).map(([key, value]) => {
    if (renderValue(value).length <= maxFieldLength) return [key, value];
    shortened.push(key);
    return [key, typeof value === "string" ? value.slice(0, maxFieldLength) : null];
  });
  return shortened.length === 0 ? data : { ...Object.fromEntries(bounded), shortened };
}

/** The record's own name for what it is. */
function typeOf(record: Fields): string {
  return textOf(record["type"]) ?? textOf(record["role"]) ?? "unknown";
}

/** The one event of a record that nobody reads further. */
export function passThrough(record: Fields, turn: TurnWriter): void {
  const type = typeOf(record);
  turn.emit("passthrough", type, type);
}

/** Token counts under the names that a tool gives them; null when there is no count at all. */
export function usageOf(counts: unknown, names: Partial<Record<keyof TurnUsage, string>>): TurnUsage | null {
  if (!isFields(counts)) return null;
  const count = (key: keyof TurnUsage) => {
    const name = names[key];
    return name === undefined ? null : numberOf(counts[name]);
  };
  return {
    input_tokens: count("input_tokens"),
    cached_input_tokens: count("cached_input_tokens"),
    output_tokens: count("output_tokens"),
    total_tokens: count("total_tokens"),
    reasoning_tokens: count("reasoning_tokens"),
  };
}

/** Source: spec/coordination.md "Canonical events"; `sessionID` is opencode's; ACP has it in `params`. */
function sessionIdOf(record: Fields): string | null {
  const named = ["session_id", "sessionId", "sessionID", "thread_id", "threadId"].map((key) => record[key]);
  const nested = ["session", "thread"].map((key) => fieldsOf(record[key])["id"]);
  const acp = "jsonrpc" in record ? fieldsOf(record["params"])["sessionId"] : null;
  return [...named, ...nested, acp].map(textOf).find((id) => id !== null && id !== "") ?? null;
}
