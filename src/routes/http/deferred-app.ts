import { type Guard, judge } from "./gate.ts";
import type { Fetch } from "./observe.ts";
import { pathOf } from "./route.ts";

interface DeferredApp {
  fetch: Fetch;
  /** Resolves when the app serves; rejects when it cannot be had. */
  complete(): Promise<void>;
}

/**
 * Serves until `whole`, which may be asked more than once, has brought the app with all routes, and with that
 * app from then on. Until then it answers `health` itself, behind the same guards of callers; any other
 * request asks for the app and waits, so no caller gets a 404 before all routes are known. If the app cannot be loaded,
 * waiting requests are answered with 503.
 */
export function deferredApp(options: {
  /** The app has them too; `health` needs no other guard, because it is open to all and has no body. */
  guards: readonly Guard[];
  /** What a `GET` of this path is answered with; null leaves it to the app as well. */
  health: { path: string; body: () => object } | null;
  whole: () => Promise<Fetch>;
}): DeferredApp {
  const { health } = options;
  let app: Fetch | null = null;

  async function complete(): Promise<void> {
    app = await options.whole();
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
