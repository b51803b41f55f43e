import { Type } from "@sinclair/typebox";
import { endpoint, limit, RefusedOrInvalid } from "./endpoint.ts";
import { HeadlessState, NextPromptSession, TurnEvents, TurnList, TurnStatusRecord } from "./turns.ts";
import { ErrorBody, Strict } from "./wire.ts";

/** Refusals of all these routes: 422 for an agent that is not headless. */
const refusals = { 422: RefusedOrInvalid } as const;
const refusalsOfTurn = { ...refusals, 404: ErrorBody } as const;

/** Control of a headless agent and its durable turns (contract 4.1; the turn routes are additional). */
export const turnEndpoints = {
  headlessState: endpoint({
    method: "GET",
    path: "/v1/control/headless/state",
    summary: "Whether a headless agent can take a prompt, and which conversation it would belong to",
    status: 200,
    reply: HeadlessState,
    errors: { ...refusals, 503: ErrorBody },
  }),
  nextPromptSession: endpoint({
    method: "POST",
    path: "/v1/control/headless/next-prompt-session",
    summary: "Let the next direct prompt begin a new conversation",
    description:
      "One-shot: consumed by the next accepted direct prompt that leaves its conversation open; queued prompts ignore it. Lost when the gateway ends.",
    body: NextPromptSession,
    status: 200,
    reply: HeadlessState,
    errors: { ...refusals, 503: ErrorBody },
  }),
  listTurns: endpoint({
    method: "GET",
    path: "/v1/turns",
    summary: "The newest turns of a headless agent",
    query: Strict({ limit }),
    status: 200,
    reply: TurnList,
    errors: refusals,
  }),
  readTurn: endpoint({
    method: "GET",
    path: "/v1/turns/:turn_id",
    summary: "One turn: running, or how it ended",
    status: 200,
    reply: TurnStatusRecord,
    errors: refusalsOfTurn,
  }),
  turnEvents: endpoint({
    method: "GET",
    path: "/v1/turns/:turn_id/events",
    summary: "What the agent said and did in a turn, also while it runs",
    description:
      "All of them; with `limit` a page, whose `next` is the `after` of the page that follows. The event stream publishes each as it happens: kind turn_event, with its number in turn_seq.",
    query: Strict({
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 1000, description: "at most this many; all without it" }),
      ),
      after: Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        default: 0,
        description: "how many events to pass over",
      }),
    }),
    status: 200,
    reply: TurnEvents,
    errors: refusalsOfTurn,
  }),
} as const;

const artifactQuery = Strict({
  offset: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 0,
    description: "first byte",
  }),
  max_bytes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "at most this many bytes; to the end without it",
    }),
  ),
});

const artifact = <const Path extends string>(path: Path, summary: string) =>
  endpoint({
    method: "GET",
    path,
    summary,
    description:
      'As the tool wrote it, to its end, also while it writes; empty before it wrote anything. Where `max_bytes` ends the answer before the end, the header `Link` names the part that follows, rel="next".',
    query: artifactQuery,
    status: 200,
    reply: Type.String({ contentMediaType: "text/plain" }),
    errors: refusalsOfTurn,
  });

/** Answers in plain text, streamed from disk; not part of the typed client. */
export const turnArtifactEndpoints = {
  turnStdout: artifact("/v1/turns/:turn_id/artifacts/stdout", "Standard output of a turn's tool"),
  turnStderr: artifact("/v1/turns/:turn_id/artifacts/stderr", "Standard error of a turn's tool"),
} as const;
