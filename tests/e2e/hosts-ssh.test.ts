import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { startSshd, writeHostProgram } from "../support/sshd.ts";
import { until } from "../support/until.ts";

describe("agents of a host that ssh reaches", () => {
  test("are listed and driven without a server or a port, and shown as last known while the host is away", async () => {
    await using operator = createCliFixture();
    await using far = createCliFixture();
    const program = writeHostProgram(far);
    // The key of the operator may do this one thing there.
    await using sshd = await startSshd(join(far.folder, "sshd"), { forced: `${program} join --stdio` });
    const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", "--json"];
    expect((await far.mgr(...launch)).exitCode).toBe(0);
    await using at = await startCoordinator(operator, {
      flags: ["--ssh", `build-1=${sshd.destination}`, "--ssh-config", sshd.configFile, "--host-name", "desk"],
      env: { SOME_API_KEY: "of-no-concern-to-ssh" },
    });
    const listed = async () => (await at.ask("/svc/agents")).body["agents"] as Record<string, unknown>[];
    const first = async () => {
      const [one] = await listed();
      return [one?.["agent_name"], one?.["host"], one?.["liveness"], one?.["session_root"]];
    };
    await until("the agent to be live", async () => (await first())[2] === "alive");
    expect(await first()).toEqual(["worker@build-1", "build-1", "alive", null]);
    await until("the agent to be ready", async () => {
      const { body } = await at.ask("/svc/agents/worker@build-1/state");
      return (body["turn"] as { phase?: string } | undefined)?.phase === "ready";
    });
    const keyed = async () => {
      const answer = await at.request("/svc/agents/worker/gateway/requests", {
        method: "POST",
        headers: { "content-type": "application/json", "Idempotency-Key": "key-1" },
        body: JSON.stringify({ kind: "submit_prompt", payload: { prompt: "SAY once" } }),
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const taken = await keyed();
    expect(taken.status).toBe(202);

    // No argument of any process holds a secret: keys are in files.
    const ssh = await until("ssh to be found", () => {
      const { stdout } = Bun.spawnSync(["pgrep", "-P", String(at.pid), "-x", "ssh"]);
      return stdout.toString().trim();
    });
    const words = readFileSync(`/proc/${ssh}/cmdline`, "utf8").split("\0");
    expect(words).toContain(sshd.destination);
    const [, secret = "none"] = readFileSync(join(far.folder, "sshd", "user_key"), "utf8").split("\n");
    expect(secret.length).toBeGreaterThan(50);
    expect(words.join(" ")).not.toContain(secret);
    expect(readFileSync(`/proc/${ssh}/environ`, "utf8")).not.toContain("of-no-concern-to-ssh");

    // The connection breaks and is made again.
    await sshd.cut();
    await until("the agent to be live again", async () => {
      const answer = await at.ask("/svc/agents/worker@build-1");
      return answer.status === 200;
    });
    expect((await keyed()).body["request_id"]).toBe(taken.body["request_id"]);

    // It stays open and carries nothing: three heartbeats.
    const frozenMs = performance.now();
    sshd.freeze(true);
    await until("the host to be away", async () => (await first())[2] === "unknown");
    expect(performance.now() - frozenMs).toBeLessThan(6000);
    sshd.freeze(false);
    await until("the host to be live", async () => (await first())[2] === "alive");

    // The host is gone.
    const goneMs = Date.now();
    await sshd.stop();
    await until("the host to be away", async () => (await first())[2] === "unknown");
    const [last] = await listed();
    expect(last).toMatchObject({ agent_name: "worker@build-1", has_gateway: false });
    const since = Date.parse(String(last?.["host_away_since_utc"]));
    expect(Math.abs(since - goneMs)).toBeLessThan(5000);
    const refused = await keyed();
    expect([refused.status, String(refused.body["detail"])]).toEqual([
      503,
      expect.stringContaining("nothing was sent"),
    ]);
    await sshd.start();
    await until("the host to be back", async () => (await first())[2] === "alive");
    expect((await keyed()).body["request_id"]).toBe(taken.body["request_id"]);
  }, 120_000);

  const wrong: { id: string; flags: string[]; said: string }[] = [
    { id: "an option of ssh", flags: ["--ssh=x=-oProxyCommand=y"], said: "give user@HOST" },
    { id: "a second word", flags: ["--ssh", "me@a b"], said: "give user@HOST" },
    { id: "an address without a name", flags: ["--ssh", "me@10.0.0.7"], said: "needs a name" },
    { id: "one name twice", flags: ["--ssh", "a@one", "--ssh", "b@one"], said: 'named "one"' },
    { id: "our own name", flags: ["--ssh", "a@desk", "--host-name", "desk"], said: 'named "desk"' },
    { id: "a command", flags: ["--ssh", "a@one", "--ssh-program", "x; y"], said: "one path" },
  ];
  test.each(wrong)("$id is refused", async ({ flags, said }) => {
    await using fixture = createCliFixture();
    const run = await fixture.run("svc-coord", ["serve", "--port", "0", ...flags]);
    expect([run.exitCode, run.stderr]).toEqual([2, expect.stringContaining(said)]);
  });
});
