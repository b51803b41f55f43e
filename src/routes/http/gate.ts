import { coreEndpoints, documentEndpoints } from "../../protocol/core-endpoints.ts";
import {
  aguiConnectionHeader,
  assetsPath,
  challengeAnswerHeader,
  challengeHeader,
  consolePage,
  signInPath,
} from "../../protocol/wire.ts";
import type { Caller } from "../../system/callers.ts";
import { pathOf } from "./route.ts";

/** The largest request body, bytes (ruling 9). */
export const maxBodyBytes = 8 * 1024 * 1024;

/** The options of a server's guards. */
interface GateOptions {
  /** Whether the `Host` header of a request is ours. */
  allowsHost: (host: string) => boolean;
  /** Origins of other pages that may call this server, as browsers write them. */
  allowedOrigins: readonly string[];
  /** The bearer token that callers must send, except for `openPaths`; null: no token is required. */
  token: string | null;
  /** Whether a `Cookie` header is of a browser that signed in; it replaces the token. */
  signedIn?: (cookieHeader: string) => boolean;
  /**
   * The answer to a challenge in a request of `provingPaths`; null for an invalid challenge and for a session
   * without a key.
   */
  answerChallenge?: (challenge: string) => string | null;
}

/** The answer to a request that a guard stops. `detail`: null for an answer without a body. */
interface Verdict {
  status: number;
  detail: string | null;
}

/**
 * One rule about requests. Null passes the request to the next guard. A guard adds to `headers` the headers
 * that every answer to the request needs.
 */
export type Guard = (request: Request, headers: Record<string, unknown>) => Verdict | null;

/**
 * Paths at which a server answers a challenge, since clients rely on these answers before they send a token.
 */
const provingPaths = ["/health", coreEndpoints.snapshot.path];

const provesItself = (url: string): boolean =>
  provingPaths.some((path) => url.includes(path) && pathOf(url) === path);

/**
 * Paths that need no token: health, the description of the API, and the console without data. They are the
 * same on every machine, and a browser opens them without a token.
 */
export const openPaths: ReadonlySet<string> = new Set([
  "/health",
  documentEndpoints.openApiDocument.path,
  documentEndpoints.referencePage.path,
  consolePage,
  signInPath,
]);

const isOpen = (path: string) => openPaths.has(path) || path.startsWith(assetsPath);

/**
 * Refuses other users of this machine, who reach every loopback port, even with the token. They may only ask
 * for health. Null admits. Source: security.md rule 5.
 */
export function refuseOtherUsers(request: Request, caller: Caller): Response | null {
  if (caller !== "other" || pathOf(request.url) === "/health") return null;
  return Response.json({ detail: "this server is for another user of this machine" }, { status: 403 });
}

/**
 * The guards of callers, in order: host, origin, path, and the proof of the listener. They do not depend on
 * the routes, so a server without routes can answer behind them. Source: rulings 9 and 12.
 */
export function callerGuards(options: Omit<GateOptions, "token" | "signedIn">): readonly Guard[] {
  return [
    guardHost(options.allowsHost),
    guardOrigin(options.allowedOrigins),
    guardPath,
    proveListener(options.answerChallenge),
  ];
}

/** The guards of token and body, in order; they come after `callerGuards`. */
export function accessGuards(options: Pick<GateOptions, "token" | "signedIn">): readonly Guard[] {
  return [guardToken(options), guardBody];
}

/** The first verdict of a guard; null when all guards pass the request. */
export function judge(
  guards: readonly Guard[],
  request: Request,
  headers: Record<string, unknown>,
): Verdict | null {
  for (const guard of guards) {
    const verdict = guard(request, headers);
    if (verdict !== null) return verdict;
  }
  return null;
}

/** Refuses a foreign `Host` with 421; DNS rebinding sends such requests. */
function guardHost(allowsHost: GateOptions["allowsHost"]): Guard {
  // Callers repeat the same host name; the last admitted one skips the checks.
  let admittedHost: string | null = null;
  return (request) => {
    const host = hostOf(request);
    if (host === admittedHost) return null;
    // A host with a port beyond 65535 gives an invalid URL.
    if (!allowsHost(host) || !URL.canParse(request.url))
      return { status: 421, detail: "this host name is not served here" };
    admittedHost = host;
    return null;
  };
}

