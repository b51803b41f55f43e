import { type Static, Type } from "@sinclair/typebox";
import { atLeastOne, enforced, patterns } from "./enforced.ts";
import { MailAddress, PrincipalId } from "./fields.ts";
import {
  describe,
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

/** Maximum length of a notice. A longer text is cut to it and ends with an ellipsis (contract 8). */
export const noticeMaxChars = 512;

const Address = Type.String({
  minLength: 1,
  maxLength: 320,
  description: "LOCAL@DOMAIN, the full address",
  ...enforced({ maxLength: 200, pattern: patterns.address }),
});

export const MailParticipant = Strict(
  {
    address: Type.String({ description: "full mailbox address" }),
    display_name: Nullable(Type.String({ description: "name to show; null when none is known" })),
    principal_id: Nullable(
      Type.String({ description: "id of the mailbox's owner; null when the transport has no principals" }),
    ),
  },
  { description: "a sender or recipient" },
);
export type MailParticipant = Static<typeof MailParticipant>;

export const MailAttachment = Strict(
  {
    attachment_id: Type.String({ description: "id of the attachment in its message" }),
    kind: StringEnum(["path_ref", "managed_copy", "transport_owned"], {
      description:
        "path_ref: a path outside the mailbox; managed_copy: a copy in it; transport_owned: kept by the server",
    }),
    media_type: Type.String({ description: "media type, such as text/plain" }),
    locator: Nullable(Type.String({ description: "a path, or blob:<id> for transport_owned" })),
    size_bytes: Nullable(Type.Integer({ description: "bytes; null when it is not known", minimum: 0 })),
    sha256: Nullable(Type.String({ description: "hex digest of the content; null when it is not known" })),
    label: Nullable(Type.String({ description: "the file's name unless the sender gave another" })),
  },
  { description: "one file of a message" },
);
export const NotifyBlock = Strict(
  {
    text: Type.String({ description: `rendered into the wake-up prompt, cut at ${noticeMaxChars}` }),
    placement: StringEnum(["append", "prepend"], {
      description: "before the opener of the prompt, or after its mail summary; append when absent",
    }),
  },
  { description: "short text for the recipient's wake-up prompt" },
);
export type NotifyBlock = Static<typeof NotifyBlock>;

/** The notice in a request; `placement` defaults to append. */
export const NotifyBlockInput = Strict(
  {
    text: Type.String({
      description: "one or more visible characters",
      minLength: 1,
      pattern: visiblePattern,
      ...enforced({ allOf: [{ pattern: visiblePattern }, { pattern: patterns.withoutNul }] }),
    }),
    placement: Type.Optional(
      StringEnum(["append", "prepend"], {
        description: "before the opener of the prompt, or after its mail summary; append when absent",
      }),
    ),
  },
  { description: "short text for the recipient's wake-up prompt" },
);
export type NotifyBlockInput = Static<typeof NotifyBlockInput>;

export const NotifyAuth = Strict(
  {
    scheme: StringEnum(["none", "shared-token", "hmac-sha256", "jws"], {
      description: "none; shared-token, hmac-sha256 and jws are reserved",
      ...enforced({ enum: ["none"] }),
    }),
    token: Type.Optional(NonBlank("shared token")),
    iss: Type.Optional(NonBlank("issuer")),
    iat: Type.Optional(NonBlank("issued at")),
    exp: Type.Optional(NonBlank("expires at")),
  },
  { description: "proof of the notice's sender; only the scheme none is accepted" },
);
export type NotifyAuth = Static<typeof NotifyAuth>;

/** One message with its state in the reader's mailbox; every route uses this schema. */
export const MailMessage = Strict(
  {
    message_ref: Type.String({ description: "opaque, stable" }),
    thread_ref: Nullable(Type.String({ description: "opaque, stable" })),
    created_at_utc: describe(Timestamp, "when it was sent"),
    subject: Type.String({ description: "one line that says what the message is about" }),
    read: Type.Boolean({ description: "whether the message was read" }),
    answered: Type.Boolean({ description: "whether the owner of the mailbox replied to it" }),
    archived: Type.Boolean({ description: "whether the message is in the box archive" }),
    box: Type.String({ description: "the box that holds it" }),
    unread: Type.Boolean({ description: "the opposite of `read`" }),
    body_preview: Type.String({ description: "one line, at most 240 characters" }),
    body_text: Nullable(Type.String({ description: "the whole body; null unless it was asked for" })),
    sender: describe(MailParticipant, "who sent the message"),
    to: Type.Array(MailParticipant, { ...shortList, description: "recipients" }),
    cc: Type.Array(MailParticipant, { ...shortList, description: "recipients of a copy" }),
    reply_to: Type.Array(MailParticipant, {
      ...shortList,
      description: "recipients of a reply; the sender when empty",
    }),
    attachments: Type.Array(MailAttachment, { ...shortList, description: "files that go with the message" }),
    notify_block: Nullable(describe(NotifyBlock, "null when the message has none")),
    notify_auth: Nullable(
      Strict(
        { scheme: NotifyAuth.properties.scheme },
        { description: "scheme of the proof; the token is never shown" },
      ),
    ),
    number: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          "of the message in this mailbox; never that of another one. Absent in an answer to `send` or `reply`, and from a mail server",
      }),
    ),
    hops: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "number of replies before this message in its chain; absent for none",
      }),
    ),
    attestation: Type.Optional(
      StringEnum(["verified", "unsigned", "broken"], {
        description:
          "whether the signature of the sender's mailbox matches the message; absent in versions that do not check. A list shows the result of the delivery",
      }),
    ),
    attestation_detail: Type.Optional(Type.String({ description: "why the signature does not match" })),
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
  description: "reference of a listed message, or its `number`",
  ...enforced({ pattern: patterns.messageRef }),
});

