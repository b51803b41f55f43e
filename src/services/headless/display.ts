import type {
  CanonicalEvent,
  CanonicalKind,
  DisplayDetail,
  DisplayStyle,
} from "../../protocol/turn-files.ts";
import { stripControl, visible } from "../../system/visible.ts";
import { fieldsOf, numberOf, renderValue, textOf } from "./json-fields.ts";

/** What every event of one turn shares. */
export interface EventContext {
  provider: string;
  turnIndex: number;
}

interface EventParts {
  kind: CanonicalKind;
  message: string;
  /** What the tool calls the record. */
  type: string;
  atUtc: string;
  sessionId?: string | null;
  data?: Record<string, unknown>;
  raw?: unknown;
}

/** An event of a turn; its message is made one line. */
export function toCanonicalEvent({ provider, turnIndex }: EventContext, parts: EventParts): CanonicalEvent {
  const { kind, message, type, atUtc, sessionId, data, raw } = parts;
  return {
    kind,
    message: toSummary(message),
    turn_index: turnIndex,
    provider,
    provider_event_type: type,
    timestamp_utc: atUtc,
    ...(sessionId ? { session_id: sessionId } : {}),
    ...(data ? { data } : {}),
    ...(raw === undefined ? {} : { raw_payload: raw }),
  };
}

/** Colours and cursor moves, which some tools write even into a pipe. */
const terminalSequence = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])/g;

/** The text without colours and cursor moves. */
function withoutTerminalSequences(text: string): string {
  return text.replace(terminalSequence, "");
}

/** Text on one line of at most 160 characters, without control characters. */
export function toSummary(text: string, limit = 160): string {
  const head = text.length > limit * 16 ? text.slice(0, limit * 16) : text;
  const line = head
    .replace(terminalSequence, "")
    .replace(/[\s\x00-\x1f\x7f-\x9f]+/g, " ")
    .trim();
  const characters = [...line];
  return characters.length <= limit ? line : `${characters.slice(0, limit - 1).join("")}…`;
}

/** One line of standard error. */
export function toStderrEvent(context: EventContext, text: string, atUtc: string): CanonicalEvent {
  return toCanonicalEvent(context, {
    kind: "diagnostic",
    message: text,
    type: "stderr",
    atUtc,
    data: { severity: "warning", text, stream: "stderr" },
  });
}

/** A line too long to be read, or to be read whole: its size and its first part. */
export function toOversizeEvent(
  context: EventContext,
  line: { text: string; bytes: number; stream: "stdout" | "stderr"; shortened?: true },
  atUtc: string,
): CanonicalEvent {
  const { text, bytes, stream, shortened } = line;
  const what = shortened ? "was read without the ends of its long texts" : "was not read";
  return toCanonicalEvent(context, {
    kind: "diagnostic",
    message: `a line of ${bytes} bytes ${what}: ${text.slice(0, 4096)}`,
    type: "oversize_line",
    atUtc,
    data: { severity: "warning", text: toSummary(text.slice(0, 4096)), stream, bytes },
  });
}

/**
 * How a pane shows a turn's events. Source: contract 2.9 (`headless_display_style`,
 * `headless_display_detail`).
 */
export interface Display {
  style: DisplayStyle;
  detail: DisplayDetail;
}

/**
 * What an event writes to the pane: whole lines with their ends, or nothing. No control character of the
 * tool's text reaches the terminal, only line ends, tabs and, in style fancy, our own colours. `json`: one
 * object a line, the tool's own record only in `detail`. `concise` leaves out thoughts, progress, chatter and
 * records unknown to us.
 */
export function renderEvent(event: CanonicalEvent, { style, detail }: Display): string {
  if (style === "json") return renderJsonLine(event, detail);
  if (detail === "concise" && !isConcise(event)) return "";
  const parts = partsOf(event, detail);
  if (parts === null) return "";
  const text = toDisplayText(parts.text);
  if (style === "plain") return `${parts.mark}${text}\n`;
  return `${colours[parts.colour]}${fancyMarks[event.kind] ?? ""}${text}${colours.none}\n`;
}

