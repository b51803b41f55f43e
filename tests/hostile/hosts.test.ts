import { describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AckPolicy, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect, headers, type NatsConnection, nkeyAuthenticator } from "@nats-io/transport-node";
import fc from "fast-check";
import type { AgentIdentity } from "../../src/protocol/agents.ts";
import type { HostCall } from "../../src/protocol/hosts.ts";
import {
  createLocalDirectory,
  createLocalLink,
  type HostLink,
} from "../../src/services/extensions/hosts/host-link.ts";
import { createMergedFleet } from "../../src/services/extensions/hosts/merged-fleet.ts";
import { decodeMessage, encodeMessage } from "../../src/services/extensions/hosts/message.ts";
import { busNames, deleteHosts, joinBus, operateBus } from "../../src/services/extensions/hosts/nats-bus.ts";
import { createClock } from "../../src/system/clock.ts";
import { createIds } from "../../src/system/ids.ts";
import { awaitOutcome } from "../support/await-outcome.ts";
import { type Bus, startBus } from "../support/bus.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { sampleKnown } from "../support/fleet-fakes.ts";
import { createTestSignal, until } from "../support/until.ts";

const system = () => ({ clock: createClock(), ids: createIds(), log: () => {} });
const names = busNames("svc");
const addressOf = (bus: Bus, key: string) => ({
  url: bus.url,
  fleet: "svc",
  authorities: null,
  credentials: readFileSync(key, "utf8"),
});

