import { Kind, type Static, type TObject, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { Elysia, ElysiaCustomStatusResponse, ParseError } from "elysia";
import type { Endpoint, ErrorResponses } from "../../protocol/endpoint.ts";
import { findJsonExcess } from "../../protocol/json.ts";
import { dropNulls } from "../../protocol/null-absence.ts";
import { IdempotencyKey, idempotencyHeader } from "../../protocol/wire.ts";
import type { KeptAnswers } from "../../services/sessions/kept-answers.ts";
import { ServiceError } from "../../system/errors.ts";
import { maxBodyBytes } from "./gate.ts";

type ParameterNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type ResponseFor<E extends Endpoint, Status> = Status extends E["status"]
  ? Static<E["response"]>
  : Status extends keyof E["errors"]
    ? E["errors"] extends ErrorResponses
      ? Static<E["errors"][Status & keyof E["errors"]] & TSchema>
      : never
    : never;

/** The result of `status`, which a handler returns unchanged. */
declare const answered: unique symbol;
interface Answered {
  [answered]: true;
}

/** The parsed and validated request that a handler gets. */
interface Call<E extends Endpoint> {
  params: Record<ParameterNames<E["path"]>, string>;
  query: E["query"] extends TObject ? Static<E["query"]> : Record<string, never>;
  body: E["body"] extends TSchema ? Static<E["body"]> : undefined;
  request: Request;
  /** An answer with the given status. */
  status<Status extends E["status"] | keyof E["errors"]>(
    status: Status,
    body: ResponseFor<E, Status>,
  ): Answered;
}

type Answer<E extends Endpoint> = Static<E["response"]> | Answered | Response;
type Handler<E extends Endpoint> = (call: Call<E>) => Answer<E> | Promise<Answer<E>>;
/** One handler for each endpoint of a table; an endpoint without one does not compile. */
export type Handlers<Endpoints> = {
  [Name in keyof Endpoints]: Endpoints[Name] extends Endpoint ? Handler<Endpoints[Name]> : never;
};

/** Routes that an app mounts. */
export type Routes = Elysia;

/**
 * Serves each endpoint of a table with its handler. The table defines method, path, the schemas of query and
 * body, and the allowed answers. Elysia gets a handler without a wrapper: it parses only the parts of a
 * request that the source of the handler reads.
 *
 * `unchecked`: endpoints whose answers are not validated, because they are streams or because building the
 * check makes the start too slow. `bodyOptional`: endpoints that take a missing body for an empty object.
 * `answers` keeps the idempotency keys of the endpoints with `keepsKey`, except `handlersKeepKey`, whose
 * handlers keep them. `inStore`: endpoints whose handlers are synchronous and write only to the database that
 * holds `answers`.
 */
export function mount<const Endpoints extends Readonly<Record<string, Endpoint>>>(table: {
  name: string;
  endpoints: Endpoints;
  handlers: Handlers<Endpoints>;
  unchecked?: readonly (keyof Endpoints)[] | "all";
  bodyOptional?: readonly (keyof Endpoints)[];
  answers?: KeptAnswers;
  inStore?: readonly (keyof Endpoints)[];
  handlersKeepKey?: readonly (keyof Endpoints)[];
}): Routes {
  const { name, endpoints, handlers, unchecked = [], bodyOptional = [], answers } = table;
  const { inStore = [], handlersKeepKey = [] } = table;
  const app = new Elysia({ name }).use(jsonBody);
  for (const [key, endpoint] of Object.entries(endpoints)) {
    const handler = handlers[key] as unknown as Handler<Endpoint>;
    const once = answers && endpoint.keepsKey && !handlersKeepKey.includes(key);
    const answer = once
      ? keyed(handler, { key, endpoint, answers, inStore: inStore.includes(key) })
      : handler;
    app.route(endpoint.method, endpoint.path, answer as never, {
      ...(endpoint.body ? bodyRules(endpoint.body, bodyOptional.includes(key)) : {}),
      ...(endpoint.query ? { query: endpoint.query, transform: numberParser(endpoint.query) } : {}),
      ...(unchecked === "all" || unchecked.includes(key) ? {} : { response: responsesOf(endpoint) }),
    });
  }
  return app as unknown as Routes;
}

/** Wraps a handler: a call with an idempotency key is carried out once, and its answer is kept. */
function keyed(
  handler: Handler<Endpoint>,
  {
    key,
    endpoint,
    answers,
    inStore,
  }: { key: string; endpoint: Endpoint; answers: KeptAnswers; inStore: boolean },
): Handler<Endpoint> {
  const toKept = (answer: unknown): HandlerAnswer =>
    answer instanceof ElysiaCustomStatusResponse
      ? { status: answer.code as number, body: answer.response }
      : { status: endpoint.status, body: answer };
  return async (call) => {
    const idempotencyKey = idempotencyKeyOf(call.request);
    if (idempotencyKey === undefined) return handler(call);
    const work = {
      key: idempotencyKey,
      operation: key,
      request: [call.params, call.query, call.body ?? null],
    };
    const { status, body } = inStore
      ? await answers.onceInStore(work, () => toKept(handler(call)))
      : await answers.once(work, async () => toKept(await handler(call)));
    return call.status(status, body);
  };
}

interface HandlerAnswer {
  status: number;
  body: unknown;
}

/** Parses a body within the limits, drops nulls of optional fields (ruling 35), then validates it. */
function bodyRules(body: TSchema, optional: boolean) {
  return {
    parse: optional ? "limitedJsonOrNone" : "limitedJson",
    body,
    transform: (context: { body: unknown }) => void dropNulls(body, context.body),
  } as const;
}

/** The allowed answers of an endpoint, by status. */
function responsesOf({ status, response, errors }: Endpoint): Record<number, TSchema> {
  return { [status]: response, ...errors };
}

/**
 * Turns decimal texts of a query into the numbers of its schema, before the validation. Other text stays
 * unchanged, so that the validation reports it under its name.
 */
function numberParser(schema: TObject): (context: { query: Record<string, unknown> }) => void {
  const names = Object.entries(schema.properties)
    .filter(([, property]) => property[Kind] === "Integer" || property[Kind] === "Number")
    .map(([name]) => name);
  return ({ query }) => {
    for (const name of names) {
      const text = query[name];
      if (typeof text === "string" && /^-?\d+(\.\d+)?$/.test(text)) query[name] = Number(text);
    }
  };
}

/**
 * The parsers of bodies. `limitedJson` counts the bytes that arrive, since a chunked body announces no
 * length. `limitedJsonOrNone` takes a missing body for an empty object.
 */
const jsonBody = new Elysia({ name: "json-body" })
  .parser("limitedJson", async ({ request }) => parse(decode(await readLimited(request))))
  .parser("limitedJsonOrNone", async ({ request }) => parse(decode(await readLimited(request)) || "{}"));

/**
 * Refuses bytes that are not UTF-8. A lenient decoder would replace them, and the stored text would differ
 * from the sent one.
 */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalidJson("the body is not valid UTF-8");
  }
}

