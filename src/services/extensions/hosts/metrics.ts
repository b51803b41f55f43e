import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { AgentIdentity } from "../../../protocol/agents.ts";
import type { HostList, HostState } from "../../../protocol/host-states.ts";
import type { EndedOperation } from "./merged-fleet.ts";

/** What is true at the moment of a scrape. `agents`: of all hosts. */
export interface FleetFacts extends Pick<HostList, "local_host" | "carriers" | "hosts" | "version"> {
  agents: readonly AgentIdentity[];
}

/** A way within a building takes milliseconds; a wait for an agent takes up to a minute. */
const secondsBuckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const results = ["ok", "error", "not_known"] as const;

/**
 * The counters of a fleet in the Prometheus text format. Labels are names of hosts, carriers and states only:
 * how many there are is bounded by the directory, and none holds what an agent or a person wrote. Loaded with
 * the first scrape, or with the hosts.
 */
export function createFleetMetrics() {
  const kept = new Registry();
  const operations = new Histogram({
    name: "svc_host_operation_seconds",
    help: "Time of operations on agents of other hosts until their answer began, by result",
    labelNames: ["result"],
    buckets: secondsBuckets,
    registers: [kept],
  });
  for (const result of results) operations.zero({ result });
  return {
    /** Counts one operation. Never throws. */
    operation: ({ result, seconds }: EndedOperation): void =>
      operations.observe({ result }, Math.max(0, seconds)),
    async scrape(facts: FleetFacts): Promise<{ text: string; contentType: string }> {
      const text = await Registry.merge([toRegistry(facts), kept]).metrics();
      return { text, contentType: kept.contentType };
    },
  };
}

/** Made again for each scrape: a host that is gone leaves no series behind. Pure. */
function toRegistry({ local_host: localHost, version, agents, hosts, carriers }: FleetFacts): Registry {
  const registry = new Registry();
  const registers = [registry];
  const info = new Gauge({ name: "svc_build_info", help: "1", labelNames: ["version"], registers });
  info.set({ version }, 1);
  const agentsGauge = new Gauge({
    name: "svc_agents",
    help: "Agents by host and by state of their life; empty when it is not known",
    labelNames: ["host", "state", "liveness"],
    registers,
  });
  for (const { host, lifecycle_state: state, liveness } of agents) {
    agentsGauge.inc({ host: host ?? localHost ?? "", state: state ?? "", liveness: liveness ?? "" });
  }

  /** One value of each host that has one. */
  const ofHosts = (
    kind: typeof Gauge | typeof Counter,
    {
      name,
      help,
      value,
    }: { name: string; help: string; value: (host: HostState) => number | null | undefined },
  ) => {
    const metric = new kind({ name, help, labelNames: ["host", "via"], registers });
    for (const one of hosts) {
      const number = value(one);
      if (number !== null && number !== undefined) metric.inc({ host: one.host, via: one.via }, number);
    }
  };
  ofHosts(Gauge, {
    name: "svc_host_up",
    help: "1 while the host answers, 0 while it is away",
    value: ({ state }) => (state === "live" ? 1 : 0),
  });
  ofHosts(Gauge, {
    name: "svc_host_heartbeat_age_seconds",
    help: "Time since the last heartbeat of the host",
    value: ({ heartbeat_age_ms: age }) => seconds(age),
  });
  ofHosts(Counter, {
    name: "svc_host_returns_total",
    help: "How often the host came back, or another process of it came",
    value: ({ returns }) => returns,
  });
  ofHosts(Gauge, {
    name: "svc_host_mail_waiting",
    help: "Messages of the host that another host has not confirmed",
    value: ({ mail }) => mail?.waiting,
  });
  ofHosts(Gauge, {
    name: "svc_host_mail_oldest_age_seconds",
    help: "Age of the message that waits longest; absent while none waits",
    value: ({ mail }) => seconds(mail?.oldest_age_ms),
  });
  ofHosts(Counter, {
    name: "svc_host_mail_delivered_total",
    help: "Recipients on the host that got a message of another host",
    value: ({ mail }) => mail?.delivered,
  });
  ofHosts(Counter, {
    name: "svc_host_mail_refused_total",
    help: "Recipients on the host to whom a message of another host could not be delivered",
    value: ({ mail }) => mail?.refused,
  });
  ofHosts(Counter, {
    name: "svc_host_mail_given_up_total",
    help: "Messages of the host that were given back to their senders",
    value: ({ mail }) => mail?.given_up,
  });
  addCarriers(registry, carriers);
  return registry;
}

/** By what carries them: the addresses of servers are no labels. */
function addCarriers(registry: Registry, carriers: FleetFacts["carriers"]): void {
  const options = { labelNames: ["via", "host"], registers: [registry] };
  const connected = new Gauge({
    name: "svc_carrier_connected",
    help: "1 while messages can be sent to NATS or over the ssh of a host",
    ...options,
  });
  const counters = [
    ["reconnects", "Connections after the first"],
    ["repeated_calls", "Calls that were sent again"],
    ["dropped_messages", "Messages of hosts that fitted no call"],
    ["unreadable_entries", "Entries of the directory that were refused"],
  ] as const;
  const open = new Gauge({
    name: "svc_carrier_open_calls",
    help: "Calls that have no answer yet",
    ...options,
  });
  const totals = counters.map(([field, help]) => ({
    field,
    metric: new Counter({ name: `svc_carrier_${field}_total`, help, ...options }),
  }));
  for (const one of carriers) {
    const labels = { via: one.via, host: one.host ?? "" };
    connected.inc(labels, one.connected ? 1 : 0);
    open.inc(labels, one.open_calls);
    for (const { field, metric } of totals) metric.inc(labels, one[field]);
  }
}

/** Pure. */
function seconds(ms: number | null | undefined): number | null {
  return ms === null || ms === undefined ? null : ms / 1000;
}
