import { pathOf, type Route, routesAt } from "./errors.ts";
import type { Fetch } from "./observe.ts";

/**
 * Serves with `core` until `whole`, which may be asked more than once, has brought the app that has all routes, and
 * with that app from then on. A request that `core` has no route for asks for the whole and waits, so no caller gets a
 * 404 before all routes are known. If the whole cannot be loaded, waiting requests are answered with 503, `onFault`
 * gets the reason, and the next one asks again.
 */
export function deferredApp(
  core: { fetch: Fetch; routes: readonly Route[] },
  whole: () => Promise<Fetch>,
  onFault: (error: unknown) => void,
): Fetch {
  const plain = new Set(core.routes.map(({ method, path }) => `${method} ${path}`));
  const serves = ({ url, method }: Request) =>
    plain.has(`${method} ${plainPathOf(url)}`) ||
    routesAt(core.routes, pathOf(url)).some((route) => route.method === method);
  let serving: Fetch = (request) => (serves(request) ? core.fetch(request) : serveLater(request));

  async function serveLater(request: Request): Promise<Response> {
    try {
      serving = await whole();
    } catch (error) {
      onFault(error);
      // Callers do not get the reason.
      return Response.json(
        { detail: "the server could not load what answers this; ask again" },
        { status: 503 },
      );
    }
    return serving(request);
  }

  return (request) => serving(request);
}

/** As the path is written. Parsing a URL costs more than all else here; what this does not find, `pathOf` may. */
function plainPathOf(url: string): string {
  const start = url.indexOf("/", "http://".length);
  const end = url.indexOf("?", start);
  return url.slice(start, end < 0 ? url.length : end);
}
