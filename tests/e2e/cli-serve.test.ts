import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CliAgent, launched } from "../support/cli-agent.ts";
import { until } from "../support/until.ts";

/** Changes the manifest of a session as an older or another system would have written it. */
function rewrite(at: CliAgent, change: Record<string, unknown>): void {
  const path = join(at.sessionRoot, "manifest.json");
  const manifest = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  writeFileSync(path, JSON.stringify({ ...manifest, ...change }));
}

const healthOf = async (at: CliAgent) => {
  const run = await at.type("agents single --agent-name worker gateway status --json");
  return run.json();
};

describe("svc-gateway serve", () => {
  test("serves a session until it is asked to stop, and reconciles when asked", async () => {
    await using at = await launched("--no-gateway");
    const words = ["serve", "--session-root", at.sessionRoot, "--reconcile"];
    const child = Bun.spawn([...at.fixture.command("svc-gateway"), ...words], {
      env: at.fixture.env,
      stdout: "pipe",
      stderr: "pipe",
    });
    await until("the gateway", async () => (await healthOf(at))["gateway_health"] === "healthy");
    expect(await healthOf(at)).toMatchObject({
      execution_mode: "detached_process",
      request_admission: "open",
    });
    const second = await at.fixture.run("svc-gateway", words);
    expect(second.exitCode).toBe(1);
    expect(second.stderr).toContain("already serves");
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    expect(await new Response(child.stdout).text()).toBe("");
    expect(await new Response(child.stderr).text()).toBe("");
    expect(await healthOf(at)).toMatchObject({ gateway_health: "not_attached" });
  }, 120_000);

  test("refuses an open address without a token, and warns when asked to go on", async () => {
    await using at = await launched("--no-gateway");
    const words = ["serve", "--session-root", at.sessionRoot, "--host", "0.0.0.0"];
    const refused = await at.fixture.run("svc-gateway", words);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain("SVC_GATEWAY_TOKEN");
    const child = Bun.spawn([...at.fixture.command("svc-gateway"), ...words, "--allow-unauthenticated"], {
      env: at.fixture.env,
      stderr: "pipe",
    });
    await until("the gateway", async () => (await healthOf(at))["gateway_health"] === "healthy");
    child.kill("SIGTERM");
    await child.exited;
    expect(await new Response(child.stderr).text()).toContain("WITHOUT authentication");
  }, 120_000);

  test.each<{ id: string; change: Record<string, unknown>; says: string }>([
    { id: "an older manifest", change: { schema_version: 3 }, says: "schema_version 3 is not supported" },
    { id: "a REST-backed session", change: { backend: "cao_rest" }, says: "REST-backed" },
    { id: "a session of a former server", change: { backend: "svc_server_rest" }, says: "REST-backed" },
    { id: "an app server", change: { backend: "codex_app_server" }, says: "app-server" },
    { id: "a backend that nobody knows", change: { backend: "other" }, says: "does not know it" },
  ])(
    "and attach refuse $id and say why",
    async ({ change, says }) => {
      await using at = await launched("--no-gateway");
      const before = readFileSync(join(at.sessionRoot, "manifest.json"), "utf8");
      rewrite(at, change);
      const served = await at.fixture.run("svc-gateway", ["serve", "--session-root", at.sessionRoot]);
      expect(served).toMatchObject({ exitCode: 1, stdout: "" });
      expect(served.stderr).toContain(says);
      const attached = await at.type("agents single --agent-name worker gateway attach");
      expect(attached).toMatchObject({ exitCode: 1, stdout: "" });
      expect(attached.stderr).toContain(says);
      writeFileSync(join(at.sessionRoot, "manifest.json"), before);
    },
    120_000,
  );
});

describe("proxy variables", () => {
  test("do not matter to the gateway client unless SVC_GATEWAY_RESPECT_PROXY_ENV is 1", async () => {
    await using at = await launched();
    const asked: string[] = [];
    using proxy = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch(request) {
        asked.push(request.url);
        return new Response("a proxy was here", { status: 502 });
      },
    });
    const url = `http://127.0.0.1:${proxy.port}`;
    const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    const all = [...names, ...names.map((name) => name.toLowerCase())];
    const env = { ...at.fixture.env, ...Object.fromEntries(all.map((name) => [name, url])) };
    const words = ["agents", "single", "--agent-name", "worker", "gateway", "status", "--json"];
    expect((await at.fixture.run("svc-mgr", words, { env })).json()).toMatchObject({
      gateway_health: "healthy",
    });
    expect(asked).toEqual([]);
    const respected = await at.fixture.run(
      "svc-mgr",
      ["agents", "single", "--agent-name", "worker", "state", "--json"],
      {
        env: { ...env, SVC_GATEWAY_RESPECT_PROXY_ENV: "1" },
      },
    );
    expect(respected.exitCode).toBe(0);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked[0]).toStartWith(at.baseUrl);
  }, 120_000);
});
