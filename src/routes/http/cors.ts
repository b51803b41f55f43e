/** How long a browser may keep the answer to a preflight, seconds. */
const preflightSeconds = 600;

export interface CrossOrigin {
  /** As browsers send them: scheme, host and, where it is not the scheme's own, port. */
  allowedOrigins: readonly string[];
  /** What a page may read of an answer besides its body and the few headers that are always readable. */
  exposedHeaders: readonly string[];
}

/** What a browser says of the page that asks; null for what was not said, as other callers do. */
export interface AskingPage {
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

export type CrossOriginDecision =
  | { kind: "allowed"; headers: Record<string, string> }
  | { kind: "refused"; headers: Record<string, string> }
  /** Asked before the request itself, without a token: answered with the headers and nothing else. */
  | { kind: "preflight"; headers: Record<string, string> };

/**
 * Whether the page that asks may. An allowed origin is named back, never `*`, and the browser's own credentials are not
 * let in: a page shows its token itself. Without an `Origin` a request of another site is refused too, unless a person
 * follows a link. Pure. Source: ruling 12.
 */
export function decideCrossOrigin(asking: AskingPage, options: CrossOrigin): CrossOriginDecision {
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

/** An image, a script or a frame of another site or port: its page cannot read the answer, but it makes us work. */
function isForeignLoad({ site, mode }: AskingPage): boolean {
  return (site === "cross-site" || site === "same-site") && mode !== "navigate";
}
