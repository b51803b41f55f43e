import { signal } from "@preact/signals";
import type { allCoordinatorEndpoints } from "../../protocol/coordinator-endpoints.ts";
import type { BodyOf, ResponseOf } from "../../protocol/endpoint.ts";
import { atGateway } from "../browser/surface.ts";
import { operations } from "./operations.ts" with { type: "macro" };

/** The one way in which the console calls the server: the routes of the command line, from the same table. */

type Endpoints = typeof allCoordinatorEndpoints;
type Operation = keyof Endpoints;

export type Refusal = {
  ok: false;
  /** stale: the state that the page showed has changed, and nothing was done. */
  why: "stale" | "refused" | "signed_out" | "unreachable";
  detail: string;
};
export type Answer<T> = { ok: true; value: T } | Refusal;

interface Call<Id extends Operation> {
  /** Values of the `:name` parts of the path. */
  params?: Record<string, string>;
  query?: Record<string, string | number>;
  body?: BodyOf<Endpoints[Id]>;
}

const table = operations();

/** How often the server answered that this browser is not signed in. */
export const signedOutAnswers = signal(0);

export function pathOf(
  id: Operation,
  params: Record<string, string> = {},
  query: Record<string, string | number> = {},
) {
  const [, ofCoordinator = "", ofGateway = ofCoordinator] = table[id] ?? [];
  const path = (atGateway ? ofGateway : ofCoordinator).replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ""),
  );
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  return search.size > 0 ? `${path}?${search}` : path;
}

const unreachable: Refusal = {
  ok: false,
  why: "unreachable",
  detail: "The server does not answer. What was asked may not have been done.",
};

/** Calls one operation. Never rejects: what went wrong is part of the answer. */
export async function call<Id extends Operation>(
  id: Id,
  { params, query, body }: Call<Id> = {},
): Promise<Answer<ResponseOf<Endpoints[Id]>>> {
  const method = table[id]?.[0] ?? "GET";
  const json =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  let response: Response;
  try {
    response = await fetch(pathOf(id, params, query), { method, ...json });
  } catch {
    return unreachable;
  }
  const value: unknown = await response.json().catch(() => undefined);
  // The server ended while it answered.
  if (response.ok && value === undefined) return unreachable;
  if (response.ok) return { ok: true, value: value as ResponseOf<Endpoints[Id]> };
  const refusal = refusalOf(response.status, value);
  if (refusal.why === "signed_out") signedOutAnswers.value += 1;
  return refusal;
}

function refusalOf(status: number, body: unknown): Refusal {
  const detail = detailOf(body) || `The server answered ${status}.`;
  if (status === 401) return { ok: false, why: "signed_out", detail };
  return { ok: false, why: status === 409 ? "stale" : "refused", detail };
}

/** The sentence of a refusal, whichever of the three shapes it has. */
function detailOf(body: unknown): string {
  const detail = (body as { detail?: unknown } | null)?.detail;
  if (typeof detail === "string") return detail;
  if (Array.isArray(detail))
    return detail
      .map(({ loc, msg }: { loc: (string | number)[]; msg: string }) => `${loc.join(".")}: ${msg}`)
      .join("; ");
  return detail === undefined ? "" : detailOf(detail);
}
