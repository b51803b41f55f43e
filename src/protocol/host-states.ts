import { type Static, Type } from "@sinclair/typebox";
import { SinceTime } from "./fields.ts";
import { maxListed, Nullable, SchemaVersion1, Strict, StringEnum } from "./wire.ts";

/** What an operator knows of the hosts of its fleet and of the ways to them. */

const Via = StringEnum(["local", "nats", "ssh"], { description: "what carries messages to it" });

const count = (description: string) => Type.Integer({ minimum: 0, description });

/** Mail of a host to and from other hosts, counted by its process since it began. */
export const HostMailCounts = Strict({
  waiting: count("messages that another host has not confirmed yet"),
  oldest_age_ms: Nullable(count("of the one that waits longest; null when none waits")),
  delivered: count("recipients on this host to whom a message of another host was delivered"),
  refused: count("recipients on this host to whom one could not be delivered"),
  given_up: count("messages to other hosts that were given back to their senders unsent or unconfirmed"),
});
export type HostMailCounts = Static<typeof HostMailCounts>;

/** A host and whether it answers, as the operator sees it. */
export const HostState = Strict({
  host: Type.String({ description: "its name, as in `NAME@HOST`" }),
  via: Via,
  state: StringEnum(["live", "away"], { description: "whether it answers" }),
  since_utc: Nullable(SinceTime),
  agents: Type.Integer({ description: "agents that it last listed" }),
  version: Nullable(Type.String({ description: "of its program; null when it is not known" })),
  detail: Type.Optional(Nullable(Type.String({ description: "why it is away or did not answer" }))),
  latency_ms: Type.Optional(Nullable(Type.Number({ description: "of a message there and back" }))),
  heartbeat_age_ms: Type.Optional(
    Nullable(Type.Integer({ minimum: 0, description: "since the last heartbeat that came; null for none" })),
  ),
  heartbeat_ms: Type.Optional(Nullable(Type.Integer({ description: "one is due in this time" }))),
  returns: Type.Optional(
    Type.Integer({ minimum: 0, description: "how often it came back, or another process of it came" }),
  ),
  clock_difference_ms: Type.Optional(
    Nullable(Type.Integer({ description: "its clock less ours, by its last heartbeat" })),
  ),
  mail: Type.Optional({ ...HostMailCounts, description: "of a host that carries mail" }),
});
export type HostState = Static<typeof HostState>;

/** A carrier of messages: the NATS server, or the ssh of one host. */
export const CarrierState = Strict({
  via: Via,
  host: Nullable(Type.String({ description: "that it reaches; null for one that reaches all of the fleet" })),
  address: Type.String({ description: "without a secret" }),
  connected: Type.Boolean({ description: "messages can be sent now" }),
  server_version: Nullable(Type.String({ description: "of the NATS server; null for ssh" })),
  latency_ms: Nullable(Type.Number({ description: "to the server and back; measured with `probe`" })),
  reconnects: Type.Integer({ minimum: 0, description: "connections after the first" }),
  open_calls: Type.Integer({ minimum: 0, description: "calls that have no answer yet" }),
  repeated_calls: Type.Integer({ minimum: 0, description: "calls that were sent again" }),
  dropped_messages: Type.Integer({ minimum: 0, description: "messages of hosts that fitted no call" }),
  unreadable_entries: Type.Integer({ minimum: 0, description: "entries of the directory that were refused" }),
});
export type CarrierState = Static<typeof CarrierState>;

export const HostListQuery = Strict({
  probe: Type.Optional(
    StringEnum(["true", "false"], { description: "true: measure the way to each host now; default false" }),
  ),
});
export type HostListQuery = Static<typeof HostListQuery>;

/** Answer of `GET /svc/hosts`. */
export const HostList = Strict(
  {
    schema_version: SchemaVersion1,
    local_host: Nullable(Type.String({ description: "null when this server reaches no other host" })),
    version: Type.String({ description: "of this server" }),
    carriers: Type.Array(CarrierState, { maxItems: maxListed, description: "the ways to other hosts" }),
    hosts: Type.Array(HostState, { maxItems: maxListed, description: "by name; this host is not in it" }),
  },
  { description: "the hosts of the fleet, and whether they answer" },
);
export type HostList = Static<typeof HostList>;
