import { type Static, Type } from "@sinclair/typebox";
import { SinceTime } from "./fields.ts";
import { maxListed, Nullable, SchemaVersion1, Strict, StringEnum } from "./wire.ts";

/** The hosts of a fleet and their carriers, as the operator's server sees them. */

const Via = StringEnum(["local", "nats", "ssh"], { description: "carrier of the host's messages" });

const count = (description: string) => Type.Integer({ minimum: 0, description });

/** Mail of a host to and from other hosts, counted since its process started. */
export const HostMailCounts = Strict({
  waiting: count("messages that another host has not confirmed yet"),
  oldest_age_ms: Nullable(count("age of the oldest waiting message; null when none waits")),
  delivered: count("deliveries of messages of other hosts to recipients on this host"),
  refused: count("refused deliveries of messages of other hosts to recipients on this host"),
  given_up: count("messages to other hosts that were returned to their senders, unsent or unconfirmed"),
});
export type HostMailCounts = Static<typeof HostMailCounts>;

/** A host and whether it answers, as the operator sees it. */
export const HostState = Strict({
  host: Type.String({ description: "its name, as in `NAME@HOST`" }),
  via: Via,
  state: StringEnum(["live", "away"], { description: "whether it answers" }),
  since_utc: Nullable(SinceTime),
  agents: Type.Integer({ description: "agents that it last listed" }),
  version: Nullable(Type.String({ description: "version of its program; null when unknown" })),
  detail: Type.Optional(Nullable(Type.String({ description: "why it is away or did not answer" }))),
  latency_ms: Type.Optional(Nullable(Type.Number({ description: "round-trip time of a message" }))),
  heartbeat_age_ms: Type.Optional(
    Nullable(Type.Integer({ minimum: 0, description: "time since the last heartbeat; null without one" })),
  ),
  heartbeat_ms: Type.Optional(Nullable(Type.Integer({ description: "interval between heartbeats" }))),
  returns: Type.Optional(
    Type.Integer({ minimum: 0, description: "how often the host came back or restarted" }),
  ),
  clock_difference_ms: Type.Optional(
    Nullable(Type.Integer({ description: "host's clock minus this server's clock, at the last heartbeat" })),
  ),
  mail: Type.Optional({ ...HostMailCounts, description: "mail counts of a host that carries mail" }),
});
export type HostState = Static<typeof HostState>;

/** A carrier of messages: the NATS server, or the ssh of one host. */
export const CarrierState = Strict({
  via: Via,
  host: Nullable(
    Type.String({ description: "host that it reaches; null for a carrier that reaches the whole fleet" }),
  ),
  address: Type.String({ description: "address without secrets" }),
  connected: Type.Boolean({ description: "whether messages can be sent now" }),
  server_version: Nullable(Type.String({ description: "version of the NATS server; null for ssh" })),
  latency_ms: Nullable(Type.Number({ description: "round-trip time to the server; measured with `probe`" })),
  reconnects: Type.Integer({ minimum: 0, description: "connections after the first" }),
  open_calls: Type.Integer({ minimum: 0, description: "calls that have no answer yet" }),
  repeated_calls: Type.Integer({ minimum: 0, description: "calls that were sent again" }),
  dropped_messages: Type.Integer({ minimum: 0, description: "messages of hosts that belong to no call" }),
  unreadable_entries: Type.Integer({ minimum: 0, description: "entries of the directory that were refused" }),
});
export type CarrierState = Static<typeof CarrierState>;

export const HostListQuery = Strict({
  probe: Type.Optional(
    StringEnum(["true", "false"], { description: "true: call each host now; default false" }),
  ),
});
export type HostListQuery = Static<typeof HostListQuery>;

/** Answer of `GET /svc/hosts`. */
export const HostList = Strict(
  {
    schema_version: SchemaVersion1,
    local_host: Nullable(Type.String({ description: "null when this server reaches no other host" })),
    version: Type.String({ description: "version of this server" }),
    carriers: Type.Array(CarrierState, { maxItems: maxListed, description: "carriers to other hosts" }),
    hosts: Type.Array(HostState, { maxItems: maxListed, description: "by name; this host is not in it" }),
  },
  { description: "the hosts of the fleet, and whether they answer" },
);
export type HostList = Static<typeof HostList>;
