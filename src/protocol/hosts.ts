import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { AgentIdentity } from "./agents.ts";
import { allCoordinatorEndpoints } from "./coordinator-endpoints.ts";
import type { Endpoint } from "./endpoint.ts";
import { HostMailCounts } from "./host-states.ts";
import { NotifyBlock } from "./mail.ts";
import { MailAttestation } from "./mail-file.ts";
import { hostNamePattern, Nullable, SchemaVersion1, Strict, StringEnum, Timestamp } from "./wire.ts";

/**
 * Messages between an agent host and an operator. They come from another machine, so the receiver validates
 * each one.
 */

const HostName = Type.String({ pattern: hostNamePattern });
const Hex = (bytes: number) => Type.String({ pattern: `^[0-9a-f]{${bytes * 2}}$` });

/** Limits of one directory entry as JSON, and of all entries of a host. */
export const maxEntryBytes = 16 * 1024;
export const maxDirectoryBytes = 16 * 1024 * 1024;

/** The record of a host, published with each heartbeat. */
export const HostRecord = Strict({
  schema_version: SchemaVersion1,
  host: HostName,
  instance: Hex(8),
  epoch: Type.Integer({ minimum: 1, description: "grows with each start of the host's process" }),
  heartbeat_ms: Type.Integer({ minimum: 100, maximum: 60_000 }),
  version: Type.String({ maxLength: 40 }),
  agents: Type.Integer({ minimum: 0 }),
  mail: Type.Optional(HostMailCounts),
  at_utc: Timestamp,
});
export type HostRecord = Static<typeof HostRecord>;

/** Limit of each text in an agent's entry. */
export const maxEntryText = 512;

/** An identity whose texts have a maximum length, since another machine chose them. */
const RemoteIdentity = withMaxLength(AgentIdentity);

function withMaxLength<T extends TSchema>(schema: T): T {
  const copy: TSchema = { ...schema };
  if (copy["type"] === "string" && copy["const"] === undefined) copy["maxLength"] ??= maxEntryText;
  if (Array.isArray(copy["anyOf"])) copy["anyOf"] = copy["anyOf"].map(withMaxLength);
  if (copy["properties"] !== undefined) {
    const properties = Object.entries(copy["properties"] as Record<string, TSchema>);
    copy["properties"] = Object.fromEntries(properties.map(([name, one]) => [name, withMaxLength(one)]));
  }
  return copy as T;
}

/** The entry of one agent in a host's directory, without paths and secrets. */
export const HostAgentEntry = Strict({
  schema_version: SchemaVersion1,
  epoch: Type.Integer({ minimum: 1 }),
  identity: RemoteIdentity,
});
export type HostAgentEntry = Static<typeof HostAgentEntry>;

/** A query with its question mark, or empty. It cannot change the path. */
export const hostQueryPattern = "^(?:\\?[^#\\s]*)?$";

/** A call of an operator; the body of the request follows it. */
export const HostCall = Strict({
  kind: Type.Literal("call"),
  id: Hex(16),
  operator: Hex(8),
  /** Grows with each call of the operator. A repeated call keeps its number. Only older hosts read it. */
  seq: Type.Integer({ minimum: 1 }),
  operation: Type.String({ maxLength: 64 }),
  params: Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 })),
  query: Type.String({ maxLength: 8192, pattern: hostQueryPattern }),
  headers: Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 1024 })),
  has_body: Type.Boolean(),
  head_only: Type.Boolean({ description: "true: a GET whose answer is only the headers" }),
});
export type HostCall = Static<typeof HostCall>;

/** Asks for further parts of an open call, or ends the call. */
export const HostControl = Strict({
  kind: StringEnum(["more", "cancel"]),
  id: Hex(16),
  operator: Hex(8),
  /** Number of parts consumed so far. */
  consumed: Type.Integer({ minimum: 0 }),
});
export type HostControl = Static<typeof HostControl>;

/** A part of the answer to a call; bytes of its body follow `part`. */
export const HostAnswer = Strict({
  kind: StringEnum(["taken", "head", "part", "end", "failed"], {
    description: "taken: the host executes the call; failed: no answer follows, `detail` says why",
  }),
  id: Hex(16),
  /** Number of the execution: a repeated call that only reads may be executed again. */
  run: Type.Integer({ minimum: 0 }),
  seq: Type.Integer({ minimum: 0, description: "0 for the head, then counted up for each part and the end" }),
  status: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
  headers: Type.Optional(Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 1024 }))),
  reason: Type.Optional(StringEnum(["unknown_operation", "not_taken", "lost", "too_large"])),
  detail: Type.Optional(Type.String({ maxLength: 2000 })),
});
export type HostAnswer = Static<typeof HostAnswer>;

/** Bytes of one part of an answer. */
export const maxPartBytes = 64 * 1024;

