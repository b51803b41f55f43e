import { SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { JsonTraceSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import {
  ATTR_ERROR_TYPE,
  ATTR_SERVICE_INSTANCE_ID,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
} from "@opentelemetry/semantic-conventions";
import type { OtlpProtocol } from "../../../sessions/otlp-settings.ts";
import type { TraceSpan } from "./request-trace.ts";

/** How spans become the body of a request, and what the answer says of them. */
export type OtlpEncoding = ReturnType<typeof createOtlpEncoding>;

/** The agent whose gateway exports. */
export interface TracedAgent {
  agentId: string;
  agentName: string;
  tool: string;
  version: string;
}

const kinds = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, consumer: SpanKind.CONSUMER };

/** `resource`: attributes of the operator, which go before ours. */
export function createOtlpEncoding(
  protocol: OtlpProtocol,
  agent: TracedAgent,
  resource: Readonly<Record<string, string>>,
) {
  const json = protocol === "http/json";
  const serializer = json ? JsonTraceSerializer : ProtobufTraceSerializer;
  const toSpan = createSpans(agent, resource);
  return {
    contentType: json ? "application/json" : "application/x-protobuf",
    encode: (spans: readonly TraceSpan[]): Uint8Array =>
      serializer.serializeRequest(spans.map(toSpan)) ?? new Uint8Array(),
    /** How many of the spans the collector refused. Throws for an answer that is none. */
    rejected: (answer: Uint8Array): number =>
      Number(serializer.deserializeResponse(answer).partialSuccess?.rejectedSpans ?? 0),
  };
}

/**
 * Spans as the SDK of OpenTelemetry has them. Ours begin and end in the past, so that no tracer makes them.
 */
function createSpans(
  agent: TracedAgent,
  own: Readonly<Record<string, string>>,
): (span: TraceSpan) => ReadableSpan {
  const resource = resourceFromAttributes({
    [ATTR_SERVICE_NAME]: "svc-gateway",
    [ATTR_SERVICE_VERSION]: agent.version,
    [ATTR_SERVICE_INSTANCE_ID]: agent.agentId,
    "svc.agent.id": agent.agentId,
    "svc.agent.name": agent.agentName,
    "svc.tool": agent.tool,
    ...own,
  });
  const instrumentationScope = { name: "svc-gateway", version: agent.version };
  return (span) => {
    const contextOf = (spanId: string) => ({ traceId: span.traceId, spanId, traceFlags: TraceFlags.SAMPLED });
    return {
      name: span.name,
      kind: kinds[span.kind],
      spanContext: () => contextOf(span.spanId),
      ...(span.parentSpanId === null ? {} : { parentSpanContext: contextOf(span.parentSpanId) }),
      startTime: toHrTime(span.startMs),
      endTime: toHrTime(span.endMs),
      duration: toHrTime(span.endMs - span.startMs),
      ended: true,
      status: { code: span.error === null ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
      attributes: { ...span.attributes, ...(span.error === null ? {} : { [ATTR_ERROR_TYPE]: span.error }) },
      events: span.events.map(({ name, atMs, attributes }) => ({
        name,
        time: toHrTime(atMs),
        droppedAttributesCount: 0,
        attributes: attributes ?? {},
      })),
      links: span.links.map((spanId) => ({ context: contextOf(spanId) })),
      resource,
      instrumentationScope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  };
}

/** Seconds and nanoseconds. */
function toHrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