export const MailListRequest = Strict(
  {
    schema_version: schemaVersion,
    box: Type.Optional(Box),
    read_state: Type.Optional(
      StringEnum(["any", "read", "unread"], { description: "only mail in this state; any when absent" }),
    ),
    answered_state: Type.Optional(
      StringEnum(["any", "answered", "unanswered"], {
        description: "only mail in this state; any when absent",
      }),
    ),
    archived: Type.Optional(
      Nullable(Type.Boolean({ description: "true or false: only such messages; null or absent: both" })),
    ),
    limit: Type.Optional(
      Nullable(
        Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: "null or absent: all" }),
      ),
    ),
    since: Type.Optional(
      Nullable(
        Type.String({
          description: "not older than this; RFC 3339 with its offset",
          ...enforced({ pattern: patterns.time }),
        }),
      ),
    ),
    include_body: Type.Optional(Type.Boolean({ description: "true: `body_text` of each message is given" })),
    cursor: Type.Optional(
      Nullable(
        Type.String({
          description: "`next_cursor` of the previous page",
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
  },
  { description: "which messages to list; all conditions hold" },
);
export type MailListRequest = Static<typeof MailListRequest>;

export const MailRefRequest = Strict(
  {
    schema_version: schemaVersion,
    message_ref: MessageRef,
    box: Type.Optional(Nullable(describe(Box, "only when the message is in this box"))),
  },
  { description: "the message to look at" },
);
export type MailRefRequest = Static<typeof MailRefRequest>;

export const AttachmentInput = Strict(
  {
    path: NonBlank("a regular file on the gateway's machine, absolute", {
      ...enforced({ pattern: patterns.absolutePath }),
    }),
    label: Type.Optional(
      Nullable(NonBlank("name to show, one line", { ...enforced({ pattern: patterns.line }) })),
    ),
  },
  { description: "a file to attach" },
);
export type AttachmentInput = Static<typeof AttachmentInput>;

/** A larger number would be a bulk mailing. */
const maxRecipients = 256;
const maxAttachments = 50;

const Recipients = (description: string, options: { minItems?: number } = {}) =>
  Type.Array(Address, { ...options, maxItems: maxRecipients, description });

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
      "the text, as Markdown; may be empty; its first fence svc-notify becomes the notice unless notify_block is given",
    ...enforced({ pattern: patterns.withoutNul }),
  }),
  attachments: Type.Optional(
    Type.Array(AttachmentInput, { description: "files that go with the message", maxItems: maxAttachments }),
  ),
};
const notify = {
  notify_block: Type.Optional(Nullable(NotifyBlockInput)),
  notify_auth: Type.Optional(Nullable(NotifyAuth)),
};

