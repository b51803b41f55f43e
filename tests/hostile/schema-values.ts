import fc from "fast-check";

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/** A JSON Schema as our documents hold them. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: JsonValue;
  enum?: JsonValue[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minItems?: number;
}

/**
 * Text of every prompt, mail and title that is sent: where it turns up in a refusal or a log, something
 * leaked.
 */
export const canary = "canary-0d9e71";

const knownMark = "\u0001known:";

/** Stands for the `nth` value that earlier answers gave under `name`, until `resolveKnown` puts it in. */
export const knownValue = (name: string, nth: number) => `${knownMark}${name}:${nth}`;

/** `value` with each stand-in replaced by what `look` finds for it. */
export function resolveKnown(value: JsonValue, look: (name: string, nth: number) => string): JsonValue {
  if (typeof value === "string") {
    const match = value.startsWith(knownMark) ? /^(.*):(\d+)$/.exec(value.slice(knownMark.length)) : null;
    return match ? look(match[1] ?? "", Number(match[2])) : value;
  }
  if (Array.isArray(value)) return value.map((one) => resolveKnown(one, look));
  if (value === null || typeof value !== "object") return value;
  // Through entries: a key `__proto__` stays a key.
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolveKnown(one, look)]));
}

const nasty = [
  "",
  " ",
  "\u0000",
  "\u001b[201~\r",
  "\u009b201~",
  "\ud800",
  "\udfff\ud800",
  "\u202e\u2066",
  "\ufeff",
  "a\r\nSet-Cookie: x=1",
  "../../../../etc/passwd",
  "..",
  ".",
  "/etc/passwd",
  "%2e%2e%2f",
  "a/b",
  "a\\b",
  "~",
  "$(id)",
  "`id`",
  "-x",
  "--help",
  "' OR 1=1 --",
  "%",
  "_",
  "__proto__",
  "constructor",
  "null",
  "1e999",
  "<[Enter]>",
  "<[Nope]>",
  "/clear",
  "```svc-notify\n\n```",
  "<script>",
  "SVC-operator@svc.localhost",
  "worker@svc.localhost",
  "other@svc.localhost",
  "@",
  "9999-12-31T23:59:59Z",
  "0000-00-00T00:00:00Z",
  "2026-01-01T00:00:00+99:99",
];

/** Any text: nasty ones, random ones, very long ones. All but the short ones hold the canary. */
export const wildText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...nasty) },
  { weight: 2, arbitrary: fc.constantFrom(...nasty).map((text) => `${canary} ${text} ${canary}`) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
  { weight: 1, arbitrary: fc.nat(9000).map((length) => `${canary}${"x".repeat(length)}`) },
);

export const wildNumber: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, -0, -1, 1.5, 1e300, -1e300, 2 ** 31, 2 ** 53, 2 ** 53 + 2, -(2 ** 63), 5e-324, 1e21),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

const deep = (levels: number, open: (inner: JsonValue) => JsonValue): JsonValue => {
  let value: JsonValue = null;
  for (let level = 0; level < levels; level++) value = open(value);
  return value;
};

/** Any JSON value at all. */
const wildValue: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 4, arbitrary: wildText },
  { weight: 3, arbitrary: wildNumber },
  { weight: 2, arbitrary: fc.constantFrom<JsonValue>(null, true, false, [], {}, [[]], [null]) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue> },
  { weight: 1, arbitrary: fc.nat(300).map((levels) => deep(levels, (inner) => [inner])) },
  { weight: 1, arbitrary: fc.nat(300).map((levels) => deep(levels, (inner) => ({ a: inner }))) },
  { weight: 1, arbitrary: fc.nat(300).map((length) => new Array<JsonValue>(length).fill(canary)) },
);

const plainText = fc.constantFrom(canary, `${canary}\nsecond line`, `say ${canary} ✓`, "/compact", "a");

/** Names whose values earlier answers told, in the singular. */
const knownName = (name: string) => name.replace(/_refs$/, "_ref");

