import { Type } from "@sinclair/typebox";
import { endpoint } from "./endpoint.ts";

/** Counters of one gateway (additional; decision 78). */
export const metricsEndpoints = {
  gatewayMetrics: endpoint({
    method: "GET",
    path: "/metrics",
    summary: "Counters of the gateway in the Prometheus text format",
    description:
      "Needs the token like every other route; no label holds a prompt, a text of mail, a path or a secret. Counters of requests, events and tokens start with the process, those of HTTP and of the event stream with the first scrape.",
    status: 200,
    response: Type.String({ contentMediaType: "text/plain" }),
  }),
} as const;
