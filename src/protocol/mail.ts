import { type Static, Type } from "@sinclair/typebox";
import { atLeastOne, enforced, patterns } from "./enforced.ts";
import {
  maxListed,
  maxPage,
  NonBlank,
  Nullable,
  SchemaVersion1,
  Strict,
  StringEnum,
  shortList,
  Timestamp,
  visiblePattern,
} from "./wire.ts";

/** Mail on the wire. Source: contract 2.5, 4.1 (mail rows and rules); spec/mailbox-agui.md A1-A4, A9. */

const schemaVersion = Type.Optional(SchemaVersion1);

/** Longest text of a notice; a longer one is cut to this, the last character an ellipsis (contract 8). */
export const noticeMaxChars = 512;

const Address = Type.String({
  minLength: 1,
  maxLength: 320,
  description: "LOCAL@DOMAIN, the full address",
  ...enforced({ maxLength: 200, pattern: patterns.address }),
});

export const MailParticipant = Strict({
  address: Type.String(),
  display_name: Nullable(Type.String()),
  principal_id: Nullable(Type.String({ description: "null where the transport knows no principals" })),
});
export type MailParticipant = Static<typeof MailParticipant>;

export const MailAttachment = Strict({
  attachment_id: Type.String(),
  kind: StringEnum(["path_ref", "managed_copy", "transport_owned"]),
  media_type: Type.String(),
  locator: Nullable(Type.String({ description: "a path, or blob:<id> where the transport keeps it" })),
  size_bytes: Nullable(Type.Integer({ minimum: 0 })),
  sha256: Nullable(Type.String()),
  label: Nullable(Type.String({ description: "the file's name unless the sender gave another" })),
});
export type MailAttachment = Static<typeof MailAttachment>;

export const NotifyBlock = Strict(
  {
    text: Type.String({ description: `rendered into the wake-up prompt, cut at ${noticeMaxChars}` }),
    placement: StringEnum(["append", "prepend"]),
  },
  { description: "short text for the recipient's wake-up prompt" },
);
export type NotifyBlock = Static<typeof NotifyBlock>;

/** As callers write it: `placement` defaults to append. */
export const NotifyBlockInput = Strict({
  text: Type.String({
    minLength: 1,
    pattern: visiblePattern,
    ...enforced({ allOf: [{ pattern: visiblePattern }, { pattern: patterns.withoutNul }] }),
  }),
  placement: Type.Optional(StringEnum(["append", "prepend"])),
});
export type NotifyBlockInput = Static<typeof NotifyBlockInput>;

export const NotifyAuth = Strict({
  scheme: StringEnum(["none", "shared-token", "hmac-sha256", "jws"], {
    description: "none; shared-token, hmac-sha256 and jws are reserved",
    ...enforced({ enum: ["none"] }),
  }),
  token: Type.Optional(NonBlank("what a verifier of shared tokens compares")),
  iss: Type.Optional(NonBlank("issuer")),
  iat: Type.Optional(NonBlank("issued at")),
  exp: Type.Optional(NonBlank("expires at")),
});
export type NotifyAuth = Static<typeof NotifyAuth>;

/** One message as its reader sees it; the same shape wherever a message is shown. */
export const MailMessage = Strict(
  {
    message_ref: Type.String({ description: "opaque, stable" }),
    thread_ref: Nullable(Type.String({ description: "opaque, stable" })),
    created_at_utc: Timestamp,
    subject: Type.String(),
    read: Type.Boolean(),
    answered: Type.Boolean(),
    archived: Type.Boolean(),
    box: Type.String(),
    unread: Type.Boolean(),
    body_preview: Type.String({ description: "one line, at most 240 characters" }),
    body_text: Nullable(Type.String()),
    sender: MailParticipant,
    to: Type.Array(MailParticipant, shortList),
    cc: Type.Array(MailParticipant, shortList),
    reply_to: Type.Array(MailParticipant, shortList),
    attachments: Type.Array(MailAttachment, shortList),
    notify_block: Nullable(NotifyBlock),
    notify_auth: Nullable(
      Strict({ scheme: NotifyAuth.properties.scheme }, { description: "a token is never shown" }),
    ),
    hops: Type.Optional(
      Type.Integer({ minimum: 1, description: "how many replies led to it; absent for none" }),
    ),
    attestation: Type.Optional(
      StringEnum(["verified", "unsigned", "broken"], {
        description:
          "whether the sender's mailbox signed it, as it is; absent from versions that do not look. A list shows what was found when it came",
      }),
    ),
    attestation_detail: Type.Optional(Type.String({ description: "why it is broken" })),
  },
  { description: "one mail message, with its state in this mailbox" },
);
export type MailMessage = Static<typeof MailMessage>;