/** How much of a prompt the pane shows. */
const shownPrompt = 16_384;

/** The line that opens a turn in the pane, with the beginning of its prompt. */
export function renderTurnStart(
  { turnIndex, prompt: whole }: { turnIndex: number; prompt: string },
  { style, detail }: Display,
): string {
  if (style === "json") return "";
  const prompt = whole.slice(0, shownPrompt);
  const characters = [...toDisplayText(prompt).replace(/\s+/g, " ").trim()];
  const shown =
    detail === "detail" || characters.length <= 200 ? prompt : `${characters.slice(0, 199).join("")}…`;
  const line = `turn ${turnIndex}: ${toDisplayText(shown)}`;
  return style === "plain" ? `\n${line}\n` : `\n${colours.strong}${line}${colours.none}\n`;
}

type Colour = "none" | "strong" | "dim" | "action" | "good" | "bad";

interface Parts {
  mark: string;
  text: string;
  colour: Colour;
}

const colours: Readonly<Record<Colour, string>> = {
  none: "\x1b[0m",
  strong: "\x1b[1m",
  dim: "\x1b[2m",
  action: "\x1b[36m",
  good: "\x1b[32m",
  bad: "\x1b[31m",
};

const fancyMarks: Readonly<Partial<Record<CanonicalEvent["kind"], string>>> = {
  assistant: "● ",
  action_request: "→ ",
  action_result: "← ",
  completion: "■ ",
  diagnostic: "! ",
};

function isConcise({ kind, data }: CanonicalEvent): boolean {
  switch (kind) {
    case "assistant":
    case "action_request":
    case "action_result":
    case "completion":
      return true;
    case "diagnostic":
      return data?.["severity"] === "error";
    default:
      return false;
  }
}

/** Null: nothing to show in any detail. */
function partsOf(event: CanonicalEvent, detail: DisplayDetail): Parts | null {
  const data = event.data ?? {};
  switch (event.kind) {
    case "assistant":
      return { mark: "", text: textOf(data["text"]) ?? event.message, colour: "none" };
    case "reasoning":
      return { mark: "(thinks) ", text: textOf(data["text"]) ?? event.message, colour: "dim" };
    case "action_request": {
      const given = detail === "detail" ? renderValue(data["arguments"] ?? {}) : data["arguments_summary"];
      return { mark: "> ", text: `${textOf(data["name"]) ?? "action"} ${given ?? ""}`, colour: "action" };
    }
    case "action_result":
      return { mark: "< ", text: event.message, colour: data["status"] === "error" ? "bad" : "dim" };
    case "completion": {
      const colour = data["status"] === "success" ? "good" : "bad";
      return { mark: "= ", text: `${event.message}${renderUsage(data["usage"])}`, colour };
    }
    case "diagnostic":
      return { mark: "! ", text: textOf(data["text"]) ?? event.message, colour: "bad" };
    case "progress":
      // The whole answer follows its pieces.
      return "text_delta" in data ? null : { mark: "- ", text: event.message, colour: "dim" };
    case "session":
    case "passthrough":
      return { mark: "- ", text: event.message, colour: "dim" };
  }
}

function renderUsage(usage: unknown): string {
  const counts = fieldsOf(usage);
  const parts = ["input_tokens", "output_tokens"].flatMap((key) => {
    const count = numberOf(counts[key]);
    return count === null ? [] : [`${count} ${key.replace("_tokens", "")}`];
  });
  return parts.length === 0 ? "" : ` (tokens: ${parts.join(", ")})`;
}

function renderJsonLine(event: CanonicalEvent, detail: DisplayDetail): string {
  const { raw_payload, ...shown } = event;
  const text = JSON.stringify(detail === "detail" && raw_payload !== undefined ? event : shown);
  return `${visible(text)}\n`;
}

/** The tool's text as the pane may have it: its line ends and tabs stay, its colours and cursor moves go. */
function toDisplayText(text: string): string {
  return visible(stripControl(withoutTerminalSequences(text)));
}
