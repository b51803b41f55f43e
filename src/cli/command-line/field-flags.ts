import type { Static, TLiteral, TObject, TSchema, TUnion } from "@sinclair/typebox";
import { visiblePattern } from "../../protocol/wire.ts";
import { type Flag, type OfferedValues, UsageError } from "./command.ts";
import { givenFields } from "./flag-values.ts";

/** How the flag of a field differs from what follows from its schema. */
export interface FieldFlag {
  /** Default: the name of the field in kebab case. */
  readonly flag?: string;
  /** Default: the description in the schema. */
  readonly description?: string;
  readonly valueHint?: string;
  readonly offers?: OfferedValues;
  readonly required?: true;
  /** `--x yes` and `--x no` for a boolean that can be set and cleared; without it `--x` sets it. */
  readonly form?: "yes or no";
}

export type Differences<S extends TObject> = { readonly [Field in keyof S["properties"]]?: FieldFlag | null };
type Fields<S extends TObject, O> = Exclude<
  keyof S["properties"] & string,
  "schema_version" | { [Field in keyof O]: O[Field] extends null ? Field : never }[keyof O]
>;
type Kebab<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}-${Kebab<Tail>}`
  : Name;
type DifferenceOf<O, Field> = Field extends keyof O ? O[Field] : unknown;
type FlagName<O, Field extends string> =
  DifferenceOf<O, Field> extends { flag: infer Name extends string } ? Name : Kebab<Field>;
type Required<D> = D extends { required: true } ? { required: true } : unknown;
type FlagOf<V, D> = (D extends { form: "yes or no" }
  ? { type: "enum"; options: readonly ("yes" | "no")[] }
  : [V] extends [boolean]
    ? { type: "boolean" }
    : [V] extends [readonly unknown[]]
      ? { type: "string"; multiple: true }
      : [V] extends [string]
        ? string extends V
          ? { type: "string" }
          : { type: "enum"; options: readonly V[] }
        : { type: "string" }) &
  Required<D> & { description: string };

type ValueOf<S extends TObject, Field extends keyof S["properties"]> = Exclude<
  Static<S["properties"][Field]>,
  null | undefined
>;

/** The flags that set the fields of a body or a query. */
interface FieldFlags<S extends TObject, O> {
  readonly flags: {
    [Field in Fields<S, O> as FlagName<O, Field>]: FlagOf<ValueOf<S, Field>, DifferenceOf<O, Field>>;
  };
  /**
   * The fields whose flags were given, each under its name after `prefix`. Throws UsageError for a value that
   * the schema refuses. Pure.
   */
  read(args: Readonly<Record<string, unknown>>, prefix?: string): GivenFields<S, O>;
}

type IsRequired<O, Field> = DifferenceOf<O, Field> extends { required: true } ? true : false;
type GivenFields<S extends TObject, O> = {
  [Field in Fields<S, O> as IsRequired<O, Field> extends true ? Field : never]: ValueOf<S, Field>;
} & {
  [Field in Fields<S, O> as IsRequired<O, Field> extends true ? never : Field]?: ValueOf<S, Field>;
};

/**
 * A flag for each field of `schema` but its version: name, kind, range, default and help come from the schema.
 * `differences` says where a flag differs; null leaves a field without one.
 */
export function fieldFlags<S extends TObject, const O extends Differences<S> = Record<never, never>>(
  schema: S,
  differences: O = {} as O,
): FieldFlags<S, O> {
  const names = Object.keys(schema.properties);
  const entries = Object.entries<TSchema>(schema.properties)
    .map(([field, property]) => {
      const difference = (differences as Record<string, FieldFlag | null | undefined>)[field];
      return { field, property: withoutNull(property), difference };
    })
    .filter(({ field, difference }) => field !== "schema_version" && difference !== null)
    .map(({ field, property, difference }) => {
      const name = difference?.flag ?? field.replaceAll("_", "-");
      const flag = toFlag(field, property, difference ?? {});
      return { field, property, name, flag: { ...flag, description: nameFlags(flag.description, names) } };
    });
  return {
    flags: Object.fromEntries(entries.map(({ name, flag }) => [name, flag])) as FieldFlags<S, O>["flags"],
    read: (args, prefix = "") =>
      givenFields(
        Object.fromEntries(
          entries.map(({ field, property, name, flag }) => [
            field,
            toValue(prefix + name, property, flag, args[prefix + name]),
          ]),
        ),
      ) as ReturnType<FieldFlags<S, O>["read"]>,
  };
}

/** The flag of a closed set of words, for a command that applies the default itself. */
export function wordFlag<S extends TUnion<TLiteral<string>[]>>(
  schema: S,
  preset: Static<S> = schema["default"],
): { type: "enum"; options: readonly Static<S>[]; description: string; default: Static<S> } {
  return {
    type: "enum",
    options: wordsOf(schema) ?? [],
    description: schema.description ?? "",
    default: preset,
  };
}

function withoutNull(schema: TSchema): TSchema {
  const choices = (schema["anyOf"] as TSchema[] | undefined)?.filter(({ type }) => type !== "null");
  if (choices?.length !== 1 || choices[0] === undefined) return schema;
  const description = schema.description ?? choices[0].description;
  return description === undefined ? choices[0] : { ...choices[0], description };
}

/** The words of a closed set; null for any other schema. */
function wordsOf(schema: TSchema): string[] | null {
  const words = ((schema["anyOf"] ?? []) as TSchema[]).map((choice) => choice["const"] as unknown);
  return words.length > 0 && words.every((word) => typeof word === "string") ? (words as string[]) : null;
}

function toFlag(field: string, schema: TSchema, difference: FieldFlag): Flag {
  const { flag: _, form, ...given } = difference;
  const range = rangeOf(schema);
  const text = schema.description ?? field;
  const preset = schema["default"] === undefined || form ? "" : ` (default ${schema["default"]})`;
  const example = (schema["examples"] as string[] | undefined)?.[0];
  const such = example === undefined ? "" : `, such as "${example}"`;
  const own = { description: `${text}${such}${range === null ? "" : `; ${range}`}${preset}`, ...given };
  const words = form ? ["yes", "no"] : wordsOf(schema);
  if (words) return { ...own, type: "enum", options: words };
  if (schema["type"] === "boolean") return { type: "boolean", description: own.description };
  const isNumber = schema["type"] === "integer" || schema["type"] === "number";
  const unit = field.endsWith("_seconds") ? "SECONDS" : "N";
  const valueHint = isNumber ? unit : "TEXT";
  const multiple = schema["type"] === "array" ? ({ multiple: true } as const) : {};
  return { valueHint, ...own, ...multiple, type: "string" };
}

/** The words of a schema name its fields; the help of a command names the flags. */
function nameFlags(text: string, fields: readonly string[]): string {
  return fields.reduce(
    (words, field) =>
      words.replaceAll(
        field.includes("_") ? new RegExp(`\\b\`?${field}\`?\\b`, "g") : `\`${field}\``,
        `--${field.replaceAll("_", "-")}`,
      ),
    text,
  );
}

