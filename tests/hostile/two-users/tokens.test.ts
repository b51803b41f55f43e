import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createBuiltFixture } from "../../support/built-agent.ts";
import { builtPrograms } from "../../support/cli-fixture.ts";
import { startCoordinator } from "../../support/coord-server.ts";
import { sparePorts } from "../../support/spare-ports.ts";
import { until } from "../../support/until.ts";

async function statusOf(url: string, token?: string): Promise<number> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (await fetch(url, { headers, proxy: false } as unknown as RequestInit)).status;
}

test("a session that was started with a token asks for one after every restart, until --no-token", async () => {
  await using fixture = createBuiltFixture(builtPrograms);
  const env = { ...fixture.env, SVC_GATEWAY_TOKEN: "first" };
  const flags = ["--tool", "demo", "--agent-name", "worker", "--gateway-background", "--json"];
  const launch = await fixture.run("svc-mgr", ["agents", "launch", ...flags], { env });
  const run = join(String(launch.json()["session_root"]), "gateway/run");
  const single = (...words: string[]) => fixture.mgr("agents", "single", "--agent-name", "worker", ...words);
  const attached = async (...words: string[]) => {
    expect((await single("gateway", "attach", ...words)).stderr).not.toContain("error");
    const { port, pid } = JSON.parse(readFileSync(join(run, "current-instance.json"), "utf8")) as Record<
      string,
      number
    >;
    return { url: `http://127.0.0.1:${port}/v1/status`, pid: pid ?? 0 };
  };
  const token = () => readFileSync(join(run, "token"), "utf8").trim();

  const first = await attached();
  expect([await statusOf(first.url), await statusOf(first.url, "first")]).toEqual([401, 200]);
  fixture.kill(first.pid);
  await until("the gateway to be gone", () => !fixture.alive(first.pid));
  const second = await attached();
  expect([await statusOf(second.url), await statusOf(second.url, token())]).toEqual([401, 200]);
  expect((await single("gateway", "detach")).exitCode).toBe(0);
  const third = await attached();
  expect([await statusOf(third.url), await statusOf(third.url, token())]).toEqual([401, 200]);
  expect((await single("gateway", "status")).exitCode).toBe(0);
  expect((await single("gateway", "detach")).exitCode).toBe(0);
  const refused = await fixture.run(
    "svc-mgr",
    ["agents", "single", "--agent-name", "worker", "gateway", "attach", "--no-token"],
    { env },
  );
  expect([refused.exitCode, refused.stderr]).toEqual([
    expect.any(Number),
    expect.stringContaining("SVC_GATEWAY_TOKEN"),
  ]);
  expect(refused.exitCode).not.toBe(0);
  const open = await attached("--no-token");
  expect(await statusOf(open.url)).toBe(200);
  expect((await single("gateway", "detach")).exitCode).toBe(0);
  expect(await statusOf((await attached()).url)).toBe(200);
}, 120_000);

test("a coordination server on a separate port does the same", async () => {
  await using fixture = createBuiltFixture(builtPrograms);
  const [port = 0] = await sparePorts(1);
  const serve = async (env: Record<string, string>, ...flags: string[]) => {
    await using server = await startCoordinator(fixture, { env, port, flags });
    return await statusOf(`${server.baseUrl}/svc/agents`);
  };
  expect(await serve({})).toBe(200);
  expect(await serve({ SVC_COORD_TOKEN: "first" })).toBe(401);
  expect(await serve({})).toBe(401);
  expect(await serve({}, "--no-token")).toBe(200);
  expect(await serve({})).toBe(200);
}, 120_000);
