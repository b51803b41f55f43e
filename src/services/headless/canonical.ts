import type { CanonicalEvent, CanonicalKind } from "../../protocol/turns.ts";

/** What every event of one turn shares. */
export interface EventContext {
  provider: string;
  turnIndex: number;
}

export interface EventParts {
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
export function withoutTerminalSequences(text: string): string {
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
