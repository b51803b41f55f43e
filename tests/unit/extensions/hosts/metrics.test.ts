import { describe, expect, test } from "bun:test";
import type { AgentIdentity } from "../../../../src/protocol/agents.ts";
import type { CarrierState, HostState } from "../../../../src/protocol/host-states.ts";
import { createFleetMetrics, type FleetFacts } from "../../../../src/services/extensions/hosts/metrics.ts";

/** What a scrape says of given facts. */

const agent = (host: string | null, change: Partial<AgentIdentity> = {}) =>
  ({
    lifecycle_state: "active",
    liveness: "alive",
    agent_name: "SECRET-name",
    session_root: "/secret/path",
    ...(host === null ? {} : { host }),
    ...change,
  }) as AgentIdentity;

const host = (change: Partial<HostState>): HostState => ({
  host: "build-1",
  via: "nats",
  state: "live",
  since_utc: null,
  agents: 1,
  version: "0",
  ...change,
});

const carrier = (change: Partial<CarrierState> = {}): CarrierState => ({
  via: "nats",
  host: null,
  address: "tls://secret:4222",
  connected: true,
  server_version: "2.15.1",
  latency_ms: null,
  reconnects: 2,
  open_calls: 1,
  repeated_calls: 3,
  dropped_messages: 0,
  unreadable_entries: 0,
  ...change,
});

const facts = (change: Partial<FleetFacts> = {}): FleetFacts => ({
  local_host: "desk",
  version: "0.1.0",
  agents: [],
  hosts: [],
  carriers: [],
  ...change,
});

async function scrape(change: Partial<FleetFacts>, metrics = createFleetMetrics()): Promise<string[]> {
  const { text } = await metrics.scrape(facts(change));
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

describe("a scrape", () => {
  test("counts agents by host, state and liveness", async () => {
    const lines = await scrape({
      agents: [
        agent(null),
        agent("build-1"),
        agent("build-1"),
        agent("build-1", { lifecycle_state: "stopped" }),
      ],
    });
    expect(lines.filter((line) => line.startsWith("svc_agents"))).toEqual([
      'svc_agents{host="desk",state="active",liveness="alive"} 1',
      'svc_agents{host="build-1",state="active",liveness="alive"} 2',
      'svc_agents{host="build-1",state="stopped",liveness="alive"} 1',
    ]);
  });

  test("shows hosts, their heartbeats and their mail; an unknown value has no series", async () => {
    const mail = { waiting: 4, oldest_age_ms: 90_000, delivered: 7, refused: 2, given_up: 1 };
    const lines = await scrape({
      hosts: [
        host({ heartbeat_age_ms: 250, returns: 1, mail }),
        host({ host: "build-2", via: "ssh", state: "away", heartbeat_age_ms: null }),
      ],
    });
    const labels = '{host="build-1",via="nats"}';
    expect(lines).toEqual(
      expect.arrayContaining([
        `svc_host_up${labels} 1`,
        'svc_host_up{host="build-2",via="ssh"} 0',
        `svc_host_heartbeat_age_seconds${labels} 0.25`,
        `svc_host_returns_total${labels} 1`,
        `svc_host_mail_waiting${labels} 4`,
        `svc_host_mail_oldest_age_seconds${labels} 90`,
        `svc_host_mail_delivered_total${labels} 7`,
        `svc_host_mail_refused_total${labels} 2`,
        `svc_host_mail_given_up_total${labels} 1`,
      ]),
    );
    expect(lines.filter((line) => line.includes("build-2"))).toEqual([
      'svc_host_up{host="build-2",via="ssh"} 0',
    ]);
  });

  test("counts operations by result with their time, from the first scrape on", async () => {
    const metrics = createFleetMetrics();
    const before = await scrape({}, metrics);
    expect(before).toContain('svc_host_operation_seconds_count{result="not_known"} 0');
    metrics.operation({ result: "ok", seconds: 0.03 });
    metrics.operation({ result: "ok", seconds: 3 });
    metrics.operation({ result: "not_known", seconds: 65 });
    // Each is there once, however often it is read.
    await scrape({}, metrics);
    const lines = await scrape({}, metrics);
    expect(lines).toEqual(
      expect.arrayContaining([
        'svc_host_operation_seconds_bucket{le="0.025",result="ok"} 0',
        'svc_host_operation_seconds_bucket{le="0.05",result="ok"} 1',
        'svc_host_operation_seconds_bucket{le="+Inf",result="ok"} 2',
        'svc_host_operation_seconds_count{result="error"} 0',
        'svc_host_operation_seconds_bucket{le="60",result="not_known"} 0',
        'svc_host_operation_seconds_count{result="not_known"} 1',
      ]),
    );
  });

  test("shows carriers without their addresses, and no name, path or address of anything else", async () => {
    const { text } = await createFleetMetrics().scrape(
      facts({
        agents: [agent("build-1")],
        carriers: [carrier(), carrier({ via: "ssh", host: "build-2", connected: false, reconnects: 0 })],
      }),
    );
    expect(text).toContain('svc_carrier_connected{via="nats",host=""} 1');
    expect(text).toContain('svc_carrier_connected{via="ssh",host="build-2"} 0');
    expect(text).toContain('svc_carrier_reconnects_total{via="nats",host=""} 2');
    expect(text).toContain('svc_carrier_repeated_calls_total{via="nats",host=""} 3');
    expect(text).not.toMatch(/secret/i);
  });

  test("leaves no series of a host that is gone, and escapes what a name may hold", async () => {
    const metrics = createFleetMetrics();
    await scrape({ hosts: [host({ host: "gone" })] }, metrics);
    const lines = await scrape({ hosts: [host({ host: 'a"b\nc\\' })] }, metrics);
    expect(lines.filter((line) => line.startsWith("svc_host_up"))).toEqual([
      'svc_host_up{host="a\\"b\\nc\\\\",via="nats"} 1',
    ]);
  });
});
