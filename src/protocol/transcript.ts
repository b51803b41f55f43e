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

/** Prompts and answers of an agent, turn by turn. Source: decision 51. */

export const TranscriptSource = StringEnum(["tool", "screen", "headless"], {
  description:
    "tool: the tool's record of the conversation; screen: the terminal at the end of the turn, with the line breaks of the terminal; headless: the events of the turn's process",
});
export type TranscriptSource = Static<typeof TranscriptSource>;

export const TranscriptStatus = StringEnum(["running", "completed", "failed", "interrupted", "unknown"], {
  description: "unknown: the source does not say how the turn ended",
});
export type TranscriptStatus = Static<typeof TranscriptStatus>;

/** Tool calls in a turn at most. */
const maxTurnToolCalls = 200;

export const TranscriptToolCall = Strict(
  {
    name: Type.String({ description: "the tool's own name of the action, such as Bash" }),
    input: Type.String({ description: "arguments of the call, as JSON or text, at most 2000 characters" }),
    output: Nullable(
      Type.String({ description: "result of the call, at most 2000 characters; null before it" }),
    ),
    status: StringEnum(["running", "ok", "failed", "unknown"], {
      description: "whether the call succeeded; unknown when the tool does not report it",
    }),
  },
  { description: "one tool call of a turn" },
);
export type TranscriptToolCall = Static<typeof TranscriptToolCall>;

export const TranscriptTurn = Strict(
  {
    turn_id: Type.String({
      pattern: TurnId.pattern ?? "",
      description: "id of the turn, valid as long as its source exists",
    }),
    source: TranscriptSource,
    evidence: Type.String({ description: "where the text was read, and how it was assigned to a request" }),
    conversation_id: Nullable(Type.String({ description: "the tool's own id of the conversation" })),
    status: TranscriptStatus,
    prompt: Nullable(
      Type.String({ description: "the prompt as the tool received it; null when the source lacks it" }),
    ),
    prompt_truncated: Type.Boolean({ description: "whether `prompt` is only a part" }),
    own: Type.Optional(
      Type.Literal(true, {
        description:
          "the tool began the turn by itself, for example when background work ended; the turn belongs to no request, and `prompt` is the tool's notice",
      }),
    ),
    answer: Nullable(
      Type.String({
        description:
          "Markdown as the model wrote it: the text after the last tool call, else the last text; null without a text",
      }),
    ),
    answer_bytes: Type.Integer({ minimum: 0, description: "size of the whole answer in UTF-8" }),
    truncated: Type.Boolean({ description: "whether `answer` is only a part" }),
    answer_next: Nullable(
      Type.Integer({
        minimum: 1,
        description: "first byte of the next part: `offset` of the operation for one turn",
      }),
    ),
    remarks: Type.Array(Type.String(), {
      ...shortList,
      description: "texts before the answer, oldest first, each at most 2000 characters",
    }),
    tool_calls: Type.Array(TranscriptToolCall, { maxItems: maxTurnToolCalls, description: "oldest first" }),
    tool_calls_omitted: Type.Integer({ minimum: 0, description: "number of older calls that are left out" }),
    error: Nullable(Type.String({ description: "why the turn failed, as the source reports it" })),
    started_at_utc: Nullable(describe(Timestamp, "when the tool took the prompt; null when unknown")),
    ended_at_utc: Nullable(describe(Timestamp, "when the turn ended; null while it runs and when unknown")),
    usage: Type.Optional(
      Type.Array(TokenUsage, {
        maxItems: maxTurnModels,
        description:
          "tokens of the turn, one entry for each model; absent when the source does not count them. Calls outside turns, such as titles, are not included",
      }),
    ),
    match: Type.Optional(Type.String({ description: "for a search: the line with the first word" })),
  },
  { description: "one turn of an agent: prompt, tool calls and answer" },
);
export type TranscriptTurn = Static<typeof TranscriptTurn>;

/** Turns on one page at most. */
const maxTranscriptPage = 100;

export const TranscriptPage = Strict(
  {
    schema_version: SchemaVersion1,
    turns: Type.Array(TranscriptTurn, { maxItems: maxTranscriptPage, description: "newest first" }),
    next: Nullable(Type.String({ description: "`before` of the next page; null on the last one" })),
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
/** Maximum bytes of an answer in one response. */
const maxPartBytes = 4 * 1024 * 1024;

/** The routes of the transcript (additional). */
export const transcriptEndpoints = {
  transcript: endpoint({
    method: "GET",
    path: "/v1/transcript",
    summary: "The prompts and answers of the agent, newest turn first",
    description:
      "Read from the tool's record of the conversation, which includes turns that a person typed. Without a record, read from the terminal at the end of the turn. A page with large answers or a long search ends early; `next` continues it.",
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
          description: "only the turn of this request; empty until it is found",
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
        description: "first byte of the part",
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
