import { describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
import type { AgentIdentity } from "../../src/protocol/agents.ts";
import { createLocalDirectory, createLocalLink, type HostLink } from "../../src/services/hosts/host-link.ts";
import { busNames, joinBus, operateBus } from "../../src/services/hosts/nats-bus.ts";
import { createClock } from "../../src/system/clock.ts";
import { createIds } from "../../src/system/ids.ts";
import { type Bus, startBus } from "../support/bus.ts";
import { createCliLab } from "../support/cli-lab.ts";
import { sampleKnown } from "../support/fleet-fakes.ts";
import { until } from "../support/until.ts";

const system = () => ({ clock: createClock(), ids: createIds(), log: () => {} });
const names = busNames("svc");
const addressOf = (bus: Bus, key: string) => ({
  ...{ url: bus.url, fleet: "svc", authorities: null, credentials: readFileSync(key, "utf8") },
});

/** A server, an operator, and build-1 with one agent, whose operations `handle` answers. */
async function setup(handle: (request: Request) => Response = () => Response.json({ ok: true })) {
  const folder = mkdtempSync(join(tmpdir(), "svc-bus-"));
  const bus = await startBus(folder, ["build-1", "build-2"]);
  const operator = await operateBus({ ...system(), address: addressOf(bus, bus.operatorKey) });
  const { identity } = sampleKnown("worker", { sessionId: "local_interactive-1" });
  const handled: string[] = [];
  const host = await joinBus({
    ...{ ...system(), address: addressOf(bus, bus.keyOf("build-1")), host: "build-1" },
    ...{ epoch: 7, version: "0", heartbeatMs: 200 },
    directory: createLocalDirectory({
      ...{ host: "build-1", version: "0" },
      list: async () => ({ agents: [identity as AgentIdentity] }),
    }),
    link: createLocalLink((request) => {
      handled.push(new URL(request.url).pathname);
      return handle(request);
    }),
  });
  await host.start();
  await until("the host to be live", () => operator.directory.hosts()[0]?.state === "live");
  return {
    ...{ bus, operator, handled, folder },
    async [Symbol.asyncDispose]() {
      await operator.stop();
      await host.stop();
      await bus[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const call = (link: HostLink, operation: string) =>
  link.send({
    ...{ operation, params: { agent_ref: "worker" }, query: "", headers: {}, body: null },
    signal: new AbortController().signal,
  });

/** Somebody who has the key of build-2 and does with it what the server lets them. */
async function takenOver(bus: Bus) {
  const seed = new TextEncoder().encode(readFileSync(bus.keyOf("build-2"), "utf8").trim());
  const connection = await connect({
    servers: bus.url,
    authenticator: nkeyAuthenticator(seed),
    inboxPrefix: names.inbox("build-2"),
    reconnect: false,
  });
  const refused: string[] = [];
  void (async () => {
    for await (const status of connection.status()) {
      if (status.type === "error") refused.push(String(status.error.message));
    }
  })();
  return { connection, refused };
}

describe("a host that is taken over", () => {
  test("reaches its agents and no others: it calls, hears and impersonates no other host", async () => {
    await using world = await setup();
    const { bus, operator, handled } = world;
    const { connection, refused } = await takenOver(bus);
    const record = {
      schema_version: 1,
      host: "build-1",
      instance: "ff".repeat(8),
      epoch: 99,
      heartbeat_ms: 1000,
    };
    const forged = JSON.stringify({ ...record, version: "0", agents: 0, at_utc: "2026-01-01T00:00:00Z" });
    const subjects = [
      `$KV.${names.bucket}.build-1`,
      `$KV.${names.bucket}.build-1.worker`,
      names.call("build-1", "00".repeat(8)),
      names.answer("build-1", "00".repeat(8), "00".repeat(16)),
      `$JS.API.STREAM.DELETE.KV_${names.bucket}`,
      `$JS.API.STREAM.PURGE.KV_${names.bucket}`,
      `${names.inbox("operator")}.x`,
    ];
    for (const subject of subjects) connection.publish(subject, forged);
    await connection.flush();
    await until("every message to be refused", () => refused.length >= subjects.length);
    for (const subject of subjects) {
      expect(refused.some((one) => one.includes(`"${subject}"`))).toBe(true);
    }
    const listened = [`svc.v1.svc.build-1.>`, ">", `$KV.${names.bucket}.>`, `${names.inbox("operator")}.>`];
    for (const subject of listened) {
      const heard = Promise.withResolvers<string>();
      connection.subscribe(subject, { callback: (error) => void heard.resolve(String(error?.message)) });
      expect(await heard.promise).toContain("Permissions Violation");
    }
    expect(operator.directory.hosts()).toMatchObject([{ host: "build-1", state: "live" }]);
    expect(await (await call(operator.linkTo("build-1"), "stopAgent")).json()).toEqual({ ok: true });
    expect(handled).toEqual(["/svc/agents/worker/stop"]);
    await connection.close();
  }, 60_000);

  test("gives in its directory only what is for its name, and nothing that breaks the form", async () => {
    await using world = await setup();
    const { bus, operator } = world;
    const { connection } = await takenOver(bus);
    const put = (key: string, value: unknown) =>
      connection.request(`$KV.${names.bucket}.${key}`, JSON.stringify(value), { timeout: 5000 });
    const record = (more: object) => ({
      ...{ schema_version: 1, host: "build-2", instance: "ff".repeat(8), epoch: 5, heartbeat_ms: 1000 },
      ...{ version: "0", agents: 1, at_utc: "2026-01-01T00:00:00Z", ...more },
    });
    const { identity } = sampleKnown("worker", { sessionId: "local_interactive-1" });
    const entry = (more: object) => ({
      ...{ schema_version: 1, epoch: 5 },
      identity: { ...identity, agent_id: "mine", ...more },
    });
    await put("build-2", record({ host: "build-1" }));
    await put("build-2", record({ secret: "x" }));
    await put("build-2.mine", entry({ agent_id: "other" }));
    await put("build-2.mine", entry({ tool: 7 }));
    await put("build-2", record({}));
    await put("build-2.mine", entry({ host: "build-1", session_root: "/etc", manifest_path: "/etc/passwd" }));
    await put("build-2", record({}));
    const mine = async () =>
      (await operator.directory.agents()).filter(({ host }) => host === "build-2").map((one) => one.identity);
    await until("its agent to be listed", async () => (await mine()).length === 1);
    expect(await mine()).toMatchObject([
      { agent_id: "mine", host: "build-2", session_root: null, manifest_path: null },
    ]);
    // An earlier start, replayed, changes nothing; a large entry does not enter the store.
    await put("build-2", record({ epoch: 4, instance: "ee".repeat(8) }));
    const large = await put("build-2.large", { text: "x".repeat(20_000) });
    expect(large.string()).toContain("message size exceeds");
    await until("all of it to be read", () => operator.counts()["unreadable"] === 5);
    expect(operator.directory.hosts()).toMatchObject([{ host: "build-1" }, { host: "build-2", agents: 1 }]);
    await connection.close();
  }, 60_000);

  test("is shut out when its user is removed from the server, and the others stay", async () => {
    await using world = await setup();
    const { bus, operator } = world;
    const { connection } = await takenOver(bus);
    bus.revoke("build-2");
    await connection.closed();
    await expect(takenOver(bus)).rejects.toThrow(/[Aa]uthorization/);
    expect((await call(operator.linkTo("build-1"), "readAgent")).status).toBe(200);
  }, 60_000);
});

describe("the key of a bus", () => {
  test("is read only from a file of this user alone, and shown to no other machine in plain text", async () => {
    await using lab = createCliLab();
    const key = join(lab.folder, "operator.nk");
    await Bun.write(key, "SUAFAKEFAKEFAKE\n");
    chmodSync(key, 0o644);
    const words = ["join", "--nats", "nats://127.0.0.1:1", "--creds", key, "--host", "build-1"];
    const open = await lab.run("svc-coord", words);
    expect([open.exitCode, open.stderr]).toEqual([1, expect.stringContaining("chmod 600")]);
    chmodSync(key, 0o600);
    const far = ["join", "--nats", "nats://192.0.2.1:4222", "--creds", key, "--host", "build-1"];
    const plain = await lab.run("svc-coord", far);
    expect([plain.exitCode, plain.stderr]).toEqual([2, expect.stringContaining("--nats-plaintext")]);
    const inUrl = ["join", "--nats", "nats://a:b@127.0.0.1:1", "--creds", key, "--host", "build-1"];
    const named = await lab.run("svc-coord", inUrl);
    expect([named.exitCode, named.stderr.includes("a:b")]).toEqual([2, false]);
  }, 30_000);
});
