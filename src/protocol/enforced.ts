/**
 * Rules of a request field that a service enforces with a refusal. Validation ignores the key `enforced` of a
 * schema; the OpenAPI documents merge its rules into the schema.
 */
export function enforced(rules: Record<string, unknown>): { enforced: Record<string, unknown> } {
  return { enforced: rules };
}

const control = "\\x00-\\x1f\\x7f-\\x9f";
/** The days of these years, February with its leap days. */
const days = (year: string, leapYear: string) =>
  [
    `${year}-(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])`,
    `${year}-(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)`,
    `${year}-02-(?:0[1-9]|1[0-9]|2[0-8])`,
    `${leapYear}-02-29`,
  ].join("|");
const leapInCentury = "(?:0[48]|[2468][048]|[13579][26])";
const day = days("[0-9]{4}", `(?:[0-9]{2}${leapInCentury}|(?:[02468][048]|[13579][26])00)`);
/** 1970 to 5999, so that a time plus the longest interval is still valid. */
const dueDay = days(
  "(?:19[7-9][0-9]|[2-5][0-9]{3})",
  `(?:19(?:7[26]|8[048]|9[26])|[2-5][0-9]${leapInCentury}|(?:2[048]|3[26]|4[048]|5[26])00)`,
);
const minute = "(?:[01][0-9]|2[0-3]):[0-5][0-9]";
const offset = `(?:[Zz]|[+-]${minute})`;

/** Patterns of JSON Schema. Character classes list blanks, so that every dialect reads them the same. */
export const patterns = {
  /** RFC 3339 with its offset. */
  time: `^(?:${day})[Tt ]${minute}:[0-5][0-9](?:\\.[0-9]+)?${offset}$`,
  /** A time from 1970 to 5999 in any precision; UTC without an offset. */
  dueTime: `^(?:${dueDay})[Tt ]${minute}(?::[0-5][0-9](?:\\.[0-9]+)?)?${offset}?$`,
  /** Minute, hour, day of month, month, day of week; the service checks the values. */
  cron: "^[0-9A-Za-z*,/-]+(?: +[0-9A-Za-z*,/-]+){4}$",
  address:
    "^ *[A-Za-z0-9](?:[A-Za-z0-9_+-]|\\.[A-Za-z0-9_+-])*\\.?@[A-Za-z0-9]+(?:(?:-+|\\.-*|-+\\.-*)[A-Za-z0-9]+)* *$",
  /** A file name except `.`, `..` and the names of the mailbox database. */
  box: `^(?!mailbox\\.sqlite)(?!\\.{1,2}$)[^\\s\\ufeff/\\\\${control}](?:[^/\\\\${control}]*[^\\s\\ufeff/\\\\${control}])?$`,
  messageRef: "^(?:(?:filesystem|jmap):)?[A-Za-z0-9._-]+$",
  cursor: "^[A-Za-z0-9_-]+$",
  absolutePath: "^/[^\\x00]*$",
  /** One line with at least one visible character. */
  line: `^[^${control}\\u2028\\u2029]*[^\\s\\ufeff${control}][^${control}\\u2028\\u2029]*$`,
  withoutNul: "^[^\\x00]*$",
  chatSessionId: `^[^-\\s\\ufeff${control}][^\\s\\ufeff${control}]*$`,
} as const;

/** A moment in a query: RFC 3339 with its offset. */
export const moment = { pattern: patterns.time, maxLength: 40 } as const;

const keys = "Enter|Escape|Tab|BSpace|Up|Down|Left|Right|C-c|C-d|C-u|C-z";
/** Text in which every `<[name]>` names a key. */
export const keySequencePattern = `^(?:<\\[(?:${keys})\\]>|(?!<\\[[^\\s<>\\[\\]]+\\]>)[\\s\\S])*$`;

/**
 * A field that is not null. An object schema allows properties, since generated clients take a schema without
 * properties for an empty object.
 */
const nonNull = (type: string) => ({ type, ...(type === "object" ? { additionalProperties: true } : {}) });
const absent = { type: "null" };

/** Exactly one of two fields is given; null is absent. */
export function exactlyOne(first: [name: string, type: string], second: [name: string, type: string]) {
  const only = ([name, type]: [string, string], [other]: [string, string]) => ({
    required: [name],
    properties: { [name]: nonNull(type), [other]: absent },
  });
  return { anyOf: [only(first, second), only(second, first)] };
}

/** At least one of these fields is given; null is absent. */
export function atLeastOne(names: readonly string[], type: string) {
  return { anyOf: names.map((name) => ({ required: [name], properties: { [name]: nonNull(type) } })) };
}
