import { Kind, type TObject, type TSchema } from "@sinclair/typebox";
import type { Endpoint } from "../../protocol/endpoint.ts";
import { dropNulls } from "../../protocol/null-absence.ts";

/**
 * How a route takes the body that its endpoint declares: parsed within our limits, null read as absent (ruling 35),
 * then validated. Every route with a body spreads this.
 */
export function takes<Body extends TSchema>(endpoint: Endpoint<Body>) {
  return { parse: "limitedJson", ...validated(endpoint.body) } as const;
}

/** The same of a route that also works without a body. */
export function takesOrNone<Body extends TSchema>(endpoint: Endpoint<Body>) {
  return { parse: "limitedJsonOrNone", ...validated(endpoint.body) } as const;
}

function validated<Body extends TSchema>(body: Body) {
  return { body, transform: (context: { body: unknown }) => void dropNulls(body, context.body) };
}

/** What an endpoint may answer, by status, in the form that routes take. */
export function repliesOf<E extends Endpoint>(
  endpoint: E,
): { [Status in E["status"]]: E["reply"] } & E["errors"] {
  return { [endpoint.status]: endpoint.reply, ...endpoint.errors } as never;
}

/**
 * Reads the digits of a query string as the numbers that its schema asks for, before it is validated; what is no
 * decimal number stays text and fails there, under its own name.
 */
export function numbersIn(schema: TObject): (context: { query: Record<string, unknown> }) => void {
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