/** Texts that a field of this name wants. */
function textFor(name: string): fc.Arbitrary<string> {
  const known = fc.nat(20).map((nth) => knownValue(knownName(name), nth));
  if (/(?:_id|_refs?|Id)$/.test(name)) return fc.oneof({ weight: 4, arbitrary: known }, plainText);
  if (["to", "cc", "address"].includes(name)) {
    return fc.constantFrom("worker@svc.localhost", "other@svc.localhost", "other@svc.localhost");
  }
  if (name === "sequence") return fc.constantFrom("y<[Enter]>", "<[Escape]>", canary);
  if (/_utc$|^since$/.test(name))
    return fc.constantFrom("2026-01-01T00:00:01Z", "2030-01-01T00:00:00.5+00:00");
  if (name === "box" || name === "destination_box")
    return fc.constantFrom("inbox", "archive", "sent", "work");
  if (name === "title") return fc.constantFrom("tea", "a title", "✓");
  if (name === "scheme") return fc.constantFrom("none", "shared-token");
  return plainText;
}

/**
 * Values that the schema allows, as far as it tells; a service may have more rules. `name`: of the field,
 * which tells what its texts mean.
 */
export function validValue(
  schema: Schema,
  name: string,
  resolve: (reference: string) => Schema,
  depth = 0,
): fc.Arbitrary<JsonValue> {
  const inner = (one: Schema, called = name) => validValue(one, called, resolve, depth + 1);
  if (schema.$ref !== undefined) return inner(resolve(schema.$ref));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => inner(one)));
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => inner({ ...schema, type })));
  switch (schema.type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number": {
      const above = schema.exclusiveMinimum === undefined ? -3 : schema.exclusiveMinimum + 1;
      const least = Math.ceil(schema.minimum ?? above);
      return fc.integer({ min: least, max: Math.min(schema.maximum ?? least + 2000, least + 2000) });
    }
    case "string":
      return textFor(name);
    case "array":
      return depth > 12
        ? fc.constant([])
        : fc.array(schema.items ? inner(schema.items) : plainText, {
            minLength: schema.minItems ?? 0,
            maxLength: 3,
          });
    case "object": {
      const required = schema.required ?? [];
      // Most rules across fields are about optional ones: few of them at a time are more often allowed.
      const fields = Object.entries(schema.properties ?? {}).map(([key, one]) => {
        const value = inner(one, key);
        return [
          key,
          required.includes(key)
            ? value
            : fc.nat(3).chain((dice) => (dice === 0 ? value : fc.constant(undefined))),
        ] as const;
      });
      return fc
        .record(Object.fromEntries(fields))
        .map(
          (made) =>
            Object.fromEntries(Object.entries(made).filter(([, one]) => one !== undefined)) as JsonValue,
        );
    }
    default:
      return fc.constantFrom<JsonValue>(canary, null, 1, { svc: {} }, []);
  }
}

/** A change of one place of a value, chosen by numbers so that it can be repeated on any value. */
export interface Mutation {
  kind: "replace" | "remove" | "add";
  place: number;
  key: string;
  value: JsonValue;
}

export const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom("replace", "replace", "remove", "add"),
  place: fc.nat(200),
  key: fc.constantFrom(
    "extra",
    "__proto__",
    "constructor",
    "toString",
    "schema_version",
    "",
    "a.b",
    "\u0000",
  ),
  value: wildValue,
});

/** `value` with the mutation made; the original stays as it is. */
export function mutate(value: JsonValue, { kind, place, key, value: put }: Mutation): JsonValue {
  const places = pathsOf(value);
  const path = places[place % places.length] ?? [];
  const change = (at: JsonValue, left: readonly (string | number)[]): JsonValue | undefined => {
    const [first, ...rest] = left;
    if (first === undefined) {
      if (kind === "remove") return undefined;
      if (kind === "replace") return put;
      if (Array.isArray(at)) return [...at, put];
      return at !== null && typeof at === "object" ? withKey(at, key, put) : put;
    }
    if (Array.isArray(at)) {
      return at.flatMap((one, index) => (index === first ? (change(one, rest) ?? []) : [one])) as JsonValue[];
    }
    const entries = Object.entries(at as Record<string, JsonValue>).flatMap(([name, one]) => {
      const changed = name === first ? change(one, rest) : one;
      return changed === undefined ? [] : [[name, changed] as const];
    });
    return Object.fromEntries(entries);
  };
  return change(value, path) ?? null;
}

function withKey(object: { [key: string]: JsonValue }, key: string, put: JsonValue): JsonValue {
  return Object.fromEntries([...Object.entries(object), [key, put]]);
}

function pathsOf(value: JsonValue, path: (string | number)[] = []): (string | number)[][] {
  if (value === null || typeof value !== "object") return [path];
  const children = Array.isArray(value) ? value.entries() : Object.entries(value);
  return [path, ...[...children].flatMap(([key, one]) => pathsOf(one, [...path, key]))];
}
