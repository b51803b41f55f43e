import { pathOf, type Route, routesAt } from "./errors.ts";
import type { Fetch } from "./observe.ts";

export interface DeferredApp {
  fetch: Fetch;
  /** Resolves when the app that has all routes serves; rejects when it cannot be had. */
  complete(): Promise<void>;
}

/**
 * Serves with `core` until `whole`, which may be asked more than once, has brought the app that has all routes, and
 * with that app from then on. A request that `core` has no route for asks for the whole and waits, so no caller gets a
 * 404 before all routes are known. If the whole cannot be loaded, waiting requests are answered with 503.
 */
export function deferredApp(
  core: { fetch: Fetch; routes: readonly Route[] },
  whole: () => Promise<Fetch>,
): DeferredApp {
  const serves = ({ url, method }: Request) =>
    routesAt(core.routes, pathOf(url)).some((route) => route.method === method);
  let serving: Fetch = (request) => (serves(request) ? core.fetch(request) : serveLater(request));

  async function complete(): Promise<void> {
    serving = await whole();
  }

  async function serveLater(request: Request): Promise<Response> {
    try {
      await complete();
    } catch {
      // The process that starts the server reports the reason; callers do not get it.
      return Response.json({ detail: "this server could not start" }, { status: 503 });
    }
    return serving(request);
  }

  return { fetch: (request) => serving(request), complete };
}