export const MailSendRequest = Strict(
  {
    schema_version: schemaVersion,
    to: Recipients("full address of each recipient", { minItems: 1 }),
    cc: Type.Optional(Recipients("full address of each recipient of a copy")),
    ...content,
    ...notify,
  },
  { description: "a message to send" },
);
export type MailSendRequest = Static<typeof MailSendRequest>;

export const ReplyPolicy = StringEnum(["operator_mailbox", "none"], {
  description: "whether the agent may reply to the operator; none: it cannot; operator_mailbox when absent",
});
export type ReplyPolicy = Static<typeof ReplyPolicy>;

export const MailPostRequest = Strict(
  {
    schema_version: schemaVersion,
    ...content,
    reply_policy: Type.Optional(ReplyPolicy),
    ...notify,
  },
  { description: "a note of the operator to the agent" },
);
export type MailPostRequest = Static<typeof MailPostRequest>;

export const MailReplyRequest = Strict(
  {
    schema_version: schemaVersion,
    message_ref: MessageRef,
    body_content: content.body_content,
    attachments: content.attachments,
    ...notify,
  },
  { description: "a reply; its recipients and subject follow from the message" },
);
export type MailReplyRequest = Static<typeof MailReplyRequest>;

/** The service checks for duplicates: `uniqueItems` of the validator takes seconds for long texts. */
const MessageRefs = Type.Array(MessageRef, {
  description: "reference of each listed message, once",
  minItems: 1,
  maxItems: maxPage,
  distinct: true,
});

const Flag = Type.Optional(Nullable(Type.Boolean({ description: "null or absent: unchanged" })));

/** At least one of `read`, `answered`, `archived`. An archived message is always read. */
export const MailMarkRequest = Strict(
  {
    schema_version: schemaVersion,
    message_refs: MessageRefs,
    read: Flag,
    answered: Flag,
    archived: Flag,
  },
  {
    ...enforced({
      ...atLeastOne(["read", "answered", "archived"], "boolean"),
      not: {
        required: ["read", "archived"],
        properties: { read: { const: false }, archived: { const: true } },
      },
    }),
    description:
      "flags to set or clear; at least one of read, answered and archived; an archived message cannot be unread",
  },
);
export type MailMarkRequest = Static<typeof MailMarkRequest>;

export const MailMoveRequest = Strict(
  {
    schema_version: schemaVersion,
    message_refs: MessageRefs,
    destination_box: Box,
  },
  { description: "messages to move to a box" },
);
export type MailMoveRequest = Static<typeof MailMoveRequest>;

export const MailArchiveRequest = Strict(
  { schema_version: schemaVersion, message_refs: MessageRefs },
  { description: "messages to archive" },
);
export type MailArchiveRequest = Static<typeof MailArchiveRequest>;

export const MailTransport = StringEnum(["filesystem", "jmap"], {
  description: "filesystem: a folder of this machine; jmap: a mail server",
});
export type MailTransport = Static<typeof MailTransport>;

const identity = {
  schema_version: SchemaVersion1,
  transport: MailTransport,
  principal_id: PrincipalId,
  address: MailAddress,
};

export const MailStatus = Strict(
  {
    ...identity,
    bindings_version: Type.String({
      description: "timestamp of the registration; a new one means a new registration",
    }),
  },
  { description: "the agent's mailbox" },
);
export type MailStatus = Static<typeof MailStatus>;

