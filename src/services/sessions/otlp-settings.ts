import { ServiceError } from "../../system/errors.ts";
import { defaultEndpoint, noEndpoint, toEndpointUrl, toTracesUrl } from "./otlp-endpoint.ts";
import type { Environment } from "./roots.ts";

/** Where traces go, and how. */
export interface OtlpSettings {
  /** The address of the requests itself. */
  url: string;
  /** They may hold a secret. */
  headers: Readonly<Record<string, string>>;
  protocol: OtlpProtocol;
  timeoutMs: number;
  /** The operator's own, which go before ours. */
  resource: Readonly<Record<string, string>>;
}

export type OtlpProtocol = "http/protobuf" | "http/json";

const defaultTimeoutMs = 10_000;
const maxTimeoutMs = 60_000;

/**
 * Whether traces are exported, and where; null for not at all. `wish`: what the session keeps, else the
 * standard variables of OpenTelemetry decide, of which OTEL_TRACES_EXPORTER=otlp turns it on. Headers of the
 * environment, which may hold a key, go to an address of the environment only. Throws `invalid_request`,
 * without the value of a header. Pure. Source: the OTLP exporter specification of OpenTelemetry.
 */
export function decideOtlp(wish: string | undefined, env: Environment): OtlpSettings | null {
  const disabled = env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true";
  const exporters = env["OTEL_TRACES_EXPORTER"]?.split(",").map((one) => one.trim()) ?? [];
  if (wish === noEndpoint) return null;
  if (wish === undefined && (disabled || !exporters.includes("otlp"))) return null;
  return {
    url: wish === undefined ? urlOf(env) : toTracesUrl(wish),
    headers: wish === undefined ? headersOf(env) : {},
    protocol: protocolOf(env),
    timeoutMs: timeoutOf(env),
    resource: resourceOf(env),
  };
}

/** Each variable also exists for traces alone, which wins. */
function ofTraces(env: Environment, name: string): string | undefined {
  return env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`] || undefined;
}

function urlOf(env: Environment): string {
  const own = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
  if (own) return toEndpointUrl(own, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").href;
  return toTracesUrl(env["OTEL_EXPORTER_OTLP_ENDPOINT"] || defaultEndpoint, "OTEL_EXPORTER_OTLP_ENDPOINT");
}

function protocolOf(env: Environment): OtlpProtocol {
  const protocol = ofTraces(env, "PROTOCOL") ?? "http/protobuf";
  if (protocol === "http/protobuf" || protocol === "http/json") return protocol;
  throw new ServiceError(
    "invalid_request",
    `OTEL_EXPORTER_OTLP_PROTOCOL: ${JSON.stringify(protocol)} is not supported; http/protobuf and http/json are`,
  );
}

function timeoutOf(env: Environment): number {
  const given = Number(ofTraces(env, "TIMEOUT") ?? defaultTimeoutMs);
  return given > 0 ? Math.min(given, maxTimeoutMs) : defaultTimeoutMs;
}

const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const headerValue = /^[\t\x20-\x7e]*$/;
const ofTheExporter = new Set(["content-type", "content-length", "host", "transfer-encoding"]);

function headersOf(env: Environment): Record<string, string> {
  const headers = toPairs(ofTraces(env, "HEADERS") ?? "").filter(
    ([name, value]) =>
      headerName.test(name) && headerValue.test(value) && !ofTheExporter.has(name.toLowerCase()),
  );
  return Object.fromEntries(headers);
}

function resourceOf(env: Environment): Record<string, string> {
  const attributes = Object.fromEntries(toPairs(env["OTEL_RESOURCE_ATTRIBUTES"] ?? ""));
  const name = env["OTEL_SERVICE_NAME"];
  return name ? { ...attributes, "service.name": name } : attributes;
}

/** `name=value,name=value`, values percent-encoded, as in W3C Baggage. A part without `=` is left out. */
function toPairs(text: string): [string, string][] {
  return text.split(",").flatMap((pair) => {
    const [name = "", ...rest] = pair.split("=");
    const value = decoded(rest.join("=").trim());
    return name.trim() === "" || rest.length === 0 || value === null ? [] : [[name.trim(), value]];
  });
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