function parse(text: string): unknown {
  const excess = findJsonExcess(text);
  if (excess !== null) throw invalidJson(`the body ${excess}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ParseError(error as Error);
  }
  // Half of a surrogate pair has no UTF-8 form, so storing it would replace it.
  if (/\\u[dD][89a-fA-F]/.test(text) && !isWellFormed(value)) {
    throw invalidJson("a string of the body holds half of a surrogate pair");
  }
  if (/toString|\\u/.test(text)) makePrintable(value);
  return value;
}

/**
 * Elysia writes an invalid value into its message. An object with a key `toString` cannot be converted to
 * text, and the caller would get a 500 instead of the finding. A symbol key is not part of the JSON.
 */
function makePrintable(value: unknown): void {
  if (value === null || typeof value !== "object") return;
  if (Object.hasOwn(value, "toString"))
    Object.defineProperty(value, Symbol.toPrimitive, { value: () => "[object]" });
  for (const one of Object.values(value)) makePrintable(one);
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, one]) => key.isWellFormed() && isWellFormed(one));
}

function invalidJson(msg: string): ServiceError {
  return new ServiceError("invalid_request", msg, {
    data: { issues: [{ type: "json_invalid", loc: [], msg }] },
  });
}

async function readLimited(request: Request): Promise<Uint8Array> {
  // The gate already checked an announced length; a chunked body has none.
  const announced = request.headers.has("content-length") && !request.headers.has("transfer-encoding");
  if (announced) return new Uint8Array(await request.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) {
      throw new ServiceError("too_large", `the body is larger than ${maxBodyBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return concatenate(chunks, bytes);
}

function concatenate(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

/**
 * The caller's idempotency key; undefined without one. Throws `invalid_request` for an invalid key.
 */
export function idempotencyKeyOf({ headers }: Pick<Request, "headers">): string | undefined {
  const key = headers.get(idempotencyHeader);
  if (key === null) return undefined;
  if (Value.Check(IdempotencyKey, key)) return key;
  throw new ServiceError("invalid_request", "Idempotency-Key: 1 to 128 letters, digits and _ . : -");
}
