import { Elysia } from "elysia";

/** The largest request body, bytes (ruling 9). */
export const maxBodyBytes = 8 * 1024 * 1024;

export interface GateOptions {
  /** Whether the `Host` header of a request is ours. */
  allowsHost: (host: string) => boolean;
  /** Origins of browser pages, besides our own, that may call us. */
  allowedOrigins: readonly string[];
  /** What callers must show as a bearer token, or null. `/health` is open to all. */
  token: string | null;
}

/**
 * Refuses, before anything else looks at a request: a foreign `Host` (421: DNS rebinding), a foreign `Origin`
 * (403: a page in the person's browser), a body that is not JSON (415) or that is too large (413). Source:
 * rulings 9 and 12.
 */
export function httpGate(options: GateOptions) {
  return new Elysia({ name: "http-gate", seed: options }).onRequest(({ request, set }) => {
    const refuse = (status: number, detail: string) => {
      set.status = status;
      return { detail };
    };
    const host = request.headers.get("host") ?? new URL(request.url).host;
    if (!options.allowsHost(host)) return refuse(421, "this host name is not served here");
    if (!isWellFormed(request.url)) return refuse(404, "no such route: the path is not well-formed");
    const origin = request.headers.get("origin");
    const sameOrigin = origin === `http://${host}` || origin === `https://${host}`;
    if (origin !== null && !sameOrigin && !options.allowedOrigins.includes(origin)) {
      return refuse(403, "this origin may not call");
    }
    if (!authorized(request, options.token)) {
      set.headers["www-authenticate"] = "Bearer";
      return refuse(401, "a bearer token is needed");
    }
    if (request.method === "GET" || request.method === "HEAD" || !hasBody(request)) return;
    const length = Number(request.headers.get("content-length") ?? 0);
    if (length > maxBodyBytes) return refuse(413, `the body is larger than ${maxBodyBytes} bytes`);
    const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
    if (type !== "application/json") return refuse(415, "send the body as application/json");
    return;
  });
}

/** A server may hand over an empty stream with a request that has no body: its headers tell then. */
function hasBody({ body, headers }: Request): boolean {
  if (body === null || headers.get("content-length") === "0") return false;
  return ["content-length", "transfer-encoding", "content-type"].some((name) => headers.has(name));
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

function authorized(request: Request, token: string | null): boolean {
  if (token === null || new URL(request.url).pathname === "/health") return true;
  const shown = /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  return equalInConstantTime(shown, token);
}

/** The time taken tells the length of what was shown and nothing of the token. */
function equalInConstantTime(shown: string, token: string): boolean {
  const encoder = new TextEncoder();
  const left = encoder.encode(shown);
  const right = encoder.encode(token);
  let difference = left.length ^ right.length;
  for (const [index, byte] of left.entries()) difference |= byte ^ (right[index % right.length] ?? 0);
  return difference === 0;
}

/**
 * Names under which a listener on `host` is reached: itself, and for a loopback or wildcard bind the loopback
 * names. `extra` come from the operator. Ports do not matter: they may be forwarded.
 */
export function hostRule(host: string, extra: readonly string[] = []): (header: string) => boolean {
  const names = new Set([
    "127.0.0.1",
    "localhost",
    "[::1]",
    host.toLowerCase(),
    ...extra.map((one) => one.toLowerCase()),
  ]);
  return (header) => names.has(header.toLowerCase().replace(/:\d+$/, ""));
}
