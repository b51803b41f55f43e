import { afterAll, expect, test } from "bun:test";
import { createCliFixture } from "../support/cli-fixture.ts";

const fixture = createCliFixture();
afterAll(() => fixture[Symbol.asyncDispose]());

test("where tmux is not on PATH an agent is seen by its gateway, and nothing is ended or cleaned up", async () => {
  expect(
    (await fixture.mgr("agents", "launch", "--tool", "demo", "--agent-name", "alive", "--json")).exitCode,
  ).toBe(0);
  const blind = { env: { ...fixture.env, PATH: "/nonexistent" } };

  const doctor = await fixture.run("svc-mgr", ["doctor", "--fix", "--json"], blind);
  const checks = doctor.json()["checks"] as { name: string; verdict: string; detail: string }[];
  expect(checks.find((check) => check.name === "registry")).toMatchObject({
    verdict: "warning",
    detail: expect.stringContaining("cannot determine which agents live"),
  });
  const listed = (await fixture.run("svc-mgr", ["agents", "list", "--json"], blind)).json();
  expect(listed["agents"]).toMatchObject([
    {
      agent_name: "alive",
      lifecycle_state: "active",
      session_gone: false,
      availability: "available",
      problem: null,
    },
  ]);
  const stopped = await fixture.run("svc-mgr", ["agents", "single", "--agent-name", "alive", "stop"], blind);
  expect(stopped).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("tmux is not installed") });

  const seen = (await fixture.mgr("agents", "list", "--json")).json();
  expect(seen["agents"]).toMatchObject([
    { agent_name: "alive", lifecycle_state: "active", availability: "available" },
  ]);
  const status = await fixture.mgr(
    "agents",
    "single",
    "--agent-name",
    "alive",
    "gateway",
    "status",
    "--json",
  );
  expect(status.json()).toMatchObject({ gateway_health: "healthy" });
});
