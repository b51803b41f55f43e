import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { maxFindings, type ValidationIssue, visiblePattern } from "../../protocol/wire.ts";

interface ValidationFault {
  /** `body`, `query`, `params`, ... */
  type: string;
  all: readonly unknown[];
}

const places: Record<string, string> = { params: "path" };

/**
 * What was wrong with a request, without a word of what it held (ruling 9). Of a union, the findings are those of
 * the branch whose discriminator matched. At most `maxFindings`, in the order of the schema.
 */
export function toIssues(fault: ValidationFault): ValidationIssue[] {
  const root = places[fault.type] ?? fault.type;
  const found = (fault.all as ValueError[]).filter((error) => error && "schema" in error).flatMap(resolve);
  const seen = new Set<string>();
  const issues: ValidationIssue[] = [];
  for (const error of found) {
    const loc = [root, ...error.path.split("/").slice(1).map(decode)];
    const key = loc.join("/");
    // One key yields several findings ("required", then "expected string"); the first says it all.
    if (seen.has(key)) continue;
    seen.add(key);
    issues.push({ type: typeOf(error), loc, msg: messageOf(error) });
  }
  return issues.length > 0
    ? issues.slice(0, maxFindings)
    : [{ type: "value_error", loc: [root], msg: "does not have the expected shape" }];
}

function resolve(error: ValueError): ValueError[] {
  if (error.type !== ValueErrorType.Union) return [error];
  const branches = error.errors.map((branch) => [...branch]);
  const literals = branches.flatMap((branch) =>
    branch.every((one) => one.type === ValueErrorType.Literal && one.path === error.path)
      ? branch.map((one) => one.schema["const"])
      : [],
  );
  if (literals.length === branches.length) {
    return [{ ...error, type: ValueErrorType.Literal, message: `expected one of ${words(literals)}` }];
  }
  const discriminator = (branch: ValueError[]) =>
    branch.find(
      (one) =>
        one.type === ValueErrorType.Literal &&
        one.path.split("/").length === error.path.split("/").length + 1,
    );
  const chosen = branches.find((branch) => !discriminator(branch));
  if (chosen) return chosen.flatMap(resolve);
  const kinds = branches.map(discriminator).filter((one) => one !== undefined);
  const first = kinds[0];
  if (!first) return [error];
  return [{ ...first, message: `expected one of ${words(kinds.map((one) => one.schema["const"]))}` }];
}

function words(values: unknown[]): string {
  return [...new Set(values.map((value) => JSON.stringify(value)))].join(", ");
}

function typeOf(error: ValueError): string {
  switch (error.type) {
    case ValueErrorType.ObjectRequiredProperty:
      return "missing";
    case ValueErrorType.ObjectAdditionalProperties:
      return "extra_forbidden";
    case ValueErrorType.Literal:
      return "literal_error";
    case ValueErrorType.Integer:
      return "int_type";
    case ValueErrorType.Number:
      return "number_type";
    case ValueErrorType.String:
      return "string_type";
    case ValueErrorType.Boolean:
      return "bool_type";
    case ValueErrorType.Array:
      return "list_type";
    case ValueErrorType.Object:
      return "object_type";
    default:
      return "value_error";
  }
}

function messageOf(error: ValueError): string {
  switch (error.type) {
    case ValueErrorType.ObjectRequiredProperty:
      return "is required";
    case ValueErrorType.ObjectAdditionalProperties:
      return "is not a known field";
    case ValueErrorType.StringPattern:
      return error.schema["pattern"] === visiblePattern
        ? "must not be blank"
        : "does not have the expected form";
    default:
      return error.message.charAt(0).toLowerCase() + error.message.slice(1);
  }
}

/** A key of the caller's own may be as long as the body. */
const maxKeyChars = 200;

function decode(part: string): string | number {
  const text = part.slice(0, maxKeyChars).replaceAll("~1", "/").replaceAll("~0", "~");
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}
