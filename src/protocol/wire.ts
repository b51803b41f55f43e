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

/** Path of the console's scripts and styles, whose names change with their content. */
export const assetsPath = "/svc/console/assets/";
/** Path of the scripts and styles of the API's reference page. */
export const referenceAssetsPath = `${assetsPath}reference/`;
/** Path of the console's page; also its name in the executables. */
export const consolePage = "/";
/** Path of a one-time sign-in link, with the query `?code=`. */
export const signInPath = "/svc/console/sign-in";

/** A name of a host or of a fleet: one token of a subject, one label of a domain name. */
const hostName = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
export const hostNamePattern = `^${hostName}$`;

/**
 * An object of the wire or of a file, without unknown keys (ruling 11). Bodies use TypeBox's types, never the
 * coercing ones of Elysia: a number is not a string.
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

/** A copy of the schema with another description. */
export function describe<T extends TSchema>(schema: T, description: string): T {
  return { ...schema, description };
}

export const SchemaVersion1 = Type.Literal(1, { description: "version of this shape" });

/** A visible character: neither blank nor a control character. */
export const visiblePattern = "[^\\s\\ufeff\\x00-\\x1f\\x7f-\\x9f]";

/** Text with at least one visible character. */
export const NonBlank = (
  description: string,
  options: { maxLength?: number; enforced?: Record<string, unknown> } = {},
) => Type.String({ minLength: 1, pattern: visiblePattern, description, ...options });

const agentId = `[\\w.-]{1,128}(?:@${hostName})?`;

/**
 * Ids of agents in a query, separated by commas; `ID@HOST` names an agent on another host. Other characters
 * are refused: encoding triples their length, and the URL became too long for every server.
 */
export const agentIds = (max: number, description: string) =>
  Type.String({ pattern: `^${agentId}(?:,${agentId}){0,${max - 1}}$`, description });

/**
 * Maximum length of a key sequence. Each key is a separate write, so a megabyte of keys would take minutes.
 */
export const maxSequence = 65_536;

/** Maximum nesting of a request body. */
export const maxNesting = 128;

// Every array has a maximum (security.md 8).
/** Items of a page, and items that one request may name. */
export const maxPage = 1000;
/** Items of a list that is short by nature, such as reasons, options and aliases: far above real lengths. */
export const shortList = { maxItems: 10_000 } as const;
/** Items of a list without pages; the oldest or last ones beyond it are left out. */
export const maxListed = 10_000;

/** One finding of the validation of a request. Never echoes the input (ruling 9). */
export const ValidationIssue = Strict(
  {
    type: Type.String({ description: "missing, extra_forbidden, json_invalid, literal_error, ..." }),
    loc: Type.Array(Type.Union([Type.String(), Type.Integer()]), {
      maxItems: maxNesting + 2,
      description: "location: body, query or path, then keys and indexes",
    }),
    msg: Type.String({ description: "message for people" }),
  },
  { description: "one finding of the validation" },
);
export type ValidationIssue = Static<typeof ValidationIssue>;

/** Findings in one answer at most. */
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
    detail: Type.String({ description: "the problem and, where it helps, the next step" }),
    error_id: Type.Optional(Type.String({ description: "id of the log entry; only for unexpected faults" })),
    agent_ids: Type.Optional(
      Type.Array(Type.String(), { ...shortList, description: "candidates of an ambiguous alias" }),
    ),
    remedy: Type.Optional(RemedyRecord),
  },
  { description: "why an operation was refused" },
);
export type ErrorBody = Static<typeof ErrorBody>;

/**
 * A challenge of 32 to 128 hexadecimal digits, with `GET /health` and `GET /v1/snapshot`. A server whose
 * session has a key answers in `challengeAnswerHeader` with the HMAC-SHA256 of the challenge and its port. So
 * our clients verify a server before they send it a token.
 */
export const challengeHeader = "x-svc-challenge";
export const challengeAnswerHeader = "x-svc-challenge-answer";

/** The header of a GUI stream with the id of its connection. */
export const aguiConnectionHeader = "x-svc-connection-id";

/** The header with a caller's idempotency key: calls with the same key are carried out once. */
export const idempotencyHeader = "idempotency-key";
export const IdempotencyKey = Type.String({
  pattern: "^[A-Za-z0-9_.:-]{1,128}$",
  description:
    "the caller's idempotency key: the same call with the same key is carried out once and gets the first answer, or 504 when no answer was kept; another call with the key is refused with 409",
});

/** The operation may have been carried out: its answer is lost. */
export const outcomeUnknownStatus = 504;
