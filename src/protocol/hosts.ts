import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { AgentIdentity } from "./agents.ts";
import { allCoordinatorEndpoints } from "./coordinator-endpoints.ts";
import type { Endpoint } from "./endpoint.ts";
import { HostMailCounts } from "./host-states.ts";
import { NotifyBlock } from "./mail.ts";
import { MailAttestation } from "./mail-file.ts";
import { hostNamePattern, Nullable, SchemaVersion1, Strict, StringEnum, Timestamp } from "./wire.ts";

/**
 * Messages between an agent host and an operator. They come from another machine: each is checked before it
 * is read.
 */

const HostName = Type.String({ pattern: hostNamePattern });
const Hex = (bytes: number) => Type.String({ pattern: `^[0-9a-f]{${bytes * 2}}$` });

/** Of an entry of a directory, as JSON, on each way; and of all entries of one host. */
export const maxEntryBytes = 16 * 1024;
export const maxDirectoryBytes = 16 * 1024 * 1024;

/** What a host publishes of itself once a heartbeat. */
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

/** Of each text in what a host publishes of an agent. */
export const maxEntryText = 512;

/** The same identity with an end to each of its texts: another machine chose them. */
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

/** What a host publishes of one agent: no path, no secret. */
export const HostAgentEntry = Strict({
  schema_version: SchemaVersion1,
  epoch: Type.Integer({ minimum: 1 }),
  identity: RemoteIdentity,
});
export type HostAgentEntry = Static<typeof HostAgentEntry>;

/** With its question mark, or empty; it cannot lead to another path. */
export const hostQueryPattern = "^(?:\\?[^#\\s]*)?$";

/** A call of an operator; the body of the request follows it. */
export const HostCall = Strict({
  kind: Type.Literal("call"),
  id: Hex(16),
  operator: Hex(8),
  /** Grows with each call of the operator; a call that is sent again keeps it. */
  seq: Type.Integer({ minimum: 1 }),
  operation: Type.String({ maxLength: 64 }),
  params: Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 })),
  query: Type.String({ maxLength: 8192, pattern: hostQueryPattern }),
  headers: Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 1024 })),
  has_body: Type.Boolean(),
  head_only: Type.Boolean({ description: "asks for the headers of a GET" }),
});
export type HostCall = Static<typeof HostCall>;

/** While a call is open: take further parts, or end it. */
export const HostControl = Strict({
  kind: StringEnum(["more", "cancel"]),
  id: Hex(16),
  operator: Hex(8),
  /** How many parts were consumed in all. */
  consumed: Type.Integer({ minimum: 0 }),
});
export type HostControl = Static<typeof HostControl>;

/** A part of the answer to a call; bytes of its body follow `part`. */
export const HostAnswer = Strict({
  kind: StringEnum(["taken", "head", "part", "end", "failed"], {
    description: "taken: the call arrived and is under way; failed: no answer comes, `detail` says why",
  }),
  id: Hex(16),
  /** Which execution of the call this is of: a call that only reads may be executed again. */
  run: Type.Integer({ minimum: 0 }),
  seq: Type.Integer({ minimum: 0, description: "0 for the head, then one more for each part and the end" }),
  status: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
  headers: Type.Optional(Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 1024 }))),
  reason: Type.Optional(StringEnum(["unknown_operation", "not_taken", "lost", "too_large"])),
  detail: Type.Optional(Type.String({ maxLength: 2000 })),
});
export type HostAnswer = Static<typeof HostAnswer>;

/** Bytes of one part of an answer. */
export const maxPartBytes = 64 * 1024;

/** Of the lines between an operator and a host over standard input and output. */
export const lineProtocol = 1;
/** Bytes of a message as base64: the largest body, the head beside it. */
const maxLineBody = Math.ceil((8 * 1024 * 1024) / 3) * 4;

/**
 * Head and body of one message of `HostCall`, `HostControl` or `HostAnswer`, which is checked where it is
 * read.
 */
const MessageLine = Strict({
  kind: Type.Literal("message"),
  head: Type.Unknown(),
  body: Type.Optional(Type.String({ maxLength: maxLineBody, description: "base64" })),
});

/** A line of the operator. The first is `hello`: it names the host, which has no say in its name. */
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
    sent: Type.Integer({ minimum: 0, description: "characters that the operator sent before" }),
  }),
  MessageLine,
]);
export type OperatorLine = Static<typeof OperatorLine>;

/** A line of the host. The first is `hello`; what a login shell writes before it is skipped. */
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

const ofAgents = "/svc/agents/:agent_ref";

/** Streams over all agents of a host. */
const ofHost = new Set([
  "fleetEvents",
  "attentionEvents",
  "listAttention",
  "answerAttention",
  "screensEvents",
]);

/**
 * The operations that a host carries out for an operator, by operation id: all on one agent, and what is
 * merged over agents. A host is never shut down or given a program to launch over a link.
 */
export const hostOperations: ReadonlyMap<string, Endpoint> = new Map(
  Object.entries(allCoordinatorEndpoints as Readonly<Record<string, Endpoint>>).filter(
    ([name, { path }]) => path === ofAgents || path.startsWith(`${ofAgents}/`) || ofHost.has(name),
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
  /** As everybody reads them: `name@host`, or of a mail server. */
  to: Type.Array(MailParty, { minItems: 1, maxItems: 256 }),
  cc: Type.Array(MailParty, { maxItems: 256 }),
  /** Names of the mailboxes on the receiving host, those of `to` and `cc`. */
  deliver_to: Type.Array(MailName, { minItems: 1, maxItems: 512, uniqueItems: true }),
  subject: Type.String({ minLength: 1, maxLength: 998 }),
  hops: Type.Integer({ minimum: 0 }),
  notify_block: Nullable(NotifyBlock),
  body: Type.String(),
  /** As the sender's mailbox signed it, with the addresses that its host writes. */
  attestation: Type.Optional(MailAttestation),
});
export type HostMail = Static<typeof HostMail>;

/** The receiving host has dealt with a message: it is delivered, but to those that are refused. */
export const HostMailReceipt = Strict({
  kind: Type.Literal("receipt"),
  message_id: MailId,
  refused: Type.Array(Strict({ name: MailName, why: Type.String({ maxLength: 500 }) }), { maxItems: 512 }),
});
export type HostMailReceipt = Static<typeof HostMailReceipt>;
