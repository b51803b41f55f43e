import { describe, expect, test } from "bun:test";
import { createFakeAgent, type FakeAgent } from "../support/fake-agent.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { json, surfaces } from "../support/http-surface.ts";

function withoutScreen(backend: string): FakeAgent {
  const agent = createFakeAgent();
  return { ...agent, backend, terminal: { ...agent.terminal, tracked: false } };
}

describe.each(surfaces)("backends that are not ours, $surface", ({ open }) => {
  async function setup(backend: string) {
    const bundle = createGatewayBundle({ agent: withoutScreen(backend) });
    const http = open((request) => bundle.app.fetch(request));
    return {
      ...bundle,
      http,
      async [Symbol.asyncDispose]() {
        await http[Symbol.asyncDispose]();
        await bundle[Symbol.asyncDispose]();
      },
    };
  }

  test("an app server has no direct prompt control: 501 unsupported_backend", async () => {
    await using gateway = await setup("codex_app_server");
    const body = json({ schema_version: 2, prompt: "x", admission_policy: "always" });
    const reply = await gateway.http.request("/v1/control/prompt", body);
    expect(reply.status).toBe(501);
    expect(await reply.json()).toMatchObject({
      detail: { status: "error", sent: false, error_code: "unsupported_backend" },
    });
    expect(gateway.agent.prompts).toEqual([]);
  });

  test.each(["cao_rest", "svc_server_rest", "codex_headless"])("%s takes no keys: 422", async (backend) => {
    await using gateway = await setup(backend);
    const reply = await gateway.http.request("/v1/control/send-keys", json({ sequence: "<[Enter]>" }));
    expect([reply.status, gateway.agent.keysSent]).toEqual([422, []]);
    expect(await reply.json()).toEqual({ detail: `keys do not arrive exactly at a ${backend} session` });
  });

  test.each(["state", "history"])("the terminal's %s is 422", async (what) => {
    await using gateway = await setup("cao_rest");
    const reply = await gateway.http.request(`/v1/control/tui/${what}`);
    expect(reply.status).toBe(422);
  });

  test("a prompt note is 422", async () => {
    await using gateway = await setup("cao_rest");
    const reply = await gateway.http.request("/v1/control/tui/note-prompt", json({ prompt: "x" }));
    expect(reply.status).toBe(422);
  });
});
