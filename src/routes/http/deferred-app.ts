import { type Guard, judge } from "./gate.ts";
import type { Fetch } from "./observe.ts";
import { pathOf } from "./route.ts";

interface DeferredApp {
  fetch: Fetch;
  /** Resolves when the complete app serves; rejects when it cannot be loaded. */
  complete(): Promise<void>;
}

/**
 * Serves with the app that `load` returns. Before it is loaded, this app answers `health` behind the same
 * caller guards. Any other request starts the load and waits, so that no caller gets a 404 before all routes
 * exist; it gets 503 when the load fails. `load` may be called more than once.
 */
export function deferredApp(options: {
  /** The caller guards of the app. `health` needs no other guard: it is open to all and has no body. */
  guards: readonly Guard[];
  /** The answer to `GET` of this path; null leaves the path to the app. */
  health: { path: string; body: () => object } | null;
  load: () => Promise<Fetch>;
}): DeferredApp {
  const { health } = options;
  let app: Fetch | null = null;

  async function complete(): Promise<void> {
    app = await options.load();
  }

  async function serveLater(request: Request): Promise<Response> {
    try {
      await complete();
    } catch {
      // The process that starts the server reports the reason; callers do not get it.
      return Response.json({ detail: "this server could not start" }, { status: 503 });
    }
    return (app as Fetch)(request);
  }

  function answerHealth(request: Request, body: object): Response {
    const headers: Record<string, string> = {};
    const verdict = judge(options.guards, request, headers);
    if (verdict === null) return Response.json(body, { headers });
    return verdict.detail === null
      ? new Response(null, { status: verdict.status, headers })
      : Response.json({ detail: verdict.detail }, { status: verdict.status, headers });
  }

  return {
    fetch(request) {
      if (app) return app(request);
      const asksHealth = health && request.method === "GET" && pathOf(request.url) === health.path;
      return asksHealth ? answerHealth(request, health.body()) : serveLater(request);
    },
    complete,
  };
}
