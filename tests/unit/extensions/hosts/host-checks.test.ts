import { describe, expect, test } from "bun:test";
import { checkOutboxes, judgeHosts } from "../../../../src/cli/checks/hosts.ts";
import { openHostOutbox } from "../../../../src/db/mailbox/host-outbox.ts";
import type { CarrierState, HostList, HostState } from "../../../../src/protocol/host-states.ts";
import { createPublishedHosts } from "../../../../src/services/extensions/hosts/host-directory.ts";
import { timestampNow } from "../../../../src/system/clock.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { sampleKnown } from "../../../support/fleet-fakes.ts";
import { createMailRootFixture } from "../../../support/mail-root.ts";

const bus: CarrierState = {
  via: "nats",
  host: null,
  address: "tls://10.0.0.5:4222",
  connected: true,
  server_version: "2.15.1",
  latency_ms: 1,
  reconnects: 0,
  open_calls: 0,
  repeated_calls: 0,
  dropped_messages: 0,
  unreadable_entries: 0,
};
const live: HostState = {
  host: "build-1",
  via: "nats",
  state: "live",
  since_utc: null,
  agents: 2,
  version: "1.0.0",
  detail: null,
  latency_ms: 2.5,
  heartbeat_age_ms: 400,
  heartbeat_ms: 1000,
  returns: 0,
  clock_difference_ms: 3,
};
const list = (more: Partial<HostList>): HostList => ({
  schema_version: 1,
  version: "1.0.0",
  local_host: "desk",
  carriers: [bus],
  hosts: [live],
  ...more,
});
const away = { state: "away" as const, since_utc: "2026-11-25T00:00:00.000+00:00" };

describe("what doctor says of a host", () => {
  const cases: { id: string; given: HostList; name: string; detail: string; remedy: string | null }[] = [
    {
      id: "well",
      given: list({}),
      name: "host build-1",
      detail: "nats, 2 agents, heartbeat 400 ms ago",
      remedy: null,
    },
    {
      id: "away",
      given: list({ hosts: [{ ...live, ...away }] }),
      name: "host build-1",
      detail: "it is away since 2026-11-25",
      remedy: "on build-1: svc-coord join --nats tls://10.0.0.5:4222 --creds FILE --host build-1",
    },
    {
      id: "never reached with ssh",
      given: list({
        carriers: [{ ...bus, via: "ssh", host: "build-1", address: "ssh://me@build-1:22", connected: false }],
        hosts: [{ ...live, via: "ssh", state: "away", detail: "ssh ended with 255: Permission denied" }],
      }),
      name: "host build-1",
      detail: "it was never seen: ssh ended with 255: Permission denied",
      remedy: "try it by hand: ssh ssh://me@build-1:22 svc-coord --version",
    },
    {
      id: "silent",
      given: list({ hosts: [{ ...live, latency_ms: null, detail: "no answer within 3000 ms" }] }),
      name: "host build-1",
      detail: "it does not answer: no answer within 3000 ms",
      remedy: "on build-1: svc-mgr doctor",
    },
    {
      id: "another version",
      given: list({ hosts: [{ ...live, version: "0.9.0" }] }),
      name: "host build-1",
      detail: "it has version 0.9.0, this machine 1.0.0",
      remedy: "install the same version there",
    },
    {
      id: "another clock",
      given: list({ hosts: [{ ...live, clock_difference_ms: -63_000 }] }),
      name: "host build-1",
      detail: "its clock is 63 s behind",
      remedy: "timedatectl",
    },
    {
      id: "a slow way",
      given: list({ hosts: [{ ...live, latency_ms: 900 }] }),
      name: "host build-1",
      detail: "900 ms round trip",
      remedy: "look at the network",
    },
    {
      id: "mail waits",
      given: list({
        hosts: [
          {
            ...live,
            mail: { waiting: 3, oldest_age_ms: 3 * 3_600_000, delivered: 0, refused: 0, given_up: 0 },
          },
        ],
      }),
      name: "mail of host build-1",
      detail: "3 messages to other hosts wait there, one for 3 h",
      remedy: "on build-1: svc-mgr doctor",
    },
    {
      id: "no server",
      given: list({ carriers: [{ ...bus, connected: false }] }),
      name: "NATS server",
      detail: "tls://10.0.0.5:4222 does not answer",
      remedy: "svc-coord nats",
    },
    {
      id: "no host",
      given: list({ carriers: [], hosts: [] }),
      name: "hosts",
      detail: "no other host",
      remedy: null,
    },
  ];
  test.each(cases)("$id", ({ given, name, detail, remedy }) => {
    const check = judgeHosts(given).find((one) => one.name === name);
    expect(check?.detail).toContain(detail);
    expect(check?.verdict).toBe(remedy === null ? "ok" : "warning");
    if (remedy !== null) expect(check?.remedy).toContain(remedy);
  });

  test("with the server gone nothing else is said of its hosts; a server without hosts says nothing", () => {
    const gone = list({ carriers: [{ ...bus, connected: false }] });
    expect(judgeHosts(gone).map(({ name }) => name)).toEqual(["NATS server"]);
    expect(judgeHosts(list({ local_host: null }))).toEqual([]);
  });
});

