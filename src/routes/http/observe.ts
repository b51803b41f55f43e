import { Elysia } from "elysia";
import type { ValidationIssue } from "../../protocol/wire.ts";
import type { Diagnostic } from "../../services/diagnostics/diagnostic-log.ts";
import type { Clock } from "../../system/clock.ts";
import type { Ids } from "../../system/ids.ts";
import { inBody, serviceErrorOf, toIssues } from "./errors.ts";
import { pathOf, type Route, routesAt } from "./route.ts";

/** A handler of requests. */
export type Fetch = (request: Request) => Response | Promise<Response>;

/** The error of one request. */
type RequestError =
  | { kind: "invalid"; findings: Pick<ValidationIssue, "type" | "loc">[] }
  | { kind: "failed"; category: string };

export interface HttpObservation {
  /** The app uses it before its error handler. */
  plugin: Elysia;
  /** The handler of the app, which also records a diagnostic of each request. */
  around(app: { fetch: Fetch; routes: readonly Route[] }): Fetch;
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/**
 * Records one diagnostic for every request: `gateway.http_validation_failed` or `gateway.http_request_failed`
 * for an error, else `gateway.http_request_completed`, so that repeated failures can be counted as one run. A
 * diagnostic has the pattern of the route, never the URL, a header, a part of a body or an unknown key.
 * Source: spec/gateway.md "Diagnostics".
 */
export function observeHttp(deps: {
  clock: Clock;
  ids: Ids;
  record: (diagnostic: Diagnostic) => void;
}): HttpObservation {
  const { clock, ids, record } = deps;
  const errors = new WeakMap<Request, RequestError>();

  const plugin = new Elysia({ name: "http-observation", seed: deps }).onError(
    { as: "global" },
    ({ code, error, request }) => {
      const refusal = serviceErrorOf(error);
      const issues = refusal?.data?.["issues"];
      if (Array.isArray(issues)) {
        errors.set(request, { kind: "invalid", findings: inBody(issues).map(hideUnknownKeys) });
      } else if (refusal || code === "NOT_FOUND") {
        return;
      } else if (code === "PARSE") {
        errors.set(request, { kind: "invalid", findings: [{ type: "json_invalid", loc: ["body"] }] });
      } else if (code === "VALIDATION" && error.type !== "response") {
        errors.set(request, { kind: "invalid", findings: toIssues(error).map(hideUnknownKeys) });
      } else {
        const category =
          code === "VALIDATION" ? "reply_validation" : error instanceof Error ? error.name : "unknown";
        errors.set(request, { kind: "failed", category });
      }
    },
  );

  return {
    plugin: plugin as unknown as Elysia,
    around: (app) => async (request) => {
      const startedMs = clock.monotonicMs();
      const response = await app.fetch(request);
      const path = routesAt(app.routes, pathOf(request.url))[0]?.path ?? "(no such route)";
      const method = methods.has(request.method) ? request.method : "OTHER";
      const facts = {
        method,
        path,
        status_code: response.status,
        duration_ms: Math.round((clock.monotonicMs() - startedMs) * 1000) / 1000,
        request_id: `http-${ids.hex(4)}`,
      };
      record(toDiagnostic(facts, errors.get(request) ?? null));
      return response;
    },
  };
}

interface HttpFacts {
  method: string;
  path: string;
  status_code: number;
  duration_ms: number;
  request_id: string;
}

function toDiagnostic(facts: HttpFacts, error: RequestError | null): Diagnostic {
  const { method, path, status_code } = facts;
  const about = (event: string, what: string) => ({
    event,
    dedupKey: `${event} ${method} ${path} ${what}`,
  });
  if (error?.kind === "invalid") {
    const { findings } = error;
    return {
      ...about("gateway.http_validation_failed", JSON.stringify(findings)),
      level: "warning",
      fields: { ...facts, error_count: findings.length, validation_errors: findings },
    };
  }
  if (error?.kind === "failed") {
    return {
      ...about("gateway.http_request_failed", error.category),
      level: "error",
      fields: { ...facts, error_category: error.category },
    };
  }
  return {
    ...about("gateway.http_request_completed", String(status_code)),
    level: status_code >= 500 ? "error" : status_code >= 400 ? "warning" : "info",
    fields: { ...facts },
  };
}

/** Leaves out unknown keys, which are text of the caller. */
function hideUnknownKeys({ type, loc }: ValidationIssue): Pick<ValidationIssue, "type" | "loc"> {
  return { type, loc: type === "extra_forbidden" ? [...loc.slice(0, -1), "*"] : loc };
}
