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

/** What the guards of one server are made with. */
interface GateOptions {
  /** Whether the `Host` header of a request is ours. */
  allowsHost: (host: string) => boolean;
  /** Origins of browser pages, besides our own, that may call us, as browsers write them. */
  allowedOrigins: readonly string[];
  /** What callers must show as a bearer token, or null. `openPaths` are open to all. */
  token: string | null;
  /** Whether a `Cookie` header is that of a browser that signed in, which serves in place of the token. */
  signedIn?: (cookieHeader: string) => boolean;
  /**
   * The answer to a challenge that came with a path of `provingPaths`; null when it is none, or nothing keeps
   * a key.
   */
  answerChallenge?: (challenge: string) => string | null;
}

/** The answer to a request that goes no further. `detail`: null for an answer without a body. */
interface Verdict {
  status: number;
  detail: string | null;
}

/**
 * One rule about requests. Null lets the request go on to the next guard. `headers` gets what any answer to
 * the request has to carry.
 */
export type Guard = (request: Request, headers: Record<string, unknown>) => Verdict | null;

/** Where a server answers a challenge: whatever else it answers there means nothing without the proof. */
const provingPaths = ["/health", coreEndpoints.snapshot.path];

const provesItself = (url: string): boolean =>
  provingPaths.some((path) => url.includes(path) && pathOf(url) === path);

/**
 * What no token is asked for: whether we run, the description of the API and the console without any data,
 * which are the same wherever we run and which a browser, that shows no token by itself, is pointed at.
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
 * Refuses other users of this machine, also those who show the token: on loopback they reach every port.
 * Whether we run they may know. Null admits. Source: security.md rule 5.
 */
export function refuseOtherUsers(request: Request, caller: Caller): Response | null {
  if (caller !== "other" || pathOf(request.url) === "/health") return null;
  return Response.json({ detail: "this server is for another user of this machine" }, { status: 403 });
}

/**
 * The guards of callers: where a request comes from and which path it names. They need nothing of the routes,
 * so a server that has none yet answers behind them. In this order. Source: rulings 9 and 12.
 */
export function callerGuards(options: Omit<GateOptions, "token" | "signedIn">): readonly Guard[] {
  return [
    guardHost(options.allowsHost),
    guardOrigin(options.allowedOrigins),
    guardPath,
    proveListener(options.answerChallenge),
  ];
}

/** The guards of what a caller may do and send, after those of callers. In this order. */
export function accessGuards(options: Pick<GateOptions, "token" | "signedIn">): readonly Guard[] {
  return [guardToken(options), guardBody];
}

/** The verdict of the first guard that has one; null when all let the request go on. */
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

/** Refuses a foreign `Host`, which DNS rebinding leads here: 421. */
function guardHost(allowsHost: GateOptions["allowsHost"]): Guard {
  // The same callers ask again and again under the same name, and a URL is as good as the host in it.
  let admittedHost: string | null = null;
  return (request) => {
    const host = hostOf(request);
    if (host === admittedHost) return null;
    // A port beyond 65535 makes no URL.
    if (!allowsHost(host) || !URL.canParse(request.url))
      return { status: 421, detail: "this host name is not served here" };
    admittedHost = host;
    return null;
  };
}

/**
 * Refuses a page of a foreign origin in the person's browser: 403. Pages of an allowed origin get what their
 * browser asks for.
 */
