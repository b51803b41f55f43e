import { type Static, Type } from "@sinclair/typebox";
import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { TurnId } from "./turn-files.ts";
import { maxTurnModels, TokenUsage } from "./usage.ts";
import {
  describe,
  ErrorBody,
  NonBlank,
  Nullable,
  SchemaVersion1,
  Strict,
  StringEnum,
  shortList,
  Timestamp,
} from "./wire.ts";

/** What an agent was asked and what it answered, turn by turn. Source: issue 17. */

export const TranscriptSource = StringEnum(["tool", "screen", "headless"], {
  description:
    "tool: the tool's own record of the conversation; screen: what its terminal showed at the turn's end, with the line breaks of the terminal; headless: the events of the turn's process",
});
export type TranscriptSource = Static<typeof TranscriptSource>;

export const TranscriptStatus = StringEnum(["running", "completed", "failed", "interrupted", "unknown"], {
  description: "unknown: the source does not say how the turn ended",
});
export type TranscriptStatus = Static<typeof TranscriptStatus>;

/** Tool calls that a turn shows at most. */
const maxTurnToolCalls = 200;

export const TranscriptToolCall = Strict(
  {
    name: Type.String({ description: "the tool's own name of the action, such as Bash" }),
    input: Type.String({ description: "what it was called with, as JSON or text, at most 2000 characters" }),
    output: Nullable(Type.String({ description: "what it gave, at most 2000 characters; null until then" })),
    status: StringEnum(["running", "ok", "failed", "unknown"], {
      description: "whether the action succeeded; unknown where the tool does not say",
    }),
  },
  { description: "one action of a turn and what it gave" },
);
export type TranscriptToolCall = Static<typeof TranscriptToolCall>;

export const TranscriptTurn = Strict(
  {
    turn_id: Type.String({
      pattern: TurnId.pattern ?? "",
      description: "names the turn as long as its source exists; the id of a headless turn",
    }),
    source: TranscriptSource,
    evidence: Type.String({ description: "where the text was read, and what assigned it to a request" }),
    conversation_id: Nullable(Type.String({ description: "the tool's own id of the conversation" })),
    status: TranscriptStatus,
    prompt: Nullable(Type.String({ description: "as the tool took it; null where the source lacks it" })),
    prompt_truncated: Type.Boolean({ description: "whether `prompt` is a part of the prompt" }),
    own: Type.Optional(
      Type.Literal(true, {
        description:
          "the tool began the turn by itself, as when background work ended: it belongs to no request, and `prompt` is the tool's notice",
      }),
    ),
    answer: Nullable(
      Type.String({
        description:
          "Markdown as the model wrote it: the text after the last tool call, or else the last text; null while there is none",
      }),
    ),
    answer_bytes: Type.Integer({ minimum: 0, description: "size of the whole answer in UTF-8" }),
    truncated: Type.Boolean({ description: "`answer` is a part of the answer" }),
    answer_next: Nullable(
      Type.Integer({
        minimum: 1,
        description: "byte at which the part that follows begins: `offset` of the operation for one turn",
      }),
    ),
    remarks: Type.Array(Type.String(), {
      ...shortList,
      description: "texts before the answer, oldest first, each at most 2000 characters",
    }),
    tool_calls: Type.Array(TranscriptToolCall, { maxItems: maxTurnToolCalls, description: "oldest first" }),
    tool_calls_omitted: Type.Integer({ minimum: 0, description: "older ones that are left out" }),
    error: Nullable(Type.String({ description: "why the turn failed, as the source says it" })),
    started_at_utc: Nullable(describe(Timestamp, "when the prompt was taken; null where nothing says so")),
    ended_at_utc: Nullable(
      describe(Timestamp, "when the turn ended; null while it runs and where nothing says so"),
    ),
    usage: Type.Optional(
      Type.Array(TokenUsage, {
        maxItems: maxTurnModels,
        description:
          "tokens of the turn, one entry a model; absent where the source counts none. Calls beside turns, such as titles, are not in it",
      }),
    ),
    match: Type.Optional(Type.String({ description: "of a search: the line that has the first word" })),
  },
  { description: "one turn of an agent: prompt, answer and what it did between" },
);
export type TranscriptTurn = Static<typeof TranscriptTurn>;

/** Turns on one page at most. */
const maxTranscriptPage = 100;

export const TranscriptPage = Strict(
  {
    schema_version: SchemaVersion1,
    turns: Type.Array(TranscriptTurn, { maxItems: maxTranscriptPage, description: "newest first" }),
    next: Nullable(
      Type.String({ description: "`before` of the page that follows; null where nothing follows" }),
    ),
    gaps: Type.Array(Type.String(), {
      ...shortList,
      description: "what could not be read, one sentence each; empty when nothing is missing",
    }),
    damaged_lines: Type.Integer({ minimum: 0, description: "lines of the tool's record that were skipped" }),
  },
  { description: "turns of an agent with their texts, newest first" },
);
export type TranscriptPage = Static<typeof TranscriptPage>;

const turnIdPattern = TurnId.pattern ?? "";
/** A page of answers of this size is answered at once. */
const maxPartBytes = 4 * 1024 * 1024;

/** What the agent was asked and what it answered (additional; issue 17). */
export const transcriptEndpoints = {
  transcript: endpoint({
    method: "GET",
    path: "/v1/transcript",
    summary: "What the agent was asked and what it answered, newest turn first",
    description:
      "Read from the tool's own record of the conversation, also of turns that a person typed; where there is none, from what its terminal showed at the end of the turn. A page ends early where its answers or the search become large: follow `next`.",
    query: Strict({
      limit: Type.Integer({
        minimum: 1,
        maximum: maxTranscriptPage,
        default: 20,
        description: "at most this many turns",
      }),
      before: Type.Optional(
        Type.String({ pattern: turnIdPattern, description: "only turns before the one with this id" }),
      ),
      request_id: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 100,
          description: "only the turn of this request; no turn while it is not found",
        }),
      ),
      q: Type.Optional(
        NonBlank("only turns whose prompt or answer has each of these words, in any case", {
          maxLength: 500,
        }),
      ),
      max_bytes: Type.Integer({
        minimum: 1,
        maximum: maxPartBytes,
        default: 65_536,
        description: "at most this many bytes of each answer",
      }),
    }),
    status: 200,
    response: TranscriptPage,
    errors: { 404: ErrorBody, 422: RefusedOrInvalid },
  }),
  transcriptTurn: endpoint({
    method: "GET",
    path: "/v1/transcript/:turn_id",
    summary: "One turn with its answer, or the next part of a long answer",
    query: Strict({
      offset: Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        default: 0,
        description: "first byte of the answer that is wanted",
      }),
      max_bytes: Type.Integer({
        minimum: 1,
        maximum: maxPartBytes,
        default: 1_048_576,
        description: "at most this many bytes of the answer",
      }),
    }),
    status: 200,
    response: TranscriptTurn,
    errors: { 404: ErrorBody, 422: RefusedOrInvalid },
  }),
} as const;
