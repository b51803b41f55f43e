import fc from "fast-check";
import {
  canary,
  type JsonValue,
  knownValue,
  type Mutation,
  mutate,
  mutation,
  resolveKnown,
  type Schema,
  validValue,
  wildNumber,
  wildText,
} from "./schema-values.ts";

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
}

interface Media {
  schema?: Schema;
}

/** An operation of an OpenAPI document. */
export interface Operation {
  operationId: string;
  method: string;
  /** With `{name}` for a parameter. */
  path: string;
  parameters: Parameter[];
  body: Schema | null;
  /** Statuses, each with the schema of a JSON answer where there is one. */
  replies: Map<number, { schema: Schema | null; types: string[] }>;
}

export interface Document {
  paths: Record<string, Record<string, unknown>>;
  components: object;
}

interface RawOperation {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { $ref?: string; content?: Record<string, Media> }>;
}

/** What a reference of the document leads to. */
function follow(document: Document, reference: string): unknown {
  return reference
    .replace(/^#\//, "")
    .split("/")
    .reduce((at: unknown, part) => (at as Record<string, unknown>)[part], document);
}

export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, given]): Operation => {
      const raw = given as RawOperation;
      return {
        operationId: raw.operationId,
        method: method.toUpperCase(),
        path,
        parameters: raw.parameters ?? [],
        body: raw.requestBody?.content["application/json"]?.schema ?? null,
        replies: new Map(
          Object.entries(raw.responses).map(([status, reply]) => {
            const { content = {} } = reply.$ref
              ? (follow(document, reply.$ref) as { content?: Record<string, Media> })
              : reply;
            const schema = content["application/json"]?.schema ?? null;
            return [Number(status), { schema, types: Object.keys(content) }];
          }),
        ),
      };
    }),
  );
}

/** One request, still without the ids that are only known when it is sent. */
export interface Call {
  operation: string;
  method: string;
  path: string;
  parameters: Record<string, string>;
  query: [string, string][];
  headers: Record<string, string>;
  body: JsonValue | undefined;
  mutations: Mutation[];
  /** What becomes of the body's text. */
  spoil: "no" | "cut" | "trailing" | "twice" | "nested" | "mark" | "empty";
}

const headerText = fc
  .string({ unit: fc.constantFrom(..."abcXYZ019 ;=,/*\"'-_\u00e9"), maxLength: 40 })
  .map((text) => text.trim());

const oddHeaders: fc.Arbitrary<[string, string]> = fc.oneof(
  fc.constantFrom<[string, string]>(
    ["host", "evil.example"],
    ["host", "127.0.0.1.evil.example"],
    ["host", "localhost."],
    ["host", "[::1]:9"],
    ["origin", "null"],
    ["origin", "http://evil.example"],
    ["origin", "http://127.0.0.1:2"],
    ["sec-fetch-site", "cross-site"],
    ["authorization", ""],
    ["authorization", "Bearer"],
    ["authorization", `Bearer ${canary}`],
    ["authorization", "Basic dTpw"],
    ["content-type", "text/plain"],
    ["content-type", "application/x-www-form-urlencoded"],
    ["content-type", "multipart/form-data; boundary=x"],
    ["content-type", "application/json; charset=utf-16"],
    ["content-type", "Application/JSON;"],
    ["content-encoding", "gzip"],
    ["last-event-id", "-1"],
    ["last-event-id", "99999999999999999999"],
    ["last-event-id", "a-1"],
    ["x-http-method-override", "DELETE"],
    ["x-forwarded-host", "evil.example"],
    ["access-control-request-method", "POST"],
    ["accept", "application/xml"],
    ["range", "bytes=0-0"],
    ["if-none-match", "*"],
    ["expect", "100-continue"],
    ["cookie", "a=b"],
  ),
  fc.tuple(
    fc.constantFrom("content-type", "authorization", "last-event-id", "accept", "x-other"),
    headerText,
  ),
);

/** A refusal may say what it did not find or does not know; texts of prompts and mail are no names. */
const wildName = wildText.map((text) => text.replaceAll(canary, "x"));