const Box = Type.String({
  minLength: 1,
  maxLength: 255,
  description: "inbox, sent, archive, drafts, ...; at most 50 characters, or 200 of ASCII",
  ...enforced({
    pattern: patterns.box,
    anyOf: [{ maxLength: 50 }, { maxLength: 200, pattern: "^[\\x00-\\x7f]*$" }],
  }),
});
const MessageRef = Type.String({
  minLength: 1,
  maxLength: 512,
  pattern: visiblePattern,
  description: "message_ref of a listed message",
  ...enforced({ pattern: patterns.messageRef }),
});

export const MailListRequest = Strict({
  schema_version: schemaVersion,
  box: Type.Optional(Box),
  read_state: Type.Optional(StringEnum(["any", "read", "unread"])),
  answered_state: Type.Optional(StringEnum(["any", "answered", "unanswered"])),
  archived: Type.Optional(Nullable(Type.Boolean())),
  limit: Type.Optional(
    Nullable(
      Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: "null or absent: all" }),
    ),
  ),
  since: Type.Optional(
    Nullable(
      Type.String({
        description: "RFC 3339 with its offset, inclusive lower bound",
        ...enforced({ pattern: patterns.time }),
      }),
    ),
  ),
  include_body: Type.Optional(Type.Boolean()),
  cursor: Type.Optional(
    Nullable(
      Type.String({
        description: "`next_cursor` of the page before",
        ...enforced({ pattern: patterns.cursor }),
      }),
    ),
  ),
  query: Type.Optional(
    Nullable(
      Type.String({
        maxLength: 65_536,
        description: "words to find in subject, sender and body",
      }),
    ),
  ),
});
export type MailListRequest = Static<typeof MailListRequest>;

export const MailRefRequest = Strict({
  schema_version: schemaVersion,
  message_ref: MessageRef,
  box: Type.Optional(Nullable(Box)),
});
export type MailRefRequest = Static<typeof MailRefRequest>;

export const AttachmentInput = Strict({
  path: NonBlank("a regular file on the gateway's machine, absolute", {
    ...enforced({ pattern: patterns.absolutePath }),
  }),
  label: Type.Optional(
    Nullable(NonBlank("name to show, one line", { ...enforced({ pattern: patterns.line }) })),
  ),
});
export type AttachmentInput = Static<typeof AttachmentInput>;

/** More would be a bulk mailing, which no agent writes by hand. */
const maxRecipients = 256;
const maxAttachments = 50;

const Recipients = (options: { minItems?: number }) =>
  Type.Array(Address, { ...options, maxItems: maxRecipients });

const content = {
  subject: Type.String({
    minLength: 1,
    maxLength: 998,
    pattern: visiblePattern,
    description: "one line",
    ...enforced({ pattern: patterns.line }),
  }),
  body_content: Type.String({
    description:
      "Markdown; may be empty. The first fence svc-notify in it becomes the notice unless notify_block is given",
    ...enforced({ pattern: patterns.withoutNul }),
  }),
  attachments: Type.Optional(Type.Array(AttachmentInput, { maxItems: maxAttachments })),
};
const notify = {
  notify_block: Type.Optional(Nullable(NotifyBlockInput)),
  notify_auth: Type.Optional(Nullable(NotifyAuth)),
};

export const MailSendRequest = Strict({
  schema_version: schemaVersion,
  to: Recipients({ minItems: 1 }),
  cc: Type.Optional(Recipients({})),
  ...content,
  ...notify,
});
export type MailSendRequest = Static<typeof MailSendRequest>;

export const ReplyPolicy = StringEnum(["operator_mailbox", "none"]);
export type ReplyPolicy = Static<typeof ReplyPolicy>;

export const MailPostRequest = Strict({
  schema_version: schemaVersion,
  ...content,
  reply_policy: Type.Optional(ReplyPolicy),
  ...notify,
});
export type MailPostRequest = Static<typeof MailPostRequest>;

export const MailReplyRequest = Strict({
  schema_version: schemaVersion,
  message_ref: MessageRef,
  body_content: content.body_content,
  attachments: content.attachments,
  ...notify,
});
export type MailReplyRequest = Static<typeof MailReplyRequest>;

