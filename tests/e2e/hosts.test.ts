import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { joinHost, startBus } from "../support/bus.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { until } from "../support/until.ts";

describe("agents of several hosts", () => {
  test("one server lists, reads and drives them through the same routes", async () => {
    await using operator = createCliFixture();
    await using first = createCliFixture();
    await using bus = await startBus(join(operator.folder, "bus"), ["build-1", "build-2"]);
    await using one = await joinHost(first, bus, "build-1");
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

    // A key finds its request again, also after the host's process was replaced.
    const keyed = () =>
      at.request("/svc/agents/worker@build-1/gateway/requests", {
        method: "POST",
        headers: { "content-type": "application/json", "Idempotency-Key": "key-1" },
        body: JSON.stringify({ kind: "submit_prompt", payload: { prompt: "SAY once" } }),
      });
    const taken = (await (await keyed()).json()) as { request_id: string };
    one.signal("SIGKILL");
    await one.exited;
    await until("the host to be away", async () => (await named())[0]?.[2] === "unknown");
    const away = await keyed();
    expect([away.status, await away.text()]).toEqual([503, expect.stringContaining("nothing was sent")]);
    await using _again = await joinHost(first, bus, "build-1");
    await until("the host to be back", async () => (await named())[0]?.[2] === "alive");
    expect(await (await keyed()).json()).toMatchObject({ request_id: taken.request_id });
    const words = ["outcome", "key-1", "--agent-name", "worker@build-1"];
    const outcome = await operator.run("svc-coord", words);
    expect([outcome.exitCode, outcome.stdout]).toEqual([0, expect.stringContaining(taken.request_id)]);
    const none = await operator.run("svc-coord", ["outcome", "key-9", "--agent-name", "worker@build-1"]);
    expect(none.stdout).toContain("was not done");

    // Its turns are summed under its host.
    const summed = await until("both turns in the sums", async () => {
      const { body } = await at.ask("/svc/ledger?by=host");
      const [row] = body["rows"] as Record<string, unknown>[];
      return row?.["turns"] === 2 && row;
    });
    const own = (await first.mgr("ledger", "--json")).json()["total"] as Record<string, unknown>;
    expect(own).toMatchObject({ turns: 2 });
    expect(summed).toEqual({ host: "build-1", ...own });

    // The same name on a second host.
    await using second = createCliFixture();
    await using _two = await joinHost(second, bus, "build-2");
    expect((await second.mgr("agents", "launch", "--tool", "demo", "--agent-name", "worker")).exitCode).toBe(
      0,
    );
    await until("both to be listed", async () => (await named()).length === 2);
    expect((await named()).map(([name]) => name)).toEqual(["worker@build-1", "worker@build-2"]);
    const ambiguous = await at.ask("/svc/agents/worker");
    expect([ambiguous.status, ambiguous.body["agent_ids"]]).toEqual([
      409,
      [expect.stringContaining("@build-1"), expect.stringContaining("@build-2")],
    ]);
    expect((await at.ask("/svc/agents/worker@build-2")).body).toMatchObject({ agent_name: "worker@build-2" });
    expect((await at.ask("/svc/agents/worker@build-9")).status).toBe(404);

    // The broker is killed and comes back.
    await bus.restart();
    await until("both to answer again", async () => {
      const all = await Promise.all([1, 2].map((host) => at.ask(`/svc/agents/worker@build-${host}`)));
      return all.every(({ status }) => status === 200);
    });
    expect((await named()).map(([, , liveness]) => liveness)).toEqual(["alive", "alive"]);
  }, 90_000);
});