/** Requests to one operation: what it asks for, nearly that, and anything. `token`: shown by most of them. */
export function callsTo(operation: Operation, document: Document, token: string | null): fc.Arbitrary<Call> {
  const resolve = (reference: string) => follow(document, reference) as Schema;
  const at = (place: string) => operation.parameters.filter((parameter) => parameter.in === place);
  const plain = (parameter: Parameter) =>
    validValue(parameter.schema, parameter.name, resolve).map((value) => String(value));
  const pathValue = ({ name }: Parameter): fc.Arbitrary<string> => {
    const known = fc.nat(20).map((nth) => knownValue(name, nth));
    return fc.oneof({ weight: 4, arbitrary: known }, { weight: 1, arbitrary: wildName });
  };
  const queryValue = (parameter: Parameter): fc.Arbitrary<string> => {
    const value = fc.oneof({ weight: 4, arbitrary: plain(parameter) }, wildText, wildNumber.map(String));
    // As in a path: one that names an agent is no secret.
    return parameter.name === "agent" ? value.map((text) => text.replaceAll(canary, "x")) : value;
  };
  const body =
    operation.body === null
      ? fc.option(fc.constantFrom<JsonValue>({}, null, { a: 1 }), { nil: undefined, freq: 8 })
      : fc.option(validValue(operation.body, "", resolve), { nil: undefined, freq: 30 });
  return fc.record({
    operation: fc.constant(operation.operationId),
    method: fc.oneof(
      { weight: 30, arbitrary: fc.constant(operation.method) },
      fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
    ),
    path: fc.oneof(
      { weight: 40, arbitrary: fc.constant(operation.path) },
      fc.constantFrom(
        `${operation.path}/`,
        `/${operation.path}`,
        operation.path.toUpperCase(),
        `${operation.path}/x`,
      ),
    ),
    parameters: fc.record(Object.fromEntries(at("path").map((one) => [one.name, pathValue(one)]))),
    query: fc
      .tuple(
        fc.record(Object.fromEntries(at("query").map((one) => [one.name, queryValue(one)])), {
          requiredKeys: [],
        }),
        fc.array(fc.tuple(wildName, wildText), { maxLength: 1 }),
        fc.nat(9),
      )
      .map(([given, more, odd]): [string, string][] => [
        ...Object.entries(given).map(([name, value]): [string, string] => [name, String(value)]),
        ...(odd === 0 ? more : []),
      ]),
    headers: fc.array(oddHeaders, { maxLength: 1 }).chain((odd) =>
      fc.nat(5).map(
        (dice): Record<string, string> => ({
          "content-type": "application/json",
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(dice === 0 ? Object.fromEntries(odd) : {}),
        }),
      ),
    ),
    body,
    mutations: fc.oneof(
      { weight: 2, arbitrary: fc.constant<Mutation[]>([]) },
      { weight: 1, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 2 }) },
    ),
    spoil: fc.oneof(
      { weight: 20, arbitrary: fc.constant("no" as const) },
      fc.constantFrom("cut", "trailing", "twice", "nested", "mark", "empty"),
    ),
  });
}

/** The call as it goes out. `look` gives a value that an earlier answer told under a name. */
export function toRequest(
  call: Call,
  look: (name: string, nth: number) => string,
): { path: string; init: RequestInit & { headers: Record<string, string> } } {
  const filled = call.path.replace(/\{(\w+)\}/gi, (_, name: string) => {
    const given = call.parameters[name.toLowerCase()] ?? "";
    return encodeURIComponent(String(resolveKnown(given, look)).toWellFormed());
  });
  const query = call.query
    .map(
      ([name, value]) =>
        `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(value.toWellFormed())}`,
    )
    .join("&");
  const bodiless = call.method === "GET" || call.method === "HEAD" || call.body === undefined;
  const headers = { ...call.headers };
  if (bodiless) delete headers["content-type"];
  return {
    path: query === "" ? filled : `${filled}?${query}`,
    init: {
      method: call.method,
      headers,
      ...(bodiless ? {} : { body: spoiled(resolveKnown(changed(call), look), call.spoil) }),
    },
  };
}

const changed = ({ body = null, mutations }: Call): JsonValue =>
  confidential(mutations.reduce(mutate, body), false);

/**
 * Fields whose text belongs to nobody but the agent and its mail, and those that name something of the mail.
 */
const confidentialNames =
  /^(?:prompt|body_content|subject|text|token|content|sequence|appendix_text|notify_block_shared_tokens|to|cc|box|destination_box|message_refs?|since|cursor|query|label)$/;

/** The canary stays in confidential fields alone: a refusal may name a field or a file. */
function confidential(value: JsonValue, kept: boolean): JsonValue {
  if (typeof value === "string") return kept ? value : value.replaceAll(canary, "x");
  if (Array.isArray(value)) return value.map((one) => confidential(one, kept));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name.replaceAll(canary, "x"),
      confidential(one, kept || confidentialNames.test(name)),
    ]),
  );
}

function spoiled(value: JsonValue, spoil: Call["spoil"]): string {
  const text = JSON.stringify(value);
  switch (spoil) {
    case "no":
      return text;
    case "cut":
      return text.slice(0, Math.floor(text.length / 2));
    case "trailing":
      return `${text},`;
    case "twice":
      return text + text;
    case "nested":
      return "[".repeat(5000) + "]".repeat(5000);
    case "mark":
      return `\ufeff${text}`;
    case "empty":
      return "";
  }
}
