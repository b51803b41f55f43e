import { describe, expect, test } from "bun:test";
import { createCoordinatorBundle } from "../support/coordinator-bundle.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { json, surfaces } from "../support/http-surface.ts";
import { createWebPage } from "./web-page.ts";

const friend = "http://localhost:3000";
const connect = {
  method: "POST",
  headers: { "content-type": "application/json", accept: "text/event-stream" },
  body: JSON.stringify({ threadId: "t", runId: "r", state: {}, messages: [], tools: [], context: [] }),
};

describe.each(surfaces)("a page of an allowed origin $surface", ({ open }) => {
  async function setup(options: Parameters<typeof createGatewayBundle>[0] = {}) {
    const bundle = createGatewayBundle({ allowedOrigins: [friend], ...options });
    const http = open((request) => bundle.app.fetch(request));
    return {
      ...bundle,
      http,
      page: (origin: string) => createWebPage(origin, http.request),
      async [Symbol.asyncDispose]() {
        await http[Symbol.asyncDispose]();
        await bundle[Symbol.asyncDispose]();
      },
    };
  }

  test("reads, submits, follows an AG-UI stream and detaches it", async () => {
    await using gateway = await setup();
    const page = gateway.page(friend);
    expect(await page("/v1/status")).toMatchObject({ blocked: null, status: 200 });
    const submit = json({ kind: "submit_prompt", payload: { prompt: "hello" } });
    const headers = { "content-type": "application/json" };
    expect(await page("/v1/requests", { method: "POST", headers, body: String(submit.body) })).toMatchObject({
      blocked: null,
      status: 202,
    });
    const stream = await page("/v1/ag-ui/connect", connect);
    if (stream.blocked !== null) throw new Error(`blocked: ${stream.blocked}`);
    const connection = stream.headers["x-svc-connection-id"] ?? "";
    expect(connection).toStartWith("agui-");
    const detach = await page(`/v1/ag-ui/connections/${connection}`, { method: "DELETE" });
    expect(detach).toMatchObject({ blocked: null, status: 200 });
    expect(await stream.response.text()).toContain("RUN_FINISHED");
  });

  test("reads errors too, and shows a token", async () => {
    await using gateway = await setup({ token: "right" });
    const page = gateway.page(friend);
    expect(await page("/v1/status")).toMatchObject({ blocked: null, status: 401 });
    const shown = { headers: { authorization: "Bearer right" } };
    expect(await page("/v1/status", shown)).toMatchObject({ blocked: null, status: 200 });
    expect(await page("/v1/requests/none", shown)).toMatchObject({ blocked: null, status: 404 });
    expect(await page("/v1/status", { ...shown, method: "DELETE" })).toMatchObject({
      blocked: null,
      status: 405,
    });
  });

  test("gets no leave for other headers, and credentials for none", async () => {
    await using gateway = await setup();
    const page = gateway.page(friend);
    expect(await page("/v1/status", { headers: { "x-other": "1" } })).toMatchObject({ blocked: "preflight" });
    const reply = await gateway.http.request("/v1/status", { headers: { origin: friend } });
    expect(reply.headers.get("access-control-allow-credentials")).toBeNull();
    expect(reply.headers.get("vary")).toBe("Origin");
  });

  test("a cache keeps the answers to others apart from it", async () => {
    await using gateway = await setup();
    const own = await gateway.http.request("/v1/status");
    const foreign = await gateway.http.request("/v1/status", { headers: { origin: "http://evil.example" } });
    for (const reply of [own, foreign]) {
      expect([reply.headers.get("vary"), reply.headers.get("access-control-allow-origin")]).toEqual([
        "Origin",
        null,
      ]);
    }
  });

  test.each([
    "null",
    "http://evil.example",
    "http://localhost:3001",
    "https://localhost:3000",
    "http://localhost:3000.evil.example",
    "http://LOCALHOST:3000",
    "http://localhost:3000/",
    "http://127.0.0.1:3000",
    "*",
    "",
  ])("a page of %j is refused whatever it asks", async (origin) => {
    await using gateway = await setup();
    const page = gateway.page(origin);
    expect(await page("/v1/status")).toEqual({ blocked: "answer", status: 403 });
    expect(await page("/v1/ag-ui/connect", connect)).toEqual({ blocked: "preflight", status: 403 });
    expect(await page("/v1/mail-notifier", { method: "DELETE" })).toEqual({
      blocked: "preflight",
      status: 403,
    });
    // What needs no preflight arrives, and must do nothing.
    const form = {
      method: "POST",
      headers: { origin, "content-type": "text/plain" },
      body: '{"kind":"interrupt"}',
    };
    expect((await gateway.http.request("/v1/requests", form)).status).toBe(403);
    expect(gateway.events).toEqual([]);
  });
});

describe("without an Origin, what the browser says of the page decides", () => {
  test.each([
    { id: "an image or script of another site", site: "cross-site", mode: "no-cors", status: 403 },
    { id: "a frame of another port of this machine", site: "same-site", mode: "no-cors", status: 403 },
    { id: "a link that a person follows", site: "cross-site", mode: "navigate", status: 200 },
    { id: "an address that a person types", site: "none", mode: "navigate", status: 200 },
    { id: "our own page", site: "same-origin", mode: "cors", status: 200 },
    { id: "no browser", site: null, mode: null, status: 200 },
  ])("$id: $status", async ({ site, mode, status }) => {
    await using gateway = createGatewayBundle();
    const headers = new Headers();
    if (site !== null) headers.set("sec-fetch-site", site);
    if (mode !== null) headers.set("sec-fetch-mode", mode);
    const reply = await gateway.app.fetch(new Request("http://127.0.0.1:1/v1/status", { headers }));
    expect(reply.status).toBe(status);
  });
});

test("the coordination server treats pages in the same way", async () => {
  await using fleet = createCoordinatorBundle({ allowedOrigins: [friend] });
  const request = async (path: string, init: RequestInit) =>
    fleet.app.fetch(new Request(`http://127.0.0.1:1${path}`, init));
  expect(await createWebPage(friend, request)("/svc/agents")).toMatchObject({ blocked: null, status: 200 });
  const stop = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  expect(await createWebPage(friend, request)("/svc/agents/worker/stop", stop)).toMatchObject({
    blocked: null,
  });
  expect(await createWebPage("http://evil.example", request)("/svc/agents/worker/stop", stop)).toEqual({
    blocked: "preflight",
    status: 403,
  });
});
