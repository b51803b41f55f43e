import { ServiceError } from "../../system/errors.ts";

/** Where a collector listens by default. */
export const defaultEndpoint = "http://localhost:4318";
/** The wish that keeps traces off, whatever the environment says. */
export const noEndpoint = "none";

/**
 * The address of the requests for a collector's base address. Throws `invalid_request` for one that is none.
 * Pure.
 */
export function toTracesUrl(endpoint: string, what = "the OTLP endpoint"): string {
  const url = toEndpointUrl(endpoint, what);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/traces`;
  return url.href;
}

/**
 * An address without a login, because it is kept in files, and without a query. Throws as `toTracesUrl`.
 * Pure.
 */
export function toEndpointUrl(text: string, what: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const web = url?.protocol === "http:" || url?.protocol === "https:";
  if (url && web && url.username + url.password + url.search + url.hash === "") return url;
  throw new ServiceError(
    "invalid_request",
    `${what} takes an http or https address without a login, a query or a fragment, such as ${defaultEndpoint}`,
  );
}
