import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBuiltFixture } from "../../support/built-agent.ts";
import { builtPrograms, type CliFixture } from "../../support/cli-fixture.ts";
import { startCoordinator } from "../../support/coord-server.ts";
import { createSecondUser } from "../../support/second-user.ts";
import { startThief, type Thief } from "../../support/thief.ts";
import { until } from "../../support/until.ts";

const token = "the-token-of-the-session";
const words = "the words of the prompt";

interface Victim {
  fixture: CliFixture;
  sessionRoot: string;
  recordPath: string;
  record: { pid: number; port: number; host: string; process_start?: string };
  /** What the gateway answered to `/v1/status`. */
  status: Record<string, unknown>;
}

async function launch(fixture: CliFixture): Promise<Victim> {
  const env = { ...fixture.env, SVC_GATEWAY_TOKEN: token };
  const flags = ["--tool", "demo", "--agent-name", "worker", "--gateway-background", "--json"];
  const run = await fixture.run("svc-mgr", ["agents", "launch", ...flags], { env });
  if (run.exitCode !== 0) throw new Error(run.stderr);
  const sessionRoot = String(run.json()["session_root"]);
  const recordPath = join(sessionRoot, "gateway/run/current-instance.json");
  const record = JSON.parse(readFileSync(recordPath, "utf8")) as Victim["record"];
  const reply = await fetch(`http://127.0.0.1:${record.port}/v1/status`, {
    headers: { authorization: `Bearer ${token}` },
    proxy: false,
  } as unknown as RequestInit);
  const status = (await reply.json()) as Record<string, unknown>;
  return { fixture, sessionRoot, recordPath, record, status };
}

/** What our clients do with a gateway of this agent, one after another. */
async function useAll({ fixture }: Victim): Promise<void> {
  const single = ["agents", "single", "--agent-name", "worker"];
  await fixture.mgr("agents", "list", "--json");
  await fixture.mgr(...single, "state");
  await fixture.mgr(...single, "prompt", "--prompt", words);
  await fixture.mgr(...single, "gateway", "prompt", "--prompt", words);
  await fixture.mgr(...single, "gateway", "status");
  await fixture.mgr(...single, "gateway", "detach");
}

function expectNothingStolen(thief: Thief): void {
  const heard = thief.heard();
  for (const secret of [token, words, "authorization", "Authorization"]) {
    expect([secret, heard]).toEqual([secret, expect.not.stringContaining(secret)]);
  }
}

async function endGateway(victim: Victim): Promise<void> {
  victim.fixture.kill(victim.record.pid);
  await until("the gateway to be gone", () => !victim.fixture.alive(victim.record.pid));
}

describe("a caller that listens where a gateway did", () => {
  test("gets neither the token nor a prompt after the gateway was killed", async () => {
    await using fixture = createBuiltFixture(builtPrograms);
    await using other = createSecondUser();
    const victim = await launch(fixture);
    await using server = await startCoordinator(fixture, { env: { SVC_GATEWAY_TOKEN: token } });
    // The coordinator knows the gateway and has a kept connection to it.
    expect((await server.ask("/svc/agents/worker/state")).status).toBe(200);
    await endGateway(victim);
    const thief = await startThief(other, victim.record.port, victim.status);
    for (const path of ["gateway/control/prompt", "requests", "gateway/requests"]) {
      await server.ask(`/svc/agents/worker/${path}`, { request_kind: "submit_prompt", prompt: words });
    }
    await useAll(victim);
    expectNothingStolen(thief);
    await thief.stop();
  }, 120_000);

  test("gets nothing although its own process is named in a planted record", async () => {
    await using fixture = createBuiltFixture(builtPrograms);
    await using other = createSecondUser();
    const victim = await launch(fixture);
    await endGateway(victim);
    const thief = await startThief(other, 0, victim.status);
    const stat = readFileSync(`/proc/${thief.pid}/stat`, "utf8");
    const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    for (const change of [
      { pid: thief.pid, process_start: start, port: thief.port },
      { pid: thief.pid, port: thief.port },
      { pid: process.pid, port: thief.port },
    ]) {
      const { process_start: _start, ...record } = victim.record;
      writeFileSync(victim.recordPath, JSON.stringify({ ...record, ...change }));
      writeFileSync(join(victim.sessionRoot, "gateway/run/challenge-key"), "planted\n");
      await useAll(victim);
    }
    expect(fixture.alive(thief.pid)).toBe(true);
    expectNothingStolen(thief);
    await thief.stop();
  }, 120_000);

  test("is not asked at an address that nobody chose", async () => {
    await using fixture = createBuiltFixture(builtPrograms);
    const victim = await launch(fixture);
    await endGateway(victim);
    for (const host of [
      "gateway.example",
      "10.0.0.1",
      "2001:db8::1",
      "127.0.0.1.example",
      "127.0.0.1@example",
    ]) {
      writeFileSync(victim.recordPath, JSON.stringify({ ...victim.record, host }));
      const run = await fixture.mgr(
        "agents",
        "single",
        "--agent-name",
        "worker",
        "gateway",
        "prompt",
        "--prompt",
        words,
      );
      expect([host, run.exitCode, run.stderr]).toEqual([host, 3, expect.stringContaining("is not loopback")]);
    }
    writeFileSync(victim.recordPath, JSON.stringify(victim.record));
  }, 120_000);

  test("gets nothing from a watcher when it takes the port of the coordination server", async () => {
    await using fixture = createBuiltFixture(builtPrograms);
    await using other = createSecondUser();
    const server = await startCoordinator(fixture, { env: { SVC_COORD_TOKEN: token } });
    const instancePath = join(String(server.ready["server_root"]), "run/current-instance.json");
    server.signal("SIGKILL");
    await server.exited;
    const thief = await startThief(other, Number(new URL(server.baseUrl).port), {});
    const record = JSON.parse(readFileSync(instancePath, "utf8")) as Record<string, unknown>;
    // Its id is another process's by now, which lives.
    writeFileSync(instancePath, JSON.stringify({ ...record, pid: process.pid }));
    await using watch = watching(fixture);
    await watch.gateways();
    expectNothingStolen(thief);
    await thief.stop();
  }, 120_000);
});

/** `agents watch` until it follows the gateways themselves. */
function watching(fixture: CliFixture) {
  const command = [...fixture.command("svc-mgr"), "agents", "watch", "--json"];
  const child = Bun.spawn(command, {
    env: fixture.env,
    cwd: fixture.workdir,
    stdout: "pipe",
    stderr: "inherit",
  });
  return {
    async gateways() {
      const run = await launch(fixture);
      const reader = child.stdout.getReader();
      let seen = "";
      while (!seen.includes("worker")) seen += new TextDecoder().decode((await reader.read()).value);
      return run;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

describe("gateway detach", () => {
  test("leaves a process alone that got the id of the recorded gateway", async () => {
    await using fixture = createBuiltFixture(builtPrograms);
    const victim = await launch(fixture);
    await endGateway(victim);
    // It even names the session, as the gateway did.
    const stranger = Bun.spawn(["sh", "-c", "read line", "sh", victim.sessionRoot], { stdin: "pipe" });
    try {
      for (const start of [victim.record.process_start, undefined]) {
        const record = { ...victim.record, pid: stranger.pid, process_start: start };
        writeFileSync(victim.recordPath, JSON.stringify(record));
        await fixture.mgr("agents", "single", "--agent-name", "worker", "gateway", "detach");
        expect([stranger.exitCode, stranger.signalCode]).toEqual([null, null]);
      }
    } finally {
      stranger.kill("SIGKILL");
      await stranger.exited;
    }
  }, 120_000);
});
