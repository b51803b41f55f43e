import { Elysia } from "elysia";
import { type ErrorBody, maxFindings, shortList, type ValidationIssue } from "../../protocol/wire.ts";
import { messageOf, ServiceError, type ServiceErrorCode } from "../../system/errors.ts";
import { tellStorageFault } from "../../system/storage-fault.ts";
import { toIssues } from "./issues.ts";
import { type Route, routesAt } from "./routes-at.ts";

/** The one place where a reason becomes a status (ruling 9). */
const statusOf: Record<ServiceErrorCode, number> = {
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
  precondition_failed: 409,
};

export interface FaultReporter {
  /** Logs an unexpected fault; returns the id that the caller gets. */
  report(error: unknown): string;
}

/**
 * Turns everything that can go wrong into the contract's bodies: `{detail}` with the reason's status, 422 with a
 * list for validation, 405 for a known path with another method, 503 with an id when files cannot be used, 500 with an
 * id for anything unforeseen, whose message stays in the log. `routes` is asked late because routes are added after this.
 */
export function httpErrors(deps: { faults: FaultReporter; routes: () => readonly Route[] }) {
  return new Elysia({ name: "http-errors" }).onError({ as: "global" }, ({ code, error, path, set }) => {
    const reply = (status: number, body: unknown) => {
      set.status = status;
      return body;
    };
    const refusal = serviceErrorOf(error);
    if (refusal) {
      const issues = refusal.data?.["issues"];
      if (Array.isArray(issues)) {
        return reply(statusOf[refusal.reason], { detail: inBody(issues.slice(0, maxFindings)) });
      }
      const candidates = refusal.data?.["agent_ids"];
      const body: ErrorBody = {
        detail: refusal.message,
        ...(Array.isArray(candidates)
          ? { agent_ids: candidates.slice(0, shortList.maxItems).map(String) }
          : {}),
      };
      return reply(statusOf[refusal.reason], body);
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

/** Findings of a service about a body, each `loc` from there down. */
export function inBody(issues: ValidationIssue[]): ValidationIssue[] {
  return issues.map((issue) => ({ ...issue, loc: ["body", ...issue.loc] }));
}

/** A refusal thrown while a body was read arrives wrapped as the cause of a parse error. */
export function serviceErrorOf(error: unknown): ServiceError | null {
  if (error instanceof ServiceError) return error;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof ServiceError ? cause : null;
}

/** What the log keeps of a fault: its message on one line and its stack. */
export function describeFault(error: unknown): { message: string; stack: string | null } {
  return { message: messageOf(error), stack: error instanceof Error ? (error.stack ?? null) : null };
}
