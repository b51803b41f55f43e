/**
 * What became of a request that a page made: its answer as far as the page may read it, or why it may not.
 */
export type PageResult =
  | { blocked: "preflight" | "answer"; status: number }
  | { blocked: null; status: number; headers: Record<string, string>; response: Response };

const simpleMethods = ["GET", "HEAD", "POST"];
const simpleTypes = ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"];
const readable = ["cache-control", "content-language", "content-length", "content-type", "expires"];

/**
 * A page of `origin` in a browser that keeps to the Fetch standard's CORS protocol: what needs a preflight
 * asks for one and obeys the answer, and of an answer without leave the page learns nothing.
 */
export function createWebPage(
  origin: string,
  request: (path: string, init: RequestInit) => Promise<Response>,
): (
  path: string,
  init?: { method?: string; headers?: Record<string, string>; body?: string },
) => Promise<PageResult> {
  return async (path, { method = "GET", headers = {}, body } = {}) => {
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    const type = headers["content-type"] ?? "text/plain";
    const asks = names.filter(
      (name) => name !== "accept" && (name !== "content-type" || !simpleTypes.includes(type)),
    );
    if (!simpleMethods.includes(method) || asks.length > 0) {
      const reply = await request(path, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": method,
          ...(asks.length > 0 ? { "access-control-request-headers": asks.sort().join(",") } : {}),
        },
      });
      const listed = (name: string) => (reply.headers.get(name) ?? "").split(",").map((one) => one.trim());
      const methods = [...simpleMethods, ...listed("access-control-allow-methods")];
      const allowed = listed("access-control-allow-headers").map((name) => name.toLowerCase());
      const leave = reply.ok && isNamed(reply, origin) && methods.includes(method);
      if (!leave || asks.some((name) => !allowed.includes(name)))
        return { blocked: "preflight", status: reply.status };
    }
    const response = await request(path, {
      method,
      headers: { ...headers, origin },
      ...(body === undefined ? {} : { body }),
    });
    if (!isNamed(response, origin)) return { blocked: "answer", status: response.status };
    const exposed = (response.headers.get("access-control-expose-headers") ?? "")
      .split(",")
      .map((name) => name.trim());
    return {
      blocked: null,
      status: response.status,
      headers: Object.fromEntries(
        [...response.headers].filter(([name]) => [...readable, ...exposed].includes(name)),
      ),
      response,
    };
  };
}

/** A wildcard would do for a page without credentials; ours is never one. */
function isNamed(reply: Response, origin: string): boolean {
  return reply.headers.get("access-control-allow-origin") === origin;
}
