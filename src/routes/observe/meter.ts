import type { GatewayEvent } from "../../protocol/events.ts";
import type { GatewayStatus } from "../../protocol/gateway.ts";
import type { StoredEventLog } from "../../services/diagnostics/event-log.ts";
import type { GatewayFacts, GatewayMetrics } from "../../services/extensions/observe/gateway-metrics.ts";
import type { Clock } from "../../system/clock.ts";
import type { Fetch } from "../http/observe.ts";
import { pathOf, type Route, routesAt } from "../http/route.ts";

/**
 * Counters of a gateway. The first scrape loads them and starts counting, so a gateway without scrapes pays
 * nothing (decision 82).
 */
interface Meter {
  streamed(event: GatewayEvent): void;
  /** The handler of the app, which also counts each request. */
  around(app: { fetch: Fetch; routes: readonly Route[] }): Fetch;
  scrape(): Promise<{ text: string; contentType: string }>;
  close(): void;
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

export function meterGateway(deps: {
  events: Pick<StoredEventLog, "readEvents" | "subscribe">;
  clock: Clock;
  status: () => GatewayStatus;
  /** Spans of the traces; null while traces are off. */
  spans: () => GatewayFacts["spans"];
  facts: Pick<GatewayFacts, "version" | "tool">;
}): Meter {
  const { events, clock } = deps;
  const startedMs = clock.nowMs();
  const afterSeq = events.readEvents({ afterSeq: 0, limit: 0 }).lastSeq;
  let opening: Promise<GatewayMetrics> | null = null;
  let metrics: GatewayMetrics | null = null;

  async function open(): Promise<GatewayMetrics> {
    const { createGatewayMetrics } = await import("../../services/extensions/observe/gateway-metrics.ts");
    metrics = await createGatewayMetrics({ events, afterSeq, clock });
    return metrics;
  }

  return {
    streamed: (event) => metrics?.streamed(event),
    around: (app) => {
      async function counted(to: GatewayMetrics, request: Request): Promise<Response> {
        const beganMs = clock.monotonicMs();
        const response = await app.fetch(request);
        to.answered({
          method: methods.has(request.method) ? request.method : "OTHER",
          route: routesAt(app.routes, pathOf(request.url))[0]?.path ?? "none",
          status: response.status,
          seconds: (clock.monotonicMs() - beganMs) / 1000,
        });
        return response;
      }
      return (request) => (metrics === null ? app.fetch(request) : counted(metrics, request));
    },
    async scrape() {
      opening ??= open().catch((error: unknown) => {
        opening = null;
        throw error;
      });
      return (await opening).scrape({ ...deps.facts, status: deps.status(), spans: deps.spans(), startedMs });
    },
    close: () => metrics?.close(),
  };
}