export const MailList = Strict(
  {
    ...identity,
    box: Type.String({ description: "the box that holds it" }),
    message_count: Type.Integer({ description: "number of returned messages" }),
    open_count: Type.Integer({ description: "returned messages that are not archived" }),
    unread_count: Type.Integer({ description: "returned messages that are not read" }),
    messages: Type.Array(MailMessage, { description: "the messages, newest first", maxItems: maxListed }),
    next_cursor: Type.Optional(
      Nullable(Type.String({ description: "`cursor` of the next page; null on the last one" })),
    ),
  },
  { description: "messages of one box" },
);
export type MailList = Static<typeof MailList>;

export const MailOperation = StringEnum(
  ["peek", "read", "send", "post", "reply", "mark", "move", "archive"],
  { description: "a mail operation, by the last part of its path" },
);
export type MailOperation = Static<typeof MailOperation>;

export const MailResult = Strict(
  { ...identity, operation: MailOperation, message: describe(MailMessage, "the message as it is now") },
  { description: "one message after an operation" },
);
export type MailResult = Static<typeof MailResult>;

export const MailLifecycleResult = Strict(
  {
    ...identity,
    operation: MailOperation,
    message_count: Type.Integer({ description: "number of changed messages" }),
    messages: Type.Array(MailMessage, {
      description: "the messages that were changed, in the order of the request",
      maxItems: maxPage,
    }),
  },
  { description: "the messages that were changed" },
);
export type MailLifecycleResult = Static<typeof MailLifecycleResult>;

/** The location of a filesystem mailbox. */
const FilesystemLocation = Strict(
  {
    root: Type.String({ description: "absolute path of the mailbox root" }),
    mailbox_kind: StringEnum(["in_root", "symlink"], {
      description: "in_root: a folder below the root; symlink: a link to one elsewhere",
    }),
    mailbox_path: Type.String({ description: "absolute path of the mailbox folder" }),
    inbox_path: Type.String({ description: "absolute path of the inbox folder" }),
    sqlite_path: Type.String({ description: "path of the catalog of the root" }),
    local_sqlite_path: Type.String({ description: "path of this mailbox's flags" }),
  },
  { description: "location of the mail; only with this transport" },
);
const JmapLocation = Strict(
  {
    jmap_url: Nullable(
      Type.String({ description: "address of the JMAP service; null when it is not known" }),
    ),
    management_url: Nullable(
      Type.String({ description: "address for managing accounts; null when there is none" }),
    ),
    login_identity: Nullable(Type.String({ description: "who logs in; null when it is not known" })),
    credential_ref: Nullable(Type.String({ description: "names a secret; never the secret" })),
    credential_file: Nullable(Type.String({ description: "file that holds the secret; null without one" })),
  },
  { description: "how the mail server is reached; only with this transport" },
);

const bindingIdentity = {
  transport: MailTransport,
  principal_id: PrincipalId,
  address: MailAddress,
  bindings_version: Type.String({ description: "new at each registration" }),
};

/** An agent's mailbox and the gateway that serves it (spec/mailbox-agui.md A10). */
export const MailResolveLive = Strict(
  {
    source: Type.Literal("manifest_binding"),
    ...bindingIdentity,
    mailbox: Strict(
      {
        ...bindingIdentity,
        filesystem: Type.Optional(FilesystemLocation),
        jmap: Type.Optional(JmapLocation),
      },
      { description: "the binding, with the location of its mail" },
    ),
    gateway: Nullable(
      Strict(
        {
          source: Type.Literal("current_instance_record"),
          host: Type.String({ description: "address where it listens" }),
          port: Type.Integer({ description: "TCP port" }),
          base_url: Type.String({ description: "address for processes of this machine" }),
          protocol_version: Type.String({ description: "version of the gateway protocol" }),
          state_path: Type.String({ description: "absolute path of its state.json" }),
        },
        { description: "the gateway that serves the mailbox; null while none runs" },
      ),
    ),
  },
  { description: "the agent's mailbox, and the gateway that serves it" },
);
export type MailResolveLive = Static<typeof MailResolveLive>;
