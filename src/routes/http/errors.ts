import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { Elysia } from "elysia";
import { addSentence, type Remedy, remedyOf, toRemedyRecord } from "../../protocol/remedy.ts";
import {
  type ErrorBody,
  maxFindings,
  outcomeUnknownStatus,
  shortList,
  type ValidationIssue,
  visiblePattern,
} from "../../protocol/wire.ts";
import { ServiceError, type ServiceErrorCode } from "../../system/errors.ts";
import { tellStorageFault } from "../../system/storage-fault.ts";
import { type Route, routesAt } from "./route.ts";

/** The HTTP status of each reason (ruling 9). */
const statusByReason: Record<ServiceErrorCode, number> = {
  invalid_request: 422,
  too_large: 413,
  not_found: 404,
  conflict: 409,
  ambiguous: 409,
  blocked_reconciliation: 409,
  unavailable: 503,
  unsupported: 422,
  headless_only: 400,
  not_implemented: 501,
  dispatch_failed: 422,
  transport_failed: 502,
  outcome_unknown: outcomeUnknownStatus,
  precondition_failed: 409,
};

export interface FaultReporter {
  /** Logs an unexpected fault; returns the id that the caller gets. */
  report(error: unknown): string;
}

/**
 * Turns every error into a body of the contract: `{detail}` with the status of its reason, 422 with the
 * findings of the validation, 405 for a known path with another method, 503 with an id when files cannot be
 * used, and 500 with an id for an unforeseen error, whose message stays in the log. `routes` is a function
 * because routes are added later.
 */
export function httpErrors(deps: {
  faults: FaultReporter;
  /** A remedy as a sentence, for callers that do not know its code. */
  advice: (remedy: Remedy) => string;
  routes: () => readonly Route[];
}) {
  return new Elysia({ name: "http-errors" }).onError({ as: "global" }, ({ code, error, path, set }) => {
    const reply = (status: number, body: unknown) => {
      set.status = status;
      return body;
    };
    const refusal = serviceErrorOf(error);
    if (refusal) {
      const issues = refusal.data?.["issues"];
      if (Array.isArray(issues)) {
        return reply(statusByReason[refusal.reason], { detail: inBody(issues.slice(0, maxFindings)) });
      }
      const candidates = refusal.data?.["agent_ids"];
      const remedy = remedyOf(refusal);
      const body: ErrorBody = {
        detail: remedy === null ? refusal.message : addSentence(refusal.message, deps.advice(remedy)),
        ...(remedy === null ? {} : { remedy: toRemedyRecord(remedy) }),
        ...(Array.isArray(candidates)
          ? { agent_ids: candidates.slice(0, shortList.maxItems).map(String) }
          : {}),
      };
      return reply(statusByReason[refusal.reason], body);
    }
    if (code === "VALIDATION" && error.type !== "response") return reply(422, { detail: toIssues(error) });
    if (code === "PARSE") {
      return reply(422, {
        detail: [{ type: "json_invalid", loc: ["body"], msg: "the body is not valid JSON" }],
      });
    }
    if (code === "NOT_FOUND") {
      const allowed = [...new Set(routesAt(deps.routes(), path).map((route) => route.method))].sort();
      if (allowed.length === 0) return reply(404, { detail: "no such route" });
      set.headers["allow"] = allowed.join(", ");
      return reply(405, { detail: `method not allowed here; use ${allowed.join(" or ")}` });
    }
    const error_id = deps.faults.report(error);
    const storage = tellStorageFault(error);
    return storage
      ? reply(503, { detail: storage, error_id })
      : reply(500, { detail: "internal error", error_id });
  });
}

/** Findings of a service about a body, with `body` as the first part of each `loc`. */
export function inBody(issues: ValidationIssue[]): ValidationIssue[] {
  return issues.map((issue) => ({ ...issue, loc: ["body", ...issue.loc] }));
}

/** A refusal thrown while a body was read arrives wrapped as the cause of a parse error. */
export function serviceErrorOf(error: unknown): ServiceError | null {
  if (error instanceof ServiceError) return error;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof ServiceError ? cause : null;
}

interface ValidationFault {
  /** `body`, `query`, `params`, ... */
  type: string;
  all: readonly unknown[];
}

const locationNames: Record<string, string> = { params: "path" };

/**
 * The findings about a request, without any of its content (ruling 9). For a union they are the findings of
 * the branch with the matching discriminator. At most `maxFindings`, in the order of the schema.
 */
export function toIssues(fault: ValidationFault): ValidationIssue[] {
  const root = locationNames[fault.type] ?? fault.type;
  const errors = (fault.all as ValueError[]).filter((error) => error && "schema" in error).flatMap(resolve);
  const seen = new Set<string>();
  const issues: ValidationIssue[] = [];
  for (const error of errors) {
    const loc = [root, ...error.path.split("/").slice(1).map(decode)];
    const key = loc.join("/");
    // One key yields several findings ("required", then "expected string"); the first says it all.
    if (seen.has(key)) continue;
    seen.add(key);
    issues.push({ type: typeOf(error), loc, msg: ruleOf(error) });
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
  const undecided = branches.filter((branch) => !discriminator(branch));
  // A number in a query has a branch for text too: report the range of the number, not the form of the text.
  const isOfType = (branch: ValueError[]) =>
    branch.every((one) => one.path !== error.path || !otherType.has(one.type));
  const chosen = undecided.find(isOfType) ?? undecided[0];
  if (chosen) return chosen.flatMap(resolve);
  const kinds = branches.map(discriminator).filter((one) => one !== undefined);
  const first = kinds[0];
  if (!first) return [error];
  return [{ ...first, message: `expected one of ${words(kinds.map((one) => one.schema["const"]))}` }];
}

const otherType: ReadonlySet<ValueErrorType> = new Set([
  ValueErrorType.String,
  ValueErrorType.Number,
  ValueErrorType.Integer,
  ValueErrorType.Boolean,
  ValueErrorType.Array,
  ValueErrorType.Object,
  ValueErrorType.Null,
]);

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

function ruleOf(error: ValueError): string {
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

/** A key that the caller chose may be as long as the body. */
const maxKeyChars = 200;

function decode(part: string): string | number {
  const text = part.slice(0, maxKeyChars).replaceAll("~1", "/").replaceAll("~0", "~");
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}