/** Version of the line protocol between an operator and a host over standard input and output. */
export const lineProtocol = 1;
/** Maximum length of a body as base64. */
const maxLineBody = Math.ceil((8 * 1024 * 1024) / 3) * 4;

/**
 * One message. Its reader validates `head` as `HostCall`, `HostControl` or `HostAnswer`.
 */
const MessageLine = Strict({
  kind: Type.Literal("message"),
  head: Type.Unknown(),
  body: Type.Optional(Type.String({ maxLength: maxLineBody, description: "base64" })),
});

/** A line of the operator. The first is `hello`, which sets the host's name: a host cannot choose it. */
export const OperatorLine = Type.Union([
  Strict({
    kind: Type.Literal("hello"),
    protocol: Type.Literal(lineProtocol),
    host: HostName,
    epoch: Type.Integer({ minimum: 1, description: "grows with each connection of this operator" }),
    heartbeat_ms: Type.Integer({ minimum: 100, maximum: 60_000 }),
  }),
  Strict({
    kind: Type.Literal("ping"),
    sent: Type.Integer({ minimum: 0, description: "number of characters that the operator sent before" }),
  }),
  MessageLine,
]);
export type OperatorLine = Static<typeof OperatorLine>;

/** A line of the host. The first is `hello`; the output of a login shell before it is skipped. */
export const HostLine = Type.Union([
  Strict({
    kind: Type.Literal("hello"),
    protocol: Type.Integer({ minimum: 1 }),
    version: Type.String({ maxLength: 40 }),
  }),
  Strict({ kind: Type.Literal("pong"), sent: Type.Integer({ minimum: 0 }) }),
  Strict({ kind: Type.Literal("record"), record: Type.Unknown() }),
  Strict({ kind: Type.Literal("agent"), agent_id: Type.String({ maxLength: 200 }), entry: Type.Unknown() }),
  MessageLine,
]);
export type HostLine = Static<typeof HostLine>;

const agentPath = "/svc/agents/:agent_ref";

/** Operations over all agents of a host. */
const hostWideOperations = new Set([
  "fleetEvents",
  "attentionEvents",
  "listAttention",
  "answerAttention",
  "screensEvents",
]);

/**
 * The operations that a host carries out for an operator, by operation id: those on one agent and those of
 * `hostWideOperations`. No operation shuts a host down or launches a program on it.
 */
export const hostOperations: ReadonlyMap<string, Endpoint> = new Map(
  Object.entries(allCoordinatorEndpoints as Readonly<Record<string, Endpoint>>).filter(
    ([name, { path }]) =>
      path === agentPath || path.startsWith(`${agentPath}/`) || hostWideOperations.has(name),
  ),
);

const MailName = Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._+-]*$", maxLength: 200 });
const Shown = Type.String({ minLength: 1, maxLength: 300, pattern: "^[^\\x00-\\x1f\\x7f-\\x9f]+$" });
const MailParty = Strict({ address: Shown, display_name: Type.Optional(Shown) });
const MailId = Type.String({ pattern: "^msg-\\d{8}T\\d{6}Z-[0-9a-f]{32}$" });

/** A message from a mailbox of one host to mailboxes of another one. */
export const HostMail = Strict({
  kind: Type.Literal("mail"),
  message_id: MailId,
  thread_id: MailId,
  in_reply_to: Nullable(MailId),
  references: Type.Array(MailId, { maxItems: 200 }),
  created_at_utc: Type.String({ maxLength: 40 }),
  from: Strict({ name: MailName, display_name: Type.Optional(Shown) }),
  /** Addresses as every reader sees them: `name@host`, or an address of a mail server. */
  to: Type.Array(MailParty, { minItems: 1, maxItems: 256 }),
  cc: Type.Array(MailParty, { maxItems: 256 }),
  /** Names of the mailboxes on the receiving host that are in `to` and `cc`. */
  deliver_to: Type.Array(MailName, { minItems: 1, maxItems: 512, uniqueItems: true }),
  subject: Type.String({ minLength: 1, maxLength: 998 }),
  hops: Type.Integer({ minimum: 0 }),
  notify_block: Nullable(NotifyBlock),
  body: Type.String(),
  /** Signature of the sender's mailbox over the addresses that its host writes. */
  attestation: Type.Optional(MailAttestation),
});
export type HostMail = Static<typeof HostMail>;

/** The receiving host delivered a message to all recipients except the refused ones. */
export const HostMailReceipt = Strict({
  kind: Type.Literal("receipt"),
  message_id: MailId,
  refused: Type.Array(Strict({ name: MailName, why: Type.String({ maxLength: 500 }) }), { maxItems: 512 }),
});
export type HostMailReceipt = Static<typeof HostMailReceipt>;
