import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { joinHost, startBus } from "../support/bus.ts";
import { createCliLab } from "../support/cli-lab.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { until } from "../support/until.ts";

describe("agents of several hosts", () => {
  test("one server lists, reads and drives them through the same routes", async () => {
    await using operator = createCliLab();
    await using first = createCliLab();
    await using bus = await startBus(join(operator.folder, "bus"), ["build-1", "build-2"]);
    await using _one = await joinHost(first, bus, "build-1");
    const launched = await first.mgr(
      "agents",
      "launch",
      "--tool",
      "demo",
      "--agent-name",
      "worker",
      "--json",
    );
    expect(launched.exitCode).toBe(0);
    await using at = await startCoordinator(operator, {
      flags: ["--nats", bus.url, "--creds", bus.operatorKey, "--host-name", "desk"],
    });
    const named = async () =>
      ((await at.ask("/svc/agents")).body["agents"] as Record<string, unknown>[]).map((one) => [
        one["agent_name"],
        one["host"],
        one["liveness"],
        one["session_root"],
      ]);
    await until("the agent to be listed", async () => (await named()).length === 1);
    expect(await named()).toEqual([["worker@build-1", "build-1", "alive", null]]);
    await until("the agent to be ready", async () => {
      const { body } = await at.ask("/svc/agents/worker@build-1/state");
      return (body["turn"] as { phase?: string } | undefined)?.phase === "ready";
    });
    const submitted = await at.ask("/svc/agents/worker/requests", {
      request_kind: "submit_prompt",
      prompt: "SAY far",
    });
    expect(submitted).toMatchObject({ status: 200, body: { success: true } });
    await until("the prompt to be seen", async () => {
      const { body } = await at.ask("/svc/agents/worker@build-1/state/detail");
      return JSON.stringify(body).includes("far");
    });
  }, 60_000);
});