/** Beyond this a bound is no news to anybody. */
const largestBound = 1e9;

/** "from 1 to 1000", "from 1", "above 0"; null where the schema has no bound worth a word. */
function rangeOf({ minimum, maximum, exclusiveMinimum }: TSchema): string | null {
  const isBound = (value: unknown): value is number =>
    typeof value === "number" && Math.abs(value) <= largestBound;
  if (isBound(minimum) && isBound(maximum)) return `from ${minimum} to ${maximum}`;
  if (isBound(exclusiveMinimum)) return `above ${exclusiveMinimum}`;
  return isBound(minimum) ? `from ${minimum}` : null;
}

/** What a flag says as the value of its field; undefined for a flag that was not given. */
function toValue(name: string, schema: TSchema, flag: Flag, given: unknown): unknown {
  if (given === undefined || given === false) return undefined;
  if (flag.type === "enum" && schema["type"] === "boolean") return given === "yes";
  if (Array.isArray(given)) return given.length === 0 ? undefined : given;
  if (typeof given !== "string") return given;
  const choices = (schema["anyOf"] ?? [schema]) as TSchema[];
  const number = choices.find(({ type }) => type === "integer" || type === "number");
  const isText = choices.some(({ type }) => type === "string");
  if (number && !(isText && !/^\d+$/.test(given))) return toNumber(name, number, given);
  const { pattern, maxLength }: Partial<TSchema> = choices.find(({ type }) => type === "string") ?? {};
  if (pattern === visiblePattern && given.trim() === "") throw new UsageError(`--${name} is empty`);
  if (typeof maxLength === "number" && given.length > maxLength) {
    throw new UsageError(`--${name} has ${given.length} characters; at most ${maxLength} are taken`);
  }
  return given;
}

function toNumber(name: string, schema: TSchema, text: string): number {
  const isWhole = schema["type"] === "integer";
  const value = Number(text);
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity } = schema;
  const fits = value >= minimum && value <= maximum && value > exclusiveMinimum;
  if ((isWhole ? /^-?\d+$/ : /\S/).test(text) && Number.isFinite(value) && fits) return value;
  const range = rangeOf(schema);
  throw new UsageError(
    `--${name} must be a ${isWhole ? "whole number" : "number"}${range === null ? "" : ` ${range}`}, not "${text}"`,
  );
}