/**
 * Refuses a page of a foreign origin with 403. Pages of an allowed origin get the headers that their browser
 * needs.
 */
function guardOrigin(allowedOrigins: readonly string[]): Guard {
  const crossOrigin = { allowedOrigins, exposedHeaders: [aguiConnectionHeader] };
  return (request, headers) => {
    const origin = request.headers.get("origin");
    const site = request.headers.get("sec-fetch-site");
    // The caller is not a browser. With allowed origins an answer still needs `Vary`, since it may be cached.
    if (origin === null && site === null && allowedOrigins.length === 0) return null;
    const { kind, headers: crossOriginHeaders } = decideCrossOrigin(
      {
        method: request.method,
        host: hostOf(request),
        origin,
        preflightFor: origin === null ? null : request.headers.get("access-control-request-method"),
        site,
        mode: site === null ? null : request.headers.get("sec-fetch-mode"),
      },
      crossOrigin,
    );
    Object.assign(headers, crossOriginHeaders);
    if (kind === "refused") return { status: 403, detail: "this origin may not call" };
    return kind === "preflight" ? { status: 204, detail: null } : null;
  };
}

/** Refuses a path that cannot be decoded with 404. */
function guardPath({ url }: Request): Verdict | null {
  return isWellFormed(url) ? null : { status: 404, detail: "no such route: the path is not well-formed" };
}

/** Answers the challenge of a caller that verifies the listener. Refuses no request. */
function proveListener(answerChallenge: GateOptions["answerChallenge"]): Guard {
  return (request, headers) => {
    // Most requests name other paths; reading a header or parsing the URL would slow them.
    if (!provesItself(request.url)) return null;
    const challenge = request.headers.get(challengeHeader);
    const answer = challenge === null ? null : (answerChallenge?.(challenge) ?? null);
    if (answer !== null) headers[challengeAnswerHeader] = answer;
    return null;
  };
}

/** Refuses a caller without the token and without the cookie of a sign-in with 401. */
function guardToken(options: Pick<GateOptions, "token" | "signedIn">): Guard {
  return (request, headers) => {
    if (authorized(request, options)) return null;
    headers["www-authenticate"] = "Bearer";
    return { status: 401, detail: "a bearer token is needed" };
  };
}

/** Refuses a body whose announced length is too large with 413, and one that is not JSON with 415. */
function guardBody(request: Request): Verdict | null {
  if (request.method === "GET" || request.method === "HEAD" || !hasBody(request)) return null;
  const length = Number(request.headers.get("content-length") ?? 0);
  if (length > maxBodyBytes) return { status: 413, detail: `the body is larger than ${maxBodyBytes} bytes` };
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  return type === "application/json" ? null : { status: 415, detail: "send the body as application/json" };
}

/** An HTTP/1.0 request may lack a host. Its URL is then only a path, and the empty host is not allowed. */
function hostOf({ headers, url }: Request): string {
  return headers.get("host") ?? (URL.canParse(url) ? new URL(url).host : "");
}

/**
 * Reads the headers first: a server may pass an empty stream for a request without a body, and reading `body`
 * creates a stream. A caller in this process sends no length.
 */
function hasBody(request: Request): boolean {
  const length = request.headers.get("content-length");
  if (length !== null) return length !== "0";
  const announced = ["transfer-encoding", "content-type"].some((name) => request.headers.has(name));
  return announced && request.body !== null;
}

/** Whether the path can be decoded; otherwise its parameters would be null. */
function isWellFormed(url: string): boolean {
  if (!url.includes("%")) return true;
  try {
    decodeURIComponent(new URL(url).pathname);
    return true;
  } catch {
    return false;
  }
}

function authorized(request: Request, { token, signedIn }: Pick<GateOptions, "token" | "signedIn">): boolean {
  if (token === null || isOpen(new URL(request.url).pathname)) return true;
  const shown = /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  const encoder = new TextEncoder();
  if (equalInConstantTime(encoder.encode(shown), encoder.encode(token))) return true;
  const cookie = request.headers.get("cookie");
  return cookie !== null && signedIn !== undefined && isFromOwnPage(request) && signedIn(cookie);
}

/**
 * A browser sends a cookie for every page, and to every port of a host. So a cookie counts only when the
 * browser reports a page of this server. Pages of other allowed origins send the token.
 */
