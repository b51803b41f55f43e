import { describe, expect, test } from "bun:test";
import type { Diagnostic } from "../../src/services/diagnostics/diagnostic-log.ts";
import { renderDiagnostic } from "../../src/services/diagnostics/diagnostic-log.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { json, surfaces } from "../support/http-surface.ts";

const secret = "hunter2-7f3a";

describe.each(surfaces)("diagnostics of requests $surface", ({ open }) => {
  function setup() {
    const recorded: Diagnostic[] = [];
    const bundle = createGatewayBundle({
      diagnostics: (diagnostic) => void recorded.push(diagnostic),
      token: "right",
    });
    const http = open(async (request) => bundle.fetch(request));
    const request = (path: string, init: RequestInit = {}) =>
      http.request(path, { ...init, headers: { authorization: "Bearer right", ...init.headers } });
    return {
      bundle,
      recorded,
      request,
      async [Symbol.asyncDispose]() {
        await http[Symbol.asyncDispose]();
        await bundle[Symbol.asyncDispose]();
      },
    };
  }

  test("a request that went well is one info line with the route's pattern", async () => {
    await using one = setup();
    await one.request("/v1/requests?limit=3");
    expect(one.recorded).toEqual([
      {
        level: "info",
        event: "gateway.http_request_completed",
        dedupKey: "gateway.http_request_completed GET /v1/requests 200",
        fields: {
          method: "GET",
          path: "/v1/requests",
          status_code: 200,
          duration_ms: 0,
          request_id: expect.stringMatching(/^http-[0-9a-f]+$/),
        },
      },
    ]);
  });

  test("a refusal is a warning and a fault an error, each once", async () => {
    await using one = setup();
    await one.request(`/v1/requests/${secret}`);
    await one.request("/v1/status", { headers: { authorization: "Bearer wrong" } });
    await one.request("/v1/status", { method: "DELETE" });
    await one.request(`/${secret}`);
    one.bundle.board.status = () => {
      throw new RangeError(secret);
    };
    await one.request("/v1/control/prompt", json({ prompt: 5 }));
    one.bundle.agent.connectivity = () => {
      throw new RangeError(secret);
    };
    await one.request("/v1/requests", json({ kind: "interrupt" }));
    const told = one.recorded.map(({ level, event, fields }) => [
      level,
      event,
      fields["path"],
      fields["status_code"],
    ]);
    expect(told).toEqual([
      ["warning", "gateway.http_request_completed", "/v1/requests/:request_id", 404],
      ["warning", "gateway.http_request_completed", "/v1/status", 401],
      ["warning", "gateway.http_request_completed", "/v1/status", 405],
      ["warning", "gateway.http_request_completed", "(no such route)", 404],
      ["warning", "gateway.http_validation_failed", "/v1/control/prompt", 422],
      ["error", "gateway.http_request_failed", "/v1/requests", 500],
    ]);
    expect(one.recorded.at(-1)?.fields["error_category"]).toBe("RangeError");
  });

  test("a request that is not valid reports where and of what kind, never what was sent", async () => {
    await using one = setup();
    await one.request(
      "/v1/requests",
      json({ kind: "submit_prompt", payload: { prompt: " ", [secret]: secret } }),
    );
    await one.request("/v1/requests", { ...json({}), body: `{"${secret}` });
    await one.request(`/v1/requests?limit=${secret}&${secret}=1`);
    expect(one.recorded.map(({ fields }) => [fields["error_count"], fields["validation_errors"]])).toEqual([
      [
        2,
        expect.arrayContaining([
          { type: "value_error", loc: ["body", "payload", "prompt"] },
          { type: "extra_forbidden", loc: ["body", "payload", "*"] },
        ]),
      ],
      [1, [{ type: "json_invalid", loc: ["body"] }]],
      [
        2,
        expect.arrayContaining([
          { type: "int_type", loc: ["query", "limit"] },
          { type: "extra_forbidden", loc: ["query", "*"] },
        ]),
      ],
    ]);
  });

  test("the line on disk says where, too", async () => {
    await using one = setup();
    await one.request("/v1/mail/list", json({ limit: "5" }));
    await one.request("/v1/requests", { ...json({}), body: "[".repeat(500) });
    const lines = one.recorded.map((diagnostic) => JSON.parse(renderDiagnostic(diagnostic, "now")));
    expect(lines.map(({ event, validation_errors }) => [event, validation_errors])).toEqual([
      ["gateway.http_validation_failed", [{ type: "int_type", loc: ["body", "limit"] }]],
      ["gateway.http_validation_failed", [{ type: "json_invalid", loc: ["body"] }]],
    ]);
  });

  test("no line of any of them holds a word that the caller sent", async () => {
    await using one = setup();
    const calls: [string, RequestInit][] = [
      ["/v1/requests", json({ kind: "submit_prompt", payload: { prompt: secret } })],
      ["/v1/control/prompt", json({ schema_version: 2, prompt: secret, admission_policy: secret })],
      ["/v1/control/send-keys", json({ sequence: `<[${secret}]>` })],
      [`/v1/requests/${secret}?${secret}=${secret}`, {}],
      [`/v1/control/tui/wait?for=${secret}`, {}],
      ["/v1/requests", { method: "POST", body: secret, headers: { "content-type": "text/plain" } }],
      ["/v1/status", { headers: { authorization: `Bearer ${secret}`, cookie: secret } }],
      ["/v1/status", { headers: { origin: `http://${secret}`, "user-agent": secret } }],
    ];
    for (const [path, init] of calls) await one.request(path, init);
    const text = one.recorded.map((diagnostic) => renderDiagnostic(diagnostic, "now")).join("\n");
    expect(one.recorded).toHaveLength(calls.length);
    expect(text).not.toContain(secret);
  });
});
