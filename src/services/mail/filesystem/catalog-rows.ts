import type { IndexedMessage } from "../../../db/mailbox/catalog.ts";
import type { StoredMessage } from "../message-file.ts";
import { previewOf } from "../preview.ts";
import { canonicalPath } from "./root-paths.ts";

/**
 * What the catalog keeps of a message. `deliveredTo`: which registration holds it for an address, or null. Pure.
 */
export function toIndexed(
  { envelope, body }: StoredMessage,
  projections: IndexedMessage["projections"],
  deliveredTo: (address: string) => string | null,
): IndexedMessage {
  const id = envelope.message_id;
  const receivers = [
    ...envelope.to.map((one) => ({ kind: "to" as const, one })),
    ...envelope.cc.map((one) => ({ kind: "cc" as const, one })),
  ];
  return {
    message: {
      messageId: id,
      threadId: envelope.thread_id,
      inReplyTo: envelope.in_reply_to,
      createdAtUtc: envelope.created_at_utc,
      subject: envelope.subject,
      senderAddress: envelope.from.address,
      senderPrincipalId: envelope.from.principal_id,
      canonicalPath: canonicalPath({ messageId: id, createdAtUtc: envelope.created_at_utc }),
      envelopeJson: JSON.stringify(envelope),
      bodyPreview: previewOf(body),
    },
    recipients: receivers.map(({ kind, one }, ordinal) => ({
      messageId: id,
      ordinal,
      kind,
      address: one.address,
      principalId: one.principal_id,
      deliveredRegistrationId: deliveredTo(one.address),
    })),
    attachments: envelope.attachments.map((one, ordinal) => ({
      messageId: id,
      ordinal,
      attachmentId: one.attachment_id,
      kind: one.kind,
      path: one.path,
      mediaType: one.media_type,
      sha256: one.sha256 ?? null,
      sizeBytes: one.size_bytes ?? null,
      label: one.label ?? null,
    })),
    projections,
  };
}
