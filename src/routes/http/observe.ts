import { Elysia } from "elysia";
import type { ValidationIssue } from "../../protocol/wire.ts";
import type { Diagnostic } from "../../services/diagnostics/diagnostic-log.ts";
import type { Clock } from "../../system/clock.ts";
import type { Ids } from "../../system/ids.ts";
import { inBody, serviceErrorOf, toIssues } from "./errors.ts";
import { pathOf, type Route, routesAt } from "./route.ts";

/** An edge-style handler. */
export type Fetch = (request: Request) => Response | Promise<Response>;

/** What went wrong inside, for one request. */
type Mishap =
  | { kind: "invalid"; findings: Pick<ValidationIssue, "type" | "loc">[] }
  | { kind: "failed"; category: string };

export interface HttpObservation {
  /** Goes into the app before its error handler. */
  plugin: Elysia;
  /** The app's handler, observed. */
  around(app: { fetch: Fetch; routes: readonly Route[] }): Fetch;
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/**
 * Makes one diagnostic of every request: `gateway.http_request_completed`, or in its place
 * `gateway.http_validation_failed` or `gateway.http_request_failed`, so that a failure that repeats is a run.
 * It has the route's pattern, never the URL, no header and nothing of a body; an unknown key is not named
 * either. Source: spec/gateway.md "Diagnostics".
 */
export function observeHttp(deps: {
  clock: Clock;
  ids: Ids;
  record: (diagnostic: Diagnostic) => void;
}): HttpObservation {
  const { clock, ids, record } = deps;
  const mishaps = new WeakMap<Request, Mishap>();

  const plugin = new Elysia({ name: "http-observation", seed: deps }).onError(
    { as: "global" },
    ({ code, error, request }) => {
      const refusal = serviceErrorOf(error);
      const issues = refusal?.data?.["issues"];
      if (Array.isArray(issues)) {
        mishaps.set(request, { kind: "invalid", findings: inBody(issues).map(withoutWords) });
      } else if (refusal || code === "NOT_FOUND") {
        return;
      } else if (code === "PARSE") {
        mishaps.set(request, { kind: "invalid", findings: [{ type: "json_invalid", loc: ["body"] }] });
      } else if (code === "VALIDATION" && error.type !== "response") {
        mishaps.set(request, { kind: "invalid", findings: toIssues(error).map(withoutWords) });
      } else {
        const category =
          code === "VALIDATION" ? "reply_validation" : error instanceof Error ? error.name : "unknown";
        mishaps.set(request, { kind: "failed", category });
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
      record(toDiagnostic(facts, mishaps.get(request) ?? null));
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

function toDiagnostic(facts: HttpFacts, mishap: Mishap | null): Diagnostic {
  const { method, path, status_code } = facts;
  const about = (event: string, what: string) => ({
    event,
    dedupKey: `${event} ${method} ${path} ${what}`,
  });
  if (mishap?.kind === "invalid") {
    const { findings } = mishap;
    return {
      ...about("gateway.http_validation_failed", JSON.stringify(findings)),
      level: "warning",
      fields: { ...facts, error_count: findings.length, validation_errors: findings },
    };
  }
  if (mishap?.kind === "failed") {
    return {
      ...about("gateway.http_request_failed", mishap.category),
      level: "error",
      fields: { ...facts, error_category: mishap.category },
    };
  }
  return {
    ...about("gateway.http_request_completed", String(status_code)),
    level: status_code >= 500 ? "error" : status_code >= 400 ? "warning" : "info",
    fields: { ...facts },
  };
}

/** An unknown key is a word of the caller's and is left out. */
function withoutWords({ type, loc }: ValidationIssue): Pick<ValidationIssue, "type" | "loc"> {
  return { type, loc: type === "extra_forbidden" ? [...loc.slice(0, -1), "*"] : loc };
}