function isFromOwnPage(request: Request): boolean {
  const origin = request.headers.get("origin");
  const site = request.headers.get("sec-fetch-site");
  const host = hostOf(request);
  if (origin !== null && origin !== `http://${host}` && origin !== `https://${host}`) return false;
  return site === null ? origin !== null : site === "same-origin";
}

/**
 * Admits the `Host` names of a listener on `host`: `host` and the loopback names. A listener on all addresses
 * also admits every IP address, because DNS rebinding needs a name. Ports are ignored, since they may be
 * forwarded.
 */
export function hostRule(host: string): (header: string) => boolean {
  const bound = host.toLowerCase();
  const names = new Set(["127.0.0.1", "localhost", "[::1]", bound.includes(":") ? `[${bound}]` : bound]);
  const listensOnAll = bound === "0.0.0.0" || bound === "::";
  return (header) => {
    const name = header.toLowerCase().replace(/:\d+$/, "");
    return names.has(name) || (listensOnAll && isAddress(name));
  };
}

function isAddress(name: string): boolean {
  return /^(?:\d{1,3}\.){3}\d{1,3}$/.test(name) || /^\[[0-9a-f:.]+\]$/.test(name);
}

/**
 * Whether `shown` equals `token`, in a time that depends only on the length of `shown`: it compares every
 * byte of `shown` once. The Web API has no such comparison.
 */
export function equalInConstantTime(shown: Uint8Array, token: Uint8Array): boolean {
  let difference = shown.length ^ token.length;
  for (let at = 0; at < shown.length; at++) {
    difference |= (shown[at] ?? 0) ^ (token[at % token.length] ?? 0);
  }
  return difference === 0;
}

/** How long a browser may keep the answer to a preflight, seconds. */
const preflightSeconds = 600;

interface CrossOrigin {
  /** As browsers send them: scheme, host and, unless it is the scheme's default, port. */
  allowedOrigins: readonly string[];
  /** Headers of an answer that a page may read, besides those that are always readable. */
  exposedHeaders: readonly string[];
}

/** The browser's description of the calling page; null fields for callers that are not browsers. */
interface CallingPage {
  method: string;
  /** The `Host` header. */
  host: string;
  origin: string | null;
  /** Access-Control-Request-Method. */
  preflightFor: string | null;
  /** Sec-Fetch-Site. */
  site: string | null;
  /** Sec-Fetch-Mode. */
  mode: string | null;
}

type CrossOriginDecision =
  | { kind: "allowed"; headers: Record<string, string> }
  | { kind: "refused"; headers: Record<string, string> }
  /** A request without a token before the request itself; its answer is only headers. */
  | { kind: "preflight"; headers: Record<string, string> };

/**
 * Whether the calling page is allowed. The answer names the allowed origin, never `*`, and does not allow the
 * browser's credentials: a page sends its token itself. A request of another site without an `Origin` is
 * refused too, unless a person follows a link. Pure. Source: ruling 12.
 */
function decideCrossOrigin(page: CallingPage, options: CrossOrigin): CrossOriginDecision {
  const { method, host, origin } = page;
  const { allowedOrigins, exposedHeaders } = options;
  const vary: Record<string, string> = allowedOrigins.length > 0 ? { vary: "Origin" } : {};
  if (origin === null) return { kind: isForeignLoad(page) ? "refused" : "allowed", headers: vary };
  if (origin === `http://${host}` || origin === `https://${host}`) return { kind: "allowed", headers: vary };
  if (!allowedOrigins.includes(origin)) return { kind: "refused", headers: vary };
  const named = { ...vary, "access-control-allow-origin": origin };
  if (method !== "OPTIONS" || page.preflightFor === null) {
    return {
      kind: "allowed",
      headers: { ...named, "access-control-expose-headers": exposedHeaders.join(", ") },
    };
  }
  return {
    kind: "preflight",
    headers: {
      ...named,
      "access-control-allow-methods": "GET, POST, PUT, DELETE",
      "access-control-allow-headers": "authorization, content-type, last-event-id",
      "access-control-max-age": String(preflightSeconds),
    },
  };
}

/**
 * Whether a page of another site or port loads an image, a script or a frame. Such a page cannot read the
 * answer, but the request costs work.
 */
function isForeignLoad({ site, mode }: CallingPage): boolean {
  return (site === "cross-site" || site === "same-site") && mode !== "navigate";
}
