import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createGatewayClient, toDetail, toUrl } from "../../../src/services/fleet/gateway-client.ts";
import { createClock } from "../../../src/system/clock.ts";
import { createProcesses } from "../../../src/system/processes.ts";
import { quietSteps } from "../../../src/system/steps.ts";

const health = { protocol_version: "v1", status: "ok" };
const accepted = {
  request_id: "gwreq-1",
  request_kind: "interrupt",
  state: "accepted",
  accepted_at_utc: "2026-11-21T04:47:00.000+00:00",
  queue_depth: 1,
  managed_agent_instance_epoch: 1,
};
const refusal = {
  detail: {
    status: "error",
    action: "submit_prompt",
    sent: false,
    admission_policy: "ready_only",
    error_code: "pending_input",
    detail: "a prompt waits behind the turn",
  },
};

/** A gateway that answers as the test says and remembers what it was asked. */
function serve(answer: (request: Request) => Response | Promise<Response>) {
  const seen: { method: string; url: string; authorization: string | null; body: string }[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      seen.push({
        method: request.method,
        url: request.url,
        authorization: request.headers.get("authorization"),
        body: await request.clone().text(),
      });
      return answer(request);
    },
  });
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const client = (token: string | null = null) =>
    createGatewayClient({ clock: createClock(), baseUrl, token, respectProxyEnvironment: false });
  return { seen, baseUrl, client, [Symbol.dispose]: () => server.stop(true) };
}

describe("an answer", () => {
  test("that fits the contract is its body", async () => {
    using gateway = serve(() => Response.json(health));
    expect(await gateway.client().call("health", {})).toEqual({ kind: "ok", body: health } as never);
  });

  test("with more than we know is handed on whole", async () => {
    using gateway = serve(() => Response.json({ ...health, later: { x: 1 } }));
    expect(await gateway.client().call("health", {})).toEqual({
      kind: "ok",
      body: { ...health, later: { x: 1 } },
    } as never);
  });

  test("that breaks the contract is nobody's", async () => {
    using gateway = serve(() => Response.json({ ...health, status: "fine" }));
    expect(await gateway.client().call("health", {})).toMatchObject({
      kind: "unreachable",
      detail: expect.stringContaining("/status"),
    });
  });

  test("of something that is no gateway is nobody's", async () => {
    using gateway = serve(() => new Response("<html>"));
    expect(await gateway.client().call("health", {})).toMatchObject({ kind: "unreachable" });
  });

  test("that is a refusal keeps its status, its reason and its body", async () => {
    using gateway = serve(() => Response.json(refusal, { status: 409 }));
    expect(
      await gateway.client().call("controlPrompt", { body: { schema_version: 2, prompt: "x" } }),
    ).toEqual({
      kind: "refused",
      status: 409,
      detail: "pending_input: a prompt waits behind the turn",
      body: refusal,
    });
  });

  test("that leads elsewhere is not followed", async () => {
    using elsewhere = serve(() => Response.json(health));
    using gateway = serve(() => Response.redirect(`${elsewhere.baseUrl}/health`));
    expect(await gateway.client("secret").call("health", {})).toMatchObject({ kind: "unreachable" });
    expect(elsewhere.seen).toEqual([]);
  });
});

const interrupt = { schema_version: 1, kind: "interrupt", payload: {} } as const;

describe("a call", () => {
  test("sends method, path, body and token as declared", async () => {
    using gateway = serve(() => Response.json(accepted, { status: 202 }));
    await gateway.client("the-token").call("submitRequest", { body: interrupt });
    expect(gateway.seen).toEqual([
      {
        method: "POST",
        url: `${gateway.baseUrl}/v1/requests`,
        authorization: "Bearer the-token",
        body: JSON.stringify(interrupt),
      },
    ]);
  });

  test("that nobody answers in time is unreachable", async () => {
    using gateway = serve(() => new Promise<Response>(() => {}));
    expect(await gateway.client().call("health", { timeoutMs: 30 })).toMatchObject({
      kind: "unreachable",
      sent: true,
      detail: expect.stringContaining("30 ms"),
    });
  });

  test("whose connection is closed without an answer may have arrived", async () => {
    using server = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: (socket) => void socket.terminate() },
    });
    const baseUrl = `http://127.0.0.1:${server.port}`;
    const client = createGatewayClient({
      clock: createClock(),
      baseUrl,
      token: null,
      respectProxyEnvironment: false,
    });
    expect(await client.call("submitRequest", { body: interrupt })).toEqual({
      kind: "unreachable",
      sent: true,
      detail: `${baseUrl} closed the connection without an answer`,
    });
  });

  test("to a port that nobody listens on is unreachable", async () => {
    const gateway = serve(() => Response.json(health));
    gateway[Symbol.dispose]();
    const detail = `nothing listens at ${gateway.baseUrl}`;
    expect(await gateway.client().call("health", {})).toEqual({ kind: "unreachable", sent: false, detail });
    const stream = await gateway
      .client()
      .openEvents({ afterSeq: null, signal: new AbortController().signal });
    expect(stream).toEqual({ kind: "unreachable", detail });
  });
});

describe("proxy variables", () => {
  const asked: string[] = [];
  const proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      asked.push(request.url);
      return Response.json({ detail: "the proxy answered" }, { status: 418 });
    },
  });
  afterAll(() => proxy.stop(true));

  async function callFromProcess(respect: boolean) {
    using gateway = serve(() => Response.json(health));
    const url = `http://127.0.0.1:${proxy.port}`;
    const { stdout } = await createProcesses({ steps: quietSteps }).run(
      [
        process.execPath,
        join(import.meta.dir, "../../support/health-caller.ts"),
        gateway.baseUrl,
        String(respect),
      ],
      { env: { HTTP_PROXY: url, http_proxy: url, ALL_PROXY: url, PATH: process.env["PATH"] ?? "" } },
    );
    return JSON.parse(stdout) as { kind: string };
  }

  test("are passed by unless asked for", async () => {
    expect(await callFromProcess(false)).toMatchObject({ kind: "ok" });
    expect(asked).toEqual([]);
  });

  test("are respected when asked for", async () => {
    expect(await callFromProcess(true)).toMatchObject({ kind: "refused", detail: "the proxy answered" });
    expect(asked.length).toBe(1);
  });
});

describe("the reason in an error body", () => {
  test.each([
    { id: "a text", body: { detail: "no such request" }, want: "no such request" },
    { id: "a refused prompt", body: refusal, want: "pending_input: a prompt waits behind the turn" },
    {
      id: "a validation error",
      body: { detail: [{ type: "missing", loc: ["body", "payload", 0], msg: "is required" }] },
      want: "body.payload.0: is required",
    },
    { id: "anything else, as it is", body: { x: 1 }, want: '{"x":1}' },
  ])("$id", ({ body, want }) => {
    expect(toDetail(body)).toBe(want);
  });
});

test("a path's parameters are filled in and escaped, a query follows", () => {
  expect(toUrl("http://h", "/v1/requests/:request_id", { request_id: "a/b?c" }, {})).toBe(
    "http://h/v1/requests/a%2Fb%3Fc",
  );
  expect(toUrl("http://h", "/v1/x", {}, { limit: 5, q: "a b" })).toBe("http://h/v1/x?limit=5&q=a+b");
  expect(() => toUrl("http://h", "/v1/:id", {}, {})).toThrow("id");
});
