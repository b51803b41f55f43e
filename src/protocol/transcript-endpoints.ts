import { Type } from "@sinclair/typebox";
import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { maxTranscriptPage, TranscriptPage, TranscriptTurn } from "./transcript.ts";
import { TurnId } from "./turns.ts";
import { ErrorBody, NonBlank, Strict } from "./wire.ts";

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
    reply: TranscriptPage,
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
    reply: TranscriptTurn,
    errors: { 404: ErrorBody, 422: RefusedOrInvalid },
  }),
} as const;
