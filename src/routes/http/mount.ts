import { Kind, type Static, type TObject, type TSchema } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Endpoint, ErrorReplies } from "../../protocol/endpoint.ts";
import { dropNulls } from "../../protocol/null-absence.ts";
import { jsonBody } from "./json-body.ts";

type ParameterNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type Reply<E extends Endpoint, Status> = Status extends E["status"]
  ? Static<E["reply"]>
  : Status extends keyof E["errors"]
    ? E["errors"] extends ErrorReplies
      ? Static<E["errors"][Status & keyof E["errors"]] & TSchema>
      : never
    : never;

/** The answer of `status`: a handler returns it as it is. */
declare const answered: unique symbol;
interface Answered {
  [answered]: true;
}

/** What a handler gets: the parsed and validated request. */
export interface Call<E extends Endpoint> {
  params: Record<ParameterNames<E["path"]>, string>;
  query: E["query"] extends TObject ? Static<E["query"]> : Record<string, never>;
  body: E["body"] extends TSchema ? Static<E["body"]> : undefined;
  request: Request;
  /** An answer with another status than 200. */
  status<Status extends E["status"] | keyof E["errors"]>(status: Status, body: Reply<E, Status>): Answered;
}

type Answer<E extends Endpoint> = Static<E["reply"]> | Answered | Response;
export type Handler<E extends Endpoint> = (call: Call<E>) => Answer<E> | Promise<Answer<E>>;
/** One handler for each endpoint of a table; an endpoint without one does not compile. */
export type Handlers<Endpoints> = {
  [Name in keyof Endpoints]: Endpoints[Name] extends Endpoint ? Handler<Endpoints[Name]> : never;
};

/**
 * Serves each endpoint of a table with its handler. The table says the method, the path, how query and body are parsed and
 * validated, and what may be answered. A handler is given to Elysia as it is: a wrapper would hide from it which parts of
 * the request the handler reads, and it would then parse all of them.
 *
 * `unchecked`: endpoints whose answers are not validated, because they are streams or because building the check costs too
 * much of a start. `bodyOptional`: endpoints that read no body as one without fields.
 */
export function mount<const Endpoints extends Readonly<Record<string, Endpoint>>>(table: {
  name: string;
  endpoints: Endpoints;
  handlers: Handlers<Endpoints>;
  unchecked?: readonly (keyof Endpoints)[] | "all";
  bodyOptional?: readonly (keyof Endpoints)[];
}): Elysia {
  const { name, endpoints, handlers, unchecked = [], bodyOptional = [] } = table;
  const app = new Elysia({ name }).use(jsonBody);
  for (const [key, endpoint] of Object.entries(endpoints)) {
    app.route(endpoint.method, endpoint.path, handlers[key] as never, {
      ...(endpoint.body ? takes(endpoint.body, bodyOptional.includes(key)) : {}),
      ...(endpoint.query ? { query: endpoint.query, transform: numbersIn(endpoint.query) } : {}),
      ...(unchecked === "all" || unchecked.includes(key) ? {} : { response: repliesOf(endpoint) }),
    });
  }
  return app as unknown as Elysia;
}

/** The body is parsed within our limits, null is read as absent (ruling 35), then it is validated. */
function takes(body: TSchema, optional: boolean) {
  return {
    parse: optional ? "limitedJsonOrNone" : "limitedJson",
    body,
    transform: (context: { body: unknown }) => void dropNulls(body, context.body),
  } as const;
}

/** What an endpoint may answer, by status. */
function repliesOf({ status, reply, errors }: Endpoint): Record<number, TSchema> {
  return { [status]: reply, ...errors };
}

/**
 * Reads the digits of a query string as the numbers that its schema asks for, before it is validated; what is no
 * decimal number stays text and fails there, under its own name.
 */
function numbersIn(schema: TObject): (context: { query: Record<string, unknown> }) => void {
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
