import { type Static, Type } from "@sinclair/typebox";
import { NotifyAuth, NotifyBlock } from "./mail.ts";
import { Nullable, Strict } from "./wire.ts";

/** The canonical file of a message, immutable once it is delivered. Source: spec/mailbox-agui.md A1. */

export const mailProtocolVersion = 3;

const text = Type.String({ minLength: 1 });
const MessageId = Type.String({ pattern: "^msg-\\d{8}T\\d{6}Z-[0-9a-f]{32}$" });

export const MailPrincipal = Strict({
  principal_id: text,
  address: text,
  display_name: Type.Optional(text),
  manifest_path_hint: Type.Optional(text),
  role: Type.Optional(text),
});
export type MailPrincipal = Static<typeof MailPrincipal>;

export const StoredAttachment = Strict({
  attachment_id: Type.String({ pattern: "^att-[0-9a-f]{12}$" }),
  kind: Type.Union([Type.Literal("path_ref"), Type.Literal("managed_copy")]),
  path: Type.String({ minLength: 1, description: "relative to the root, or absolute for path_ref" }),
  media_type: text,
  sha256: Type.Optional(text),
  size_bytes: Type.Optional(Type.Integer({ minimum: 0 })),
  label: Type.Optional(text),
});
export type StoredAttachment = Static<typeof StoredAttachment>;

/** The header of a message that holds its `MailAttestation`. */
export const attestationHeader = "x-svc-attestation";

/**
 * The signature of a sender's mailbox: Ed25519 over the UTF-8 bytes of `statement`.
 * `services/mail/attestation.ts` defines the layout of `statement`.
 */
export const MailAttestation = Strict({
  statement: Type.String({ maxLength: 262_144 }),
  key: Type.String({ pattern: "^[A-Za-z0-9_-]{43}$", description: "public key, 32 bytes as base64url" }),
  signature: Type.String({ pattern: "^[A-Za-z0-9_-]{86}$", description: "64 bytes as base64url" }),
});
export type MailAttestation = Static<typeof MailAttestation>;

/** The front matter, in the order of the file. */
export const MailEnvelope = Strict({
  protocol_version: Type.Literal(mailProtocolVersion),
  message_id: MessageId,
  thread_id: MessageId,
  in_reply_to: Nullable(MessageId),
  references: Type.Array(MessageId),
  created_at_utc: Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?Z$" }),
  from: MailPrincipal,
  to: Type.Array(MailPrincipal, { minItems: 1 }),
  cc: Type.Array(MailPrincipal),
  reply_to: Type.Array(MailPrincipal),
  subject: text,
  attachments: Type.Array(StoredAttachment),
  headers: Type.Record(text, Type.Unknown()),
  notify_block: Nullable(NotifyBlock),
  notify_auth: Nullable(NotifyAuth),
});
export type MailEnvelope = Static<typeof MailEnvelope>;
