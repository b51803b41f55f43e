import { type Static, type TObject, type TSchema, Type } from "@sinclair/typebox";
import { ErrorBody, maxPage, ValidationErrorBody } from "./wire.ts";

/**
 * Bodies of the refusals that an operation documents, by status. Refusals that every operation may answer are
 * not listed.
 */
export type ErrorResponses = Readonly<Record<number, TSchema>>;

/**
 * One HTTP operation, declared once. Routes use its schemas. The typed client, the OpenAPI document and the
 * coordinator's table of forwarded routes are derived from it. `:name` in a path is a parameter.
 */
export interface Endpoint<
  Body extends TSchema | null = TSchema | null,
  ResponseSchema extends TSchema = TSchema,
  Status extends number = number,
  Path extends string = string,
  Errors extends ErrorResponses = ErrorResponses,
  Query extends TObject | null = TObject | null,
> {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: Path;
  /** One line, for lists. */
  readonly summary: string;
  /** What a caller must know beyond the summary and the schemas. */
  readonly description?: string;
  /** Its numbers are decimal text on the wire. */
  readonly query: Query;
  readonly body: Body;
  readonly status: Status;
  readonly response: ResponseSchema;
  readonly errors: Errors;
  /**
   * Sent again with the same Idempotency-Key it is done once, and answered as the first time. So is all that
   * acts, but what is declared `withoutKey`.
   */
  readonly keepsKey: boolean;
}

type Declaration<
  Body extends TSchema | null,
  ResponseSchema extends TSchema,
  Status extends number,
  Path extends string,
  Errors extends ErrorResponses,
  Query extends TObject | null,
> = Omit<
  Endpoint<Body, ResponseSchema, Status, Path, Errors, Query>,
  "query" | "body" | "errors" | "keepsKey"
> & {
  readonly query?: Query;
  readonly body?: Body;
  readonly errors?: Errors;
  /** It only reads, is harmless to repeat, or answers with a stream or a secret. */
  readonly withoutKey?: true;
};

export function endpoint<
  ResponseSchema extends TSchema,
  const Status extends number,
  const Path extends string,
  Body extends TSchema | null = null,
  Errors extends ErrorResponses = Record<never, TSchema>,
  Query extends TObject | null = null,
>(
  declaration: Declaration<Body, ResponseSchema, Status, Path, Errors, Query>,
): Endpoint<Body, ResponseSchema, Status, Path, Errors, Query> {
  const { query, body, errors, withoutKey, ...rest } = declaration;
  return {
    ...rest,
    keepsKey: rest.method !== "GET" && !withoutKey,
    query: (query ?? null) as Query,
    body: (body ?? null) as Body,
    errors: (errors ?? {}) as Errors,
  };
}

/**
 * A refusal of the service, or findings of the validation. The findings come first: they also parse as a
 * refusal, and a generated client takes the first branch that parses.
 */
export const RefusedOrInvalid = Type.Union([ValidationErrorBody, ErrorBody], {
  description: "a refusal of the service, or findings of the validation",
});
/** Query parameter: the maximum length of a list. */
export const limit = Type.Integer({
  minimum: 1,
  maximum: maxPage,
  default: 100,
  description: "at most this many",
});

/** Path parameters by name. A name has the same meaning in every path. */
export const pathParameters: Readonly<Record<string, TSchema>> = {
  agent_ref: Type.String({
    description:
      "tracked_agent_id, terminal_id, session_name, runtime_session_id, agent_name or agent_id of the agent",
  }),
  attention_id: Type.String({ description: "`id` of an item at /svc/attention" }),
  connection_id: Type.String({ description: "id of the stream, from its header x-svc-connection-id" }),
  reminder_id: Type.String({ description: "id of a reminder that the gateway holds" }),
  request_id: Type.String({ description: "id of a request, from its acceptance" }),
  turn_id: Type.String({ description: "id of a headless turn" }),
};

export type BodyOf<E extends Endpoint> = E["body"] extends TSchema ? Static<E["body"]> : undefined;
export type ResponseOf<E extends Endpoint> = Static<E["response"]>;
