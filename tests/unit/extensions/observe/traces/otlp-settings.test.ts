import { describe, expect, test } from "bun:test";
import { decideOtlp } from "../../../../../src/services/sessions/otlp-settings.ts";

/** Whether traces go anywhere, and where. */

const otlp = { OTEL_TRACES_EXPORTER: "otlp" };

describe("whether and where", () => {
  test.each<{ id: string; wish?: string; env: Record<string, string>; url: string | null }>([
    { id: "nothing is set", env: {}, url: null },
    {
      id: "an address alone, which is for other programs",
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a:1" },
      url: null,
    },
    { id: "the exporter alone", env: otlp, url: "http://localhost:4318/v1/traces" },
    {
      id: "one of several exporters",
      env: { OTEL_TRACES_EXPORTER: "console, otlp" },
      url: "http://localhost:4318/v1/traces",
    },
    {
      id: "with a base address",
      env: { ...otlp, OTEL_EXPORTER_OTLP_ENDPOINT: "https://a/b/" },
      url: "https://a/b/v1/traces",
    },
    {
      id: "with an address for traces, which is taken as it is",
      env: {
        ...otlp,
        OTEL_EXPORTER_OTLP_ENDPOINT: "https://a",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://b/c",
      },
      url: "https://b/c",
    },
    { id: "disabled", env: { ...otlp, OTEL_SDK_DISABLED: "TRUE" }, url: null },
    { id: "the session's own", wish: "http://127.0.0.1:9", env: {}, url: "http://127.0.0.1:9/v1/traces" },
    { id: "the session wants none", wish: "none", env: otlp, url: null },
  ])("$id", ({ wish, env, url }) => expect(decideOtlp(wish, env)?.url ?? null).toBe(url));
});

describe("refused", () => {
  test.each<{ id: string; wish?: string; env?: Record<string, string> }>([
    { id: "no address", wish: "localhost:4318" },
    { id: "another protocol", wish: "ftp://localhost" },
    { id: "a login in the address", wish: "http://user:hunter2@localhost" },
    { id: "a query", wish: "http://localhost?key=hunter2" },
    { id: "gRPC", env: { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" } },
    { id: "an address of the environment that is none", env: { OTEL_EXPORTER_OTLP_ENDPOINT: "hunter2" } },
  ])("$id", ({ wish, env }) => {
    const decide = () => decideOtlp(wish, { ...otlp, ...env });
    expect(decide).toThrow();
    expect(decide).not.toThrow("hunter2");
  });
});

describe("headers", () => {
  const headers = { OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20b,Host=other,broken,bad name=x,x=%0A,y=%" };
  test("are decoded, and impossible ones are left out", () => {
    expect(decideOtlp(undefined, { ...otlp, ...headers })?.headers).toEqual({ "api-key": "a b" });
  });
  test("go to no address but that of the environment", () => {
    expect(decideOtlp("http://127.0.0.1:9", { ...otlp, ...headers })?.headers).toEqual({});
  });
});

test("the other variables", () => {
  const settings = decideOtlp(undefined, {
    ...otlp,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "99999999",
    OTEL_SERVICE_NAME: "agents",
    OTEL_RESOURCE_ATTRIBUTES: "service.name=other,deployment.environment.name=night%20shift",
  });
  expect(settings).toMatchObject({
    protocol: "http/json",
    timeoutMs: 60_000,
    resource: { "service.name": "agents", "deployment.environment.name": "night shift" },
  });
});