function guardOrigin(allowedOrigins: readonly string[]): Guard {
  const crossOrigin = { allowedOrigins, exposedHeaders: [aguiConnectionHeader] };
  return (request, headers) => {
    const origin = request.headers.get("origin");
    const site = request.headers.get("sec-fetch-site");
    // No browser asks. A cached answer must still differ for one that does.
    if (origin === null && site === null && allowedOrigins.length === 0) return null;
    const { kind, headers: allowing } = decideCrossOrigin(
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
    Object.assign(headers, allowing);
    if (kind === "refused") return { status: 403, detail: "this origin may not call" };
    return kind === "preflight" ? { status: 204, detail: null } : null;
  };
}

/** Refuses a path that cannot be decoded: it names nothing. */
function guardPath({ url }: Request): Verdict | null {
  return isWellFormed(url) ? null : { status: 404, detail: "no such route: the path is not well-formed" };
}

/** Refuses nothing: answers the challenge of a caller that must know who listens here. */
function proveListener(answerChallenge: GateOptions["answerChallenge"]): Guard {
  return (request, headers) => {
    // Most requests go elsewhere, and reading a header or parsing a URL is what they would notice.
    if (!provesItself(request.url)) return null;
    const challenge = request.headers.get(challengeHeader);
    const answer = challenge === null ? null : (answerChallenge?.(challenge) ?? null);
    if (answer !== null) headers[challengeAnswerHeader] = answer;
    return null;
  };
}

/** Refuses a caller without the token, or the cookie that serves in its place: 401. */
function guardToken(options: Pick<GateOptions, "token" | "signedIn">): Guard {
  return (request, headers) => {
    if (authorized(request, options)) return null;
    headers["www-authenticate"] = "Bearer";
    return { status: 401, detail: "a bearer token is needed" };
  };
}

/** Refuses a body that is announced as too large, 413, or that is not JSON, 415. */
function guardBody(request: Request): Verdict | null {
  if (request.method === "GET" || request.method === "HEAD" || !hasBody(request)) return null;
  const length = Number(request.headers.get("content-length") ?? 0);
  if (length > maxBodyBytes) return { status: 413, detail: `the body is larger than ${maxBodyBytes} bytes` };
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  return type === "application/json" ? null : { status: 415, detail: "send the body as application/json" };
}

/** A request of HTTP/1.0 may name no host. Its URL is then a path alone, which no host rule allows. */
function hostOf({ headers, url }: Request): string {
  return headers.get("host") ?? (URL.canParse(url) ? new URL(url).host : "");
}

/**
 * By the headers first: a server may hand over an empty stream with a request that has no body, and to ask
 * for `body` makes a stream of what is then read at once. A caller in our own process names no length.
 */
function hasBody(request: Request): boolean {
  const length = request.headers.get("content-length");
  if (length !== null) return length !== "0";
  const announced = ["transfer-encoding", "content-type"].some((name) => request.headers.has(name));
  return announced && request.body !== null;
}

/** A path that cannot be decoded names nothing; what reads its parameters would be given null. */
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
 * A browser sends a cookie whichever page asks, and to every port of a host: it counts only when the browser
 * says that our own page asks. Another origin that may call shows the token.
 */
function isFromOwnPage(request: Request): boolean {
  const origin = request.headers.get("origin");
  const site = request.headers.get("sec-fetch-site");
  const host = hostOf(request);
  if (origin !== null && origin !== `http://${host}` && origin !== `https://${host}`) return false;
  return site === null ? origin !== null : site === "same-origin";
}

/**
 * Names under which a listener on `host` is reached: itself and the loopback names; for a listener on all
 * addresses also any address, because only a name can be made to lead elsewhere (DNS rebinding). Ports do not
 * matter: they may be forwarded.
 */
export function hostRule(host: string): (header: string) => boolean {
  const bound = host.toLowerCase();
  const names = new Set(["127.0.0.1", "localhost", "[::1]", bound.includes(":") ? `[${bound}]` : bound]);
  const onAll = bound === "0.0.0.0" || bound === "::";
  return (header) => {
    const name = header.toLowerCase().replace(/:\d+$/, "");
    return names.has(name) || (onAll && isAddress(name));
  };
}

function isAddress(name: string): boolean {
  return /^(?:\d{1,3}\.){3}\d{1,3}$/.test(name) || /^\[[0-9a-f:.]+\]$/.test(name);
}

/**
 * Whether `shown` is `token`, in a time that depends on the length of what was shown and not on the token:
 * each byte of it is looked at once, in order, whatever was found before. Written here because the Web's own
 * API has no such comparison.
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
  /** As browsers send them: scheme, host and, where it is not the scheme's own, port. */
  allowedOrigins: readonly string[];
  /** What a page may read of an answer besides its body and the few headers that are always readable. */
  exposedHeaders: readonly string[];
}

/** What a browser says of the page that asks; null for what was not said, as other callers do. */
interface AskingPage {
  method: string;
  /** The `Host` that was asked. */
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
  /** Asked before the request itself, without a token: answered with the headers and nothing else. */
  | { kind: "preflight"; headers: Record<string, string> };

/**
 * Whether the page that asks may. An allowed origin is named back, never `*`, and the browser's own
 * credentials are not let in: a page shows its token itself. Without an `Origin` a request of another site is
 * refused too, unless a person follows a link. Pure. Source: ruling 12.
 */
function decideCrossOrigin(asking: AskingPage, options: CrossOrigin): CrossOriginDecision {
  const { method, host, origin } = asking;
  const { allowedOrigins, exposedHeaders } = options;
  const vary: Record<string, string> = allowedOrigins.length > 0 ? { vary: "Origin" } : {};
  if (origin === null) return { kind: isForeignLoad(asking) ? "refused" : "allowed", headers: vary };
  if (origin === `http://${host}` || origin === `https://${host}`) return { kind: "allowed", headers: vary };
  if (!allowedOrigins.includes(origin)) return { kind: "refused", headers: vary };
  const named = { ...vary, "access-control-allow-origin": origin };
  if (method !== "OPTIONS" || asking.preflightFor === null) {
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
 * An image, a script or a frame of another site or port: its page cannot read the answer, but it makes us
 * work.
 */
function isForeignLoad({ site, mode }: AskingPage): boolean {
  return (site === "cross-site" || site === "same-site") && mode !== "navigate";
}