/** Whether they differ is checked by the service: the validator's own way takes seconds for long texts. */
const MessageRefs = Type.Array(MessageRef, { minItems: 1, maxItems: maxPage, distinct: true });

const Flag = Type.Optional(Nullable(Type.Boolean({ description: "null or absent: left as it is" })));

/** At least one of `read`, `answered`, `archived`. An archived message is always read. */
export const MailMarkRequest = Strict(
  {
    schema_version: schemaVersion,
    message_refs: MessageRefs,
    read: Flag,
    answered: Flag,
    archived: Flag,
  },
  enforced({
    ...atLeastOne(["read", "answered", "archived"], "boolean"),
    not: {
      required: ["read", "archived"],
      properties: { read: { const: false }, archived: { const: true } },
    },
  }),
);
export type MailMarkRequest = Static<typeof MailMarkRequest>;

export const MailMoveRequest = Strict({
  schema_version: schemaVersion,
  message_refs: MessageRefs,
  destination_box: Box,
});
export type MailMoveRequest = Static<typeof MailMoveRequest>;

export const MailArchiveRequest = Strict({ schema_version: schemaVersion, message_refs: MessageRefs });
export type MailArchiveRequest = Static<typeof MailArchiveRequest>;

export const MailTransport = StringEnum(["filesystem", "jmap"]);
export type MailTransport = Static<typeof MailTransport>;

const identity = {
  schema_version: SchemaVersion1,
  transport: MailTransport,
  principal_id: Type.String(),
  address: Type.String(),
};

export const MailStatus = Strict({ ...identity, bindings_version: Type.String() });
export type MailStatus = Static<typeof MailStatus>;

export const MailList = Strict({
  ...identity,
  box: Type.String(),
  message_count: Type.Integer({ description: "of the messages returned, as are the other two" }),
  open_count: Type.Integer({ description: "not archived" }),
  unread_count: Type.Integer(),
  messages: Type.Array(MailMessage, { maxItems: maxListed }),
  next_cursor: Type.Optional(
    Nullable(Type.String({ description: "asks for what follows; null at the end" })),
  ),
});
export type MailList = Static<typeof MailList>;

export const MailOperation = StringEnum(["peek", "read", "send", "post", "reply", "mark", "move", "archive"]);
export type MailOperation = Static<typeof MailOperation>;

export const MailResult = Strict({ ...identity, operation: MailOperation, message: MailMessage });
export type MailResult = Static<typeof MailResult>;

export const MailLifecycleResult = Strict({
  ...identity,
  operation: MailOperation,
  message_count: Type.Integer(),
  messages: Type.Array(MailMessage, { maxItems: maxPage }),
});
export type MailLifecycleResult = Static<typeof MailLifecycleResult>;

/** Where a mailbox is, beyond what every transport reports. */
const FilesystemPlace = Strict({
  root: Type.String(),
  mailbox_kind: StringEnum(["in_root", "symlink"]),
  mailbox_path: Type.String(),
  inbox_path: Type.String(),
  sqlite_path: Type.String({ description: "catalog of the whole root" }),
  local_sqlite_path: Type.String({ description: "flags of this mailbox" }),
});
const JmapPlace = Strict({
  jmap_url: Nullable(Type.String()),
  management_url: Nullable(Type.String()),
  login_identity: Nullable(Type.String()),
  credential_ref: Nullable(Type.String({ description: "names a secret; never the secret" })),
  credential_file: Nullable(Type.String()),
});

const bindingIdentity = {
  transport: MailTransport,
  principal_id: Type.String(),
  address: Type.String(),
  bindings_version: Type.String({ description: "new at each registration" }),
};

/** An agent's mailbox and the gateway that serves it (spec/mailbox-agui.md A10). */
export const MailResolveLive = Strict({
  source: Type.Literal("manifest_binding"),
  ...bindingIdentity,
  mailbox: Strict({
    ...bindingIdentity,
    filesystem: Type.Optional(FilesystemPlace),
    jmap: Type.Optional(JmapPlace),
  }),
  gateway: Nullable(
    Strict({
      source: Type.Literal("current_instance_record"),
      host: Type.String(),
      port: Type.Integer(),
      base_url: Type.String({ description: "where a process of this machine reaches it" }),
      protocol_version: Type.String(),
      state_path: Type.String(),
    }),
  ),
});
export type MailResolveLive = Static<typeof MailResolveLive>;