test("a directory counts heartbeats, returns and the difference of clocks", async () => {
  const clock = createFakeClock();
  const directory = createPublishedHosts({ clock, via: "nats" });
  const record = (more: object = {}) => ({
    schema_version: 1,
    host: "build-1",
    instance: "aa".repeat(8),
    epoch: 1,
    heartbeat_ms: 1000,
    version: "1",
    agents: 0,
    at_utc: timestampNow(clock),
    ...more,
  });
  const state = () => directory.hosts()[0];
  directory.record("build-1", record(), { fresh: false });
  expect(state()).toMatchObject({
    state: "away",
    heartbeat_age_ms: null,
    returns: 0,
    clock_difference_ms: null,
  });
  directory.record("build-1", record({ at_utc: "2000-01-01T00:00:00.000+00:00" }), { fresh: true });
  expect(state()?.clock_difference_ms).toBe(Date.parse("2000-01-01T00:00:00Z") - clock.nowMs());
  await clock.advance(700);
  directory.record("build-1", record(), { fresh: true });
  await clock.advance(300);
  expect(state()).toMatchObject({ state: "live", heartbeat_age_ms: 300, returns: 0, clock_difference_ms: 0 });
  await clock.advance(5000);
  directory.record("build-1", record(), { fresh: true });
  expect(state()?.returns).toBe(1);
  directory.record("build-1", record({ epoch: 2, instance: "bb".repeat(8) }), { fresh: true });
  expect(state()?.returns).toBe(2);
});

test("a directory keeps entries up to the share of their host, each of a bounded size", async () => {
  const directory = createPublishedHosts({ clock: createFakeClock(), via: "nats" });
  const { identity } = sampleKnown("worker", { sessionId: "local_interactive-1" });
  const put = (host: string, agent_id: string, more: object = {}) =>
    directory.agent(host, agent_id, {
      schema_version: 1,
      epoch: 1,
      identity: { ...identity, agent_id, ...more },
    });
  const fields = Object.entries(identity).flatMap(([name, value]) =>
    typeof value === "string" ? [name] : [],
  );
  const texts = fields.filter(
    (name) => !["transport", "liveness", "lifecycle_state", "agent_id"].includes(name),
  );
  for (const name of texts) put("build-1", "long", { [name]: "x".repeat(5000) });
  expect([texts.length > 5, directory.dropped()]).toEqual([true, texts.length]);
  const full = Object.fromEntries(texts.map((name) => [name, "x".repeat(500)]));
  const size = JSON.stringify({ ...identity, ...full }).length;
  const fitting = Math.floor((16 * 1024 * 1024) / size);
  for (let nth = 0; nth < fitting + 100; nth += 1) put("build-1", `agent-${nth}`, full);
  const beyond = directory.dropped() - texts.length;
  expect(beyond).toBeGreaterThan(0);
  // What goes makes room again, and another host has its own share.
  put("build-2", "worker");
  directory.agent("build-1", "agent-0", null);
  put("build-1", "agent-new", full);
  expect(directory.dropped() - texts.length).toBe(beyond);
});

test("doctor names mail that waits for another host for an hour, and whom it waits for", async () => {
  using fixture = createMailRootFixture();
  const { files } = fixture.deps;
  const outbox = openHostOutbox(fixture.root.catalog);
  const clock = createFakeClock();
  const roots = { mailboxRoot: fixture.path };
  const context = {
    files,
    clock,
    roots,
    registry: { list: () => ({ records: [] }) },
    overlays: { list: () => [] },
  };
  const check = () => checkOutboxes(context as never);
  expect(check()).toEqual([]);
  const acceptedAtUtc = timestampNow(clock);
  outbox.restore({ messageId: "msg-1", host: "build-2", acceptedAtUtc });
  outbox.restore({ messageId: "msg-2", host: "no host\u001b", acceptedAtUtc: "2000-01-01T00:00:00Z" });
  await clock.advance(3_599_999);
  expect(check()).toEqual([]);
  await clock.advance(1);
  outbox.restore({ messageId: "msg-3", host: "build-3", acceptedAtUtc: timestampNow(clock) });
  expect(check()).toEqual([
    {
      name: "mail to other hosts",
      verdict: "warning",
      detail: `${fixture.path}: 2 messages wait, one for build-2 since ${acceptedAtUtc}`,
      remedy: "see that svc-coord join runs here and on build-2",
    },
  ]);
});
