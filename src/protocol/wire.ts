import {
  type Static,
  type TLiteral,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnion,
  Type,
} from "@sinclair/typebox";
import { RemedyRecord } from "./remedy.ts";

/** Where the scripts and styles of the console are; their names change with their content. */
export const assetsPath = "/svc/console/assets/";
/** The same of the page that shows the API. */
export const referenceAssetsPath = `${assetsPath}reference/`;
/** The page itself, by the same name in the executables. */
export const consolePage = "/";
/** Opened in a browser with `?code=`: the one-time link. */
export const signInPath = "/svc/console/sign-in";

/** A name of a host or of a fleet: one token of a subject, one label of a domain name. */
const hostName = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
export const hostNamePattern = `^${hostName}$`;

/**
 * An object of the wire or of a file: unknown keys are refused (ruling 11). Bodies use TypeBox's own types,
 * never Elysia's coercing ones: a number is not a string.
 */
export function Strict<P extends TProperties>(
  properties: P,
  options: {
    description?: string;
    title?: string;
    minProperties?: number;
    examples?: unknown[];
    enforced?: Record<string, unknown>;
  } = {},
): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

export function Nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

type LiteralsOf<W extends readonly string[]> = { -readonly [K in keyof W]: TLiteral<W[K] & string> };

/** A closed set of words. */
export function StringEnum<const W extends readonly string[]>(
  words: W,
  options: { description?: string; default?: W[number]; enforced?: Record<string, unknown> } = {},
): TUnion<LiteralsOf<W>> {
  return Type.Union(
    words.map((word) => Type.Literal(word)),
    options,
  ) as unknown as TUnion<LiteralsOf<W>>;
}

export const Timestamp = Type.String({
  description: "RFC 3339 in UTC with the offset +00:00; readers accept Z and any precision",
  examples: ["2026-11-21T04:47:00.000+00:00"],
});

/** The same schema, described for one place. */
export function describe<T extends TSchema>(schema: T, description: string): T {
  return { ...schema, description };
}

export const SchemaVersion1 = Type.Literal(1, { description: "version of this shape" });

/** A character to see: neither blank nor a control character, which no terminal is given. */
export const visiblePattern = "[^\\s\\ufeff\\x00-\\x1f\\x7f-\\x9f]";

/** Text with at least one character to see. */
export const NonBlank = (
  description: string,
  options: { maxLength?: number; enforced?: Record<string, unknown> } = {},
) => Type.String({ minLength: 1, pattern: visiblePattern, description, ...options });

const agentId = `[\\w.-]{1,128}(?:@${hostName})?`;

/**
 * Ids of agents in a query, separated by commas; `ID@HOST` is one of another host. Other characters are
 * refused here: three times as long when they are encoded, they made an address that no server reads.
 */
export const agentIds = (most: number, description: string) =>
  Type.String({ pattern: `^${agentId}(?:,${agentId}){0,${most - 1}}$`, description });

/**
 * Characters of a sequence of keys: each key is pressed on its own, so a megabyte of them would take minutes.
 */
export const maxSequence = 65_536;

/** How deep a request body may be nested. */
export const maxNesting = 128;

/** Every array has a maximum (security.md 8). Of a page, what one request may name or ask for: */
export const maxPage = 1000;
/** Of a list that is short by nature, such as reasons, options and aliases: far above what occurs. */
export const shortList = { maxItems: 10_000 } as const;
/** Of a list without pages whose items others make: beyond it the oldest or last ones are left out. */
export const maxListed = 10_000;

/** One finding of the validation of a request. Never echoes the input (ruling 9). */
export const ValidationIssue = Strict(
  {
    type: Type.String({ description: "missing, extra_forbidden, json_invalid, literal_error, ..." }),
    loc: Type.Array(Type.Union([Type.String(), Type.Integer()]), {
      maxItems: maxNesting + 2,
      description: "where: body, query or path, then keys and indexes",
    }),
    msg: Type.String({ description: "what is wrong, for people" }),
  },
  { description: "one finding of the validation" },
);
export type ValidationIssue = Static<typeof ValidationIssue>;

/** Most findings that one answer names; the first ones in the order of the schema. */
export const maxFindings = 20;

export const ValidationErrorBody = Strict(
  {
    detail: Type.Array(ValidationIssue, {
      description: "the first findings, in the order of the schema",
      maxItems: maxFindings,
    }),
  },
  { description: "findings of the validation; the input is never repeated" },
);

/** Every error that is not a validation error or a refused direct prompt. */
export const ErrorBody = Strict(
  {
    detail: Type.String({ description: "what was wrong and, where it helps, what to do next" }),
    error_id: Type.Optional(Type.String({ description: "find it in the log; unexpected faults only" })),
    agent_ids: Type.Optional(
      Type.Array(Type.String(), { ...shortList, description: "candidates of an ambiguous alias" }),
    ),
    remedy: Type.Optional(RemedyRecord),
  },
  { description: "why an operation was refused" },
);
export type ErrorBody = Static<typeof ErrorBody>;

/**
 * With `GET /health` and `GET /v1/snapshot`: 32 to 128 hexadecimal digits, to which a server whose session
 * keeps a key answers with the second header: HMAC-SHA256 of the challenge and its port. So our clients know
 * a server before they show it a token.
 */
export const challengeHeader = "x-svc-challenge";
export const challengeAnswerHeader = "x-svc-challenge-answer";

/** The header of a GUI stream that names its connection. */
export const aguiConnectionHeader = "x-svc-connection-id";

/** The header with a caller's key for one piece of work: what has it is accepted once. */
export const idempotencyHeader = "idempotency-key";
export const IdempotencyKey = Type.String({
  pattern: "^[A-Za-z0-9_.:-]{1,128}$",
  description: "the caller's key for one piece of work: what has the same key is accepted once",
});

/** What was asked for may have been done: the answer to it is lost. */
export const outcomeUnknownStatus = 504;