/** A server, an operator, and build-1 with one agent, whose operations `handle` answers. */
async function setup(handle: (request: Request) => Response = () => Response.json({ ok: true })) {
  const folder = mkdtempSync(join(tmpdir(), "svc-bus-"));
  const bus = await startBus(folder, ["build-1", "build-2"]);
  const operator = await operateBus({ ...system(), address: addressOf(bus, bus.operatorKey) });
  const { identity } = sampleKnown("worker", { sessionId: "local_interactive-1" });
  const handled: string[] = [];
  const mail = createTestSignal<{ from: string; message: unknown }>();
  const host = await joinBus({
    ...system(),
    address: addressOf(bus, bus.keyOf("build-1")),
    host: "build-1",
    epoch: 7,
    version: "0",
    heartbeatMs: 200,
    directory: createLocalDirectory({
      host: "build-1",
      version: "0",
      list: async () => ({ agents: [identity as AgentIdentity] }),
    }),
    link: createLocalLink((request) => {
      handled.push(new URL(request.url).pathname);
      return handle(request);
    }),
    carrierOf: () => ({
      start: () => {},
      stop: async () => {},
      again: () => {},
      counts: () => ({ waiting: 0, oldest_age_ms: null, delivered: 0, refused: 0, given_up: 0 }),
      async receive(from, message) {
        mail.emit({ from, message });
      },
    }),
  });
  await host.start();
  await until("the host to be live", () => operator.directory.hosts()[0]?.state === "live");
  return {
    bus,
    operator,
    handled,
    mail,
    folder,
    async [Symbol.asyncDispose]() {
      await operator.stop();
      await host.stop();
      await bus[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const call = (link: HostLink, operation: string, signal = new AbortController().signal) =>
  link.send({
    operation,
    params: { agent_ref: "worker" },
    query: "",
    headers: {},
    body: null,
    signal,
  });

function connectAs(bus: Bus, name: string, key: string): Promise<NatsConnection> {
  const seed = new TextEncoder().encode(readFileSync(key, "utf8").trim());
  return connect({
    servers: bus.url,
    inboxPrefix: names.inbox(name),
    reconnect: false,
    authenticator: nkeyAuthenticator(seed),
  });
}
const asOperator = (bus: Bus) => connectAs(bus, "operator", bus.operatorKey);

/** Somebody who has the key of build-2 and does with it what the server lets them. */
async function takenOver(bus: Bus) {
  const connection = await connectAs(bus, "build-2", bus.keyOf("build-2"));
  const refusals = createTestSignal<string>();
  void (async () => {
    for await (const status of connection.status()) {
      if (status.type === "error") refusals.emit(String(status.error.message));
    }
  })();
  return { connection, refusals };
}

/** Asks for what build-2 has at the server, until it is there. */
async function shareOf(connection: NatsConnection): Promise<void> {
  await until("the share of build-2", async () => {
    connection.publish(names.hello("build-2"));
    const subject = names.mail("build-2", "nobody");
    const answer = await connection.request(subject, "x", { timeout: 5000 }).catch(() => null);
    return answer?.string().includes('"seq"');
  });
}

/** Whoever has the key of build-2 joins with it, with one agent `mine`, and answers each call by `answer`. */
async function joinAsBuild2(
  connection: NatsConnection,
  answer: (give: (head: object, body: string) => void) => void,
): Promise<void> {
  const instance = "ff".repeat(8);
  connection.subscribe(names.call("build-2", instance), {
    callback(_error, message) {
      const {
        kind,
        id = "",
        operator = "",
      } = (decodeMessage(message.data)?.head ?? {}) as Record<string, string>;
      const subject = names.answer("build-2", operator, id);
      if (kind !== "call") return;
      answer((head, body) =>
        connection.publish(
          subject,
          encodeMessage({ id, run: 1, ...head }, body === "" ? null : new TextEncoder().encode(body)),
        ),
      );
    },
  });
  await shareOf(connection);
  const put = (key: string, value: object) =>
    connection.request(`$KV.${names.bucket("build-2")}.${key}`, JSON.stringify(value), { timeout: 5000 });
  const { identity } = sampleKnown("worker", { sessionId: "local_interactive-1" });
  await put("build-2.mine", { schema_version: 1, epoch: 5, identity: { ...identity, agent_id: "mine" } });
  await put("build-2", {
    schema_version: 1,
    host: "build-2",
    instance,
    epoch: 5,
    heartbeat_ms: 60_000,
    version: "0",
    agents: 1,
    at_utc: "2026-01-01T00:00:00Z",
  });
}

describe("a host that is taken over", () => {
  test("reaches its agents and no others: it calls, hears and impersonates no other host", async () => {
    await using world = await setup();
    const { bus, operator, handled } = world;
    const { connection, refusals } = await takenOver(bus);
    const record = {
      schema_version: 1,
      host: "build-1",
      instance: "ff".repeat(8),
      epoch: 99,
      heartbeat_ms: 1000,
    };
    const forged = JSON.stringify({ ...record, version: "0", agents: 0, at_utc: "2026-01-01T00:00:00Z" });
    const subjects = [
      `$KV.${names.bucket("build-1")}.build-1`,
      `$KV.${names.bucket("build-1")}.build-1.worker`,
      names.call("build-1", "00".repeat(8)),
      names.answer("build-1", "00".repeat(8), "00".repeat(16)),
      `$JS.API.STREAM.DELETE.KV_${names.bucket("build-1")}`,
      `$JS.API.STREAM.PURGE.KV_${names.bucket("build-1")}`,
      `${names.inbox("operator")}.x`,
    ];
    for (const subject of subjects) connection.publish(subject, forged);
    await connection.flush();
    const { values: refused } = refusals;
    await refusals.until("every message to be refused", () => refused.length >= subjects.length);
    for (const subject of subjects) {
      expect(refused.some((one) => one.includes(`"${subject}"`))).toBe(true);
    }
    const listened = [
      `svc.v1.svc.build-1.>`,
      ">",
      `$KV.${names.bucket("build-1")}.>`,
      `${names.inbox("operator")}.>`,
    ];
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
    await shareOf(connection);
    const put = (key: string, value: unknown) =>
      connection.request(`$KV.${names.bucket("build-2")}.${key}`, JSON.stringify(value), { timeout: 5000 });
    const record = (more: object) => ({
      schema_version: 1,
      host: "build-2",
      instance: "ff".repeat(8),
      epoch: 5,
      heartbeat_ms: 1000,
      version: "0",
      agents: 1,
      at_utc: "2026-01-01T00:00:00Z",
      ...more,
    });
    const { identity } = sampleKnown("worker", { sessionId: "local_interactive-1" });
    const entry = (more: object) => ({
      schema_version: 1,
      epoch: 5,
      identity: { ...identity, agent_id: "mine", ...more },
    });
    // One key keeps its last value only: the next follows when this one was read.
    let refusals = 0;
    const isRefused = async (key: string, value: unknown) => {
      await put(key, value);
      refusals += 1;
      await until("it to be refused", () => operator.counts()["unreadable"] === refusals);
    };
    await isRefused("build-2", record({ host: "build-1" }));
    await isRefused("build-2", record({ secret: "x" }));
    await isRefused("build-2.mine", entry({ agent_id: "other" }));
    await isRefused("build-2.mine", entry({ tool: 7 }));
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
    await isRefused("build-2", record({ epoch: 4, instance: "ee".repeat(8) }));
    const large = await put("build-2.large", { text: "x".repeat(20_000) });
    expect(large.string()).toContain("message size exceeds");
    expect(operator.directory.hosts()).toMatchObject([{ host: "build-1" }, { host: "build-2", agents: 1 }]);
    await connection.close();
  }, 60_000);

  test("sends mail in its own name only, and touches no mail but its own", async () => {
    await using world = await setup();
    const { bus, mail } = world;
    const { connection, refusals } = await takenOver(bus);
    const bytes = (text: string) =>
      encodeMessage({ kind: "mail" }, new TextEncoder().encode(JSON.stringify(text)));
    await shareOf(connection);
    await connection.request(names.mail("build-2", "build-1"), bytes("mine"), { timeout: 5000 });
    const arrived = await mail.first("the mail", () => true);
    expect(arrived).toEqual({ from: "build-2", message: "mine" });

    const api = "$JS.API.CONSUMER";
    const [queue, foreign] = [names.mailStream("build-2"), names.mailStream("build-1")];
    const subjects = [
      names.mail("build-1", "build-2"),
      names.mail("build-3", "build-1"),
      names.take("build-1"),
      `${api}.CREATE.${queue}.mine`,
      `${api}.CREATE.${foreign}.mine.${names.mail("build-1", "build-2")}`,
      `${api}.DURABLE.CREATE.${queue}.build-2`,
      `${api}.MSG.NEXT.${queue}.build-1`,
      `${api}.DELETE.${queue}.build-1`,
      `$JS.ACK.${queue}.build-1.1.1.1.1.1`,
      `$JS.API.STREAM.MSG.GET.${foreign}`,
      `$JS.API.STREAM.PURGE.${foreign}`,
      `$JS.API.DIRECT.GET.${foreign}`,
    ];
    for (const subject of subjects) connection.publish(subject, bytes("forged"));
    await connection.flush();
    const { values: refused } = refusals;
    await refusals.until("every message to be refused", () => refused.length >= subjects.length);
    for (const subject of subjects) {
      expect([subject, refused.some((one) => one.includes(`"${subject}"`))]).toEqual([subject, true]);
    }

    await connection.close();
  }, 60_000);

  test("fills its own share of the server and no other one's", async () => {
    await using world = await setup();
    const { bus, mail } = world;
    const { connection } = await takenOver(bus);
    await shareOf(connection);
    const put = (subject: string, bytes: Uint8Array) =>
      connection.request(subject, bytes, { timeout: 10_000 }).then(
        (message) => message.string(),
        (error: Error) => error.message,
      );
    const own = names.mail("build-2", "nobody");
    for (const size of [(connection.info?.max_payload ?? 0) - 1024, 256 * 1024, 4096, 1]) {
      await until("its share to be full", async () =>
        (await put(own, new Uint8Array(size))).includes("maximum bytes"),
      );
    }
    const one = await connectAs(bus, "build-1", bus.keyOf("build-1"));
    const bytes = encodeMessage({ kind: "mail" }, new TextEncoder().encode(JSON.stringify("mine")));
    const kept = await one.request(names.mail("build-1", "build-1"), bytes, { timeout: 5000 });
    expect(kept.string()).not.toContain("maximum bytes exceeded");
    await mail.first("mail of another host", () => true);
    expect(mail.values).toEqual([{ from: "build-1", message: "mine" }]);
    await one.close();
    await connection.close();
  }, 60_000);

  test("has the server confirm what it publishes under no subject of another one", async () => {
    await using world = await setup();
    const { bus } = world;
    const { connection } = await takenOver(bus);
    const own = names.mail("build-2", "build-2");
    const foreign = [`$KV.${names.bucket("build-1")}.build-1`, names.mail("build-1", "build-2")];
    await shareOf(connection);
    for (const reply of foreign) connection.publish(own, "x", { reply });
    await connection.request(own, "x", { timeout: 5000 });
    const desk = await asOperator(bus);
    const { streams } = await jetstreamManager(desk);
    const found: string[] = [];
    for await (const { config } of streams.list()) {
      for (const subject of foreign) {
        const last = await streams.getMessage(config.name, { last_by_subj: subject }).catch(() => null);
        if (last?.string().includes('"seq"')) found.push(subject);
      }
    }
    expect(found).toEqual([]);
    await desk.close();
    await connection.close();
  }, 60_000);

  test("gets no call through by what the server delivers under the call's subject", async () => {
    await using world = await setup();
    const { bus, handled } = world;
    const { connection } = await takenOver(bus);
    await shareOf(connection);
    const desk = await asOperator(bus);
    const entry = await (await new Kvm(desk).open(names.bucket("build-1"))).get("build-1");
    const { instance } = JSON.parse(entry?.string() ?? "") as { instance: string };
    const forged: HostCall = {
      kind: "call",
      id: "ab".repeat(16),
      operator: "cd".repeat(8),
      seq: 1,
      operation: "stopAgent",
      params: { agent_ref: "worker" },
      query: "",
      headers: {},
      has_body: false,
      head_only: false,
    };
    const mail = names.mail("build-2", "elsewhere");
    await connection.request(mail, encodeMessage(forged), { timeout: 5000 });
    // As a server delivers it that lets hosts pull messages to any subject.
    const { consumers } = await jetstreamManager(desk);
    await consumers.add(names.mailStream("build-2"), {
      durable_name: "forged",
      filter_subject: mail,
      ack_policy: AckPolicy.Explicit,
      deliver_subject: names.call("build-1", instance),
    });
    const delivered = async () =>
      (await consumers.info(names.mailStream("build-2"), "forged")).delivered.consumer_seq === 1;
    await until("it to be delivered", delivered);
    const signal = new AbortController().signal;
    expect((await call(world.operator.linkTo("build-1"), "readAgent", signal)).status).toBe(200);
    expect(handled).toEqual(["/svc/agents/worker"]);
    await desk.close();
    await connection.close();
  }, 60_000);

  test("answers in its own name only: it takes no agent over, and passes for no agent of another host", async () => {
    await using world = await setup();
    const { bus, operator, handled } = world;
    const { connection } = await takenOver(bus);
    const { identity } = sampleKnown("worker", { sessionId: "local_interactive-1" });
    // The identity is that of the agent on build-1, down to the host.
    let lie: unknown = { ...identity, agent_name: "worker", host: "build-1", session_root: "/etc" };
    await joinAsBuild2(connection, (give) => {
      give({ kind: "head", seq: 0, status: 200, headers: { "content-type": "application/json" } }, "");
      give({ kind: "part", seq: 1 }, JSON.stringify(lie));
      give({ kind: "end", seq: 2 }, "");
    });
    await until(
      "both hosts to be live",
      () => operator.directory.hosts().filter(({ state }) => state === "live").length === 2,
    );
    const fleet = createMergedFleet({
      clock: createClock(),
      localHost: "desk",
      directory: { agents: () => [] },
      remotes: [operator],
    });

    // The name alone is nobody's now: what it published takes nothing from the other host.
    expect(await awaitOutcome(fleet.route("worker"))).toThrow(
      expect.objectContaining({ reason: "ambiguous" }),
    );
    const ask = async (ref: string) => {
      const route = await fleet.route(ref);
      if (route.at === "here") throw new Error("it is an agent of another host");
      return fleet.send(route, {
        operation: "readAgent",
        params: { agent_ref: route.ref },
        query: "",
        headers: {},
        body: null,
        signal: new AbortController().signal,
      });
    };
    expect(await (await ask("mine@build-2")).json()).toMatchObject({
      host: "build-2",
      agent_name: "worker@build-2",
      session_root: null,
    });
    // What breaks the contract reaches no caller.
    lie = { anything: "<script>" };
    expect(await awaitOutcome(ask("mine@build-2"))).toThrow(
      expect.objectContaining({ reason: "transport_failed" }),
    );
    // An agent that it does not have is none of its.
    expect(await awaitOutcome(fleet.route("nobody@build-2"))).toThrow(
      expect.objectContaining({ reason: "not_found" }),
    );
    expect(handled).toEqual([]);
    expect(await (await call(operator.linkTo("build-1"), "stopAgent")).json()).toEqual({ ok: true });
    await connection.close();
  }, 60_000);

  test("gets nothing through that is out of order, replayed or larger than the server takes", async () => {
    await using world = await setup();
    const { bus, operator } = world;
    const { connection } = await takenOver(bus);
    const said: (() => void)[] = [];
    let order = [0, 1, 2, 3];
    await joinAsBuild2(connection, (give) => {
      const pieces = [
        () => give({ kind: "head", seq: 0, status: 200, headers: { "content-type": "text/plain" } }, ""),
        () => give({ kind: "part", seq: 1 }, "one "),
        () => give({ kind: "part", seq: 2 }, "two"),
        () => give({ kind: "end", seq: 3 }, ""),
      ];
      said.push(...pieces);
      for (const at of order) pieces[at]?.();
    });
    await until("the host to be live", () =>
      operator.directory.hosts().some(({ host, state }) => host === "build-2" && state === "live"),
    );
    const read = async () => (await call(operator.linkTo("build-2"), "agentTranscript")).text();
    expect(await read()).toBe("one two");
    // A part twice is one part; one before its turn breaks the answer off.
    order = [0, 1, 1, 2, 3];
    expect(await read()).toBe("one two");
    order = [0, 2, 1, 3];
    const droppedBefore = operator.counts().dropped ?? 0;
    expect(await awaitOutcome(read())).toThrow("a part of its answer was lost");
    await until("the rest of it", () => (operator.counts().dropped ?? 0) === droppedBefore + 2);
    // Answers to calls that are over are dropped, and belong to no later call.
    order = [0, 1, 2, 3];
    const { dropped = 0 } = operator.counts();
    const replayed = said.slice(0, 8);
    for (const again of replayed) again();
    expect(await read()).toBe("one two");
    expect(operator.counts()).toMatchObject({ open: 0, dropped: dropped + replayed.length });
    const most = connection.info?.max_payload ?? 0;
    expect(most).toBeLessThanOrEqual(9 * 1024 * 1024);
    expect(() => connection.publish(`svc.v1.svc.build-2.answer.x.y`, new Uint8Array(most + 1))).toThrow();
    await connection.close();
  }, 60_000);

  test("ends nothing with any bytes under its subjects", async () => {
    await using world = await setup();
    const { bus, operator } = world;
    const { connection } = await takenOver(bus);
    const called = Promise.withResolvers<{ operator: string; id: string }>();
    await joinAsBuild2(connection, () => {});
    connection.subscribe(names.call("build-2", "ff".repeat(8)), {
      callback: (_error, message) => called.resolve(decodeMessage(message.data)?.head as never),
    });
    await until("it to be live", () =>
      operator.directory.hosts().some(({ host, state }) => host === "build-2" && state === "live"),
    );
    const leave = new AbortController();
    const open = call(operator.linkTo("build-2"), "readAgent", leave.signal).catch(() => "over");
    const { operator: id, id: callId } = await called.promise;
    const subjects = [
      names.hello("build-2"),
      names.answer("build-2", id, callId),
      names.answer("build-2", id, "x"),
      names.mail("build-2", "build-1"),
      names.mail("build-2", "build-2"),
      names.mail("build-2", "*"),
      ...["build-2", "build-2.mine", "build-2.-"].map((key) => `$KV.${names.bucket("build-2")}.${key}`),
      `$JS.ACK.${names.mailStream("build-1")}.build-2.1.1.1.1.1`,
    ];
    const sample = fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc.json().map((text) => new TextEncoder().encode(`${text}\n`)),
      fc
        .record({
          kind: fc.constantFrom("taken", "head", "part", "end", "failed", "mail", "receipt", "call"),
          id: fc.constant(callId),
          run: fc.integer(),
          seq: fc.integer(),
          status: fc.integer(),
          headers: fc.dictionary(fc.string(), fc.string()),
          detail: fc.string(),
        })
        .map((head) => encodeMessage(head, new Uint8Array(3))),
    );
    for (const bytes of fc.sample(sample, 300)) {
      for (const subject of subjects) {
        const nobody = headers(503, "No Responders");
        connection.publish(subject, bytes, bytes.length % 5 === 0 ? { headers: nobody } : {});
      }
    }
    await connection.flush();
    leave.abort();
    await open;
    await connection.close();
    expect((await call(operator.linkTo("build-1"), "readAgent")).status).toBe(200);
    expect(operator.directory.hosts().map(({ host }) => host)).toContain("build-1");
    // The end of the last answer comes behind its status.
    await until("no open call", () => operator.counts().open === 0);
  }, 60_000);

  test("is shut out when its user is removed from the server, nothing of it is left, and the others stay", async () => {
    await using world = await setup();
    const { bus, operator } = world;
    const { connection } = await takenOver(bus);
    await joinAsBuild2(connection, () => {});
    await connection.request(names.mail("build-2", "build-1"), "x", { timeout: 5000 });
    await until("it to be listed", () => operator.directory.hosts().length === 2);
    bus.revoke("build-2");
    await connection.closed();
    expect(await awaitOutcome(takenOver(bus))).toThrow(/[Aa]uthorization/);
    await deleteHosts({ ...system(), address: addressOf(bus, bus.operatorKey), hosts: ["build-2"] });
    await until("it to be forgotten", () => operator.directory.hosts().length === 1);
    const desk = await asOperator(bus);
    const { streams, consumers } = await jetstreamManager(desk);
    const left = (await streams.list().next()).map(({ config }) => config.name).sort();
    expect(left).toEqual([`KV_${names.bucket("build-1")}`, names.mailStream("build-1")]);
    const queues = (await consumers.list(names.mailStream("build-1")).next()).map(({ name }) => name);
    expect(queues).toEqual(["build-1"]);
    await desk.close();
    expect((await call(operator.linkTo("build-1"), "readAgent")).status).toBe(200);
  }, 60_000);
});

describe("the key of a bus", () => {
  test("is read only from a file of this user alone, and shown to no other machine in plain text", async () => {
    await using fixture = createCliFixture();
    const key = join(fixture.folder, "operator.nk");
    await Bun.write(key, "SUAFAKEFAKEFAKE\n");
    chmodSync(key, 0o644);
    const words = ["join", "--nats", "nats://127.0.0.1:1", "--creds", key, "--host", "build-1"];
    const open = await fixture.run("svc-coord", words);
    expect([open.exitCode, open.stderr]).toEqual([1, expect.stringContaining("chmod 600")]);
    chmodSync(key, 0o600);
    const far = ["join", "--nats", "nats://192.0.2.1:4222", "--creds", key, "--host", "build-1"];
    const plain = await fixture.run("svc-coord", far);
    expect([plain.exitCode, plain.stderr]).toEqual([2, expect.stringContaining("--nats-plaintext")]);
    const inUrl = ["join", "--nats", "nats://a:b@127.0.0.1:1", "--creds", key, "--host", "build-1"];
    const named = await fixture.run("svc-coord", inUrl);
    expect([named.exitCode, named.stderr.includes("a:b")]).toEqual([2, false]);
  }, 30_000);
});
