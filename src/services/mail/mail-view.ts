import type { MailParticipant } from "../../protocol/mail.ts";
import type { MailEnvelope, MailPrincipal } from "../../protocol/mail-file.ts";
import type { Mail } from "./mailbox.ts";
import { toRef } from "./refs.ts";
import { isArchived, type ViewState } from "./view-state.ts";

/**
 * A message as its mailbox shows it. `locate` turns the stored path of an attachment into one to open. Source:
 * spec/mailbox-agui.md A9. Pure.
 */
export function toMail(options: {
  envelope: MailEnvelope;
  state: ViewState;
  preview: string;
  body: string | null;
  locate: (path: string) => string;
}): Mail {
  const { envelope, state, preview, body, locate } = options;
  return {
    message_ref: toRef(envelope.message_id),
    thread_ref: toRef(envelope.thread_id),
    created_at_utc: envelope.created_at_utc.replace(/Z$/, "+00:00"),
    subject: envelope.subject,
    read: state.read,
    answered: state.answered,
    archived: isArchived(state.box),
    box: state.box,
    unread: !state.read,
    body_preview: preview,
    body_text: body,
    sender: toParticipant(envelope.from),
    to: envelope.to.map(toParticipant),
    cc: envelope.cc.map(toParticipant),
    reply_to: envelope.reply_to.map(toParticipant),
    attachments: envelope.attachments.map((one) => ({
      attachment_id: one.attachment_id,
      kind: one.kind,
      media_type: one.media_type,
      locator: locate(one.path),
      size_bytes: one.size_bytes ?? null,
      sha256: one.sha256 ?? null,
      label: one.label ?? null,
    })),
    notify_block: envelope.notify_block,
    notify_auth: envelope.notify_auth,
  };
}

function toParticipant(principal: MailPrincipal): MailParticipant {
  return {
    address: principal.address,
    display_name: principal.display_name ?? null,
    principal_id: principal.principal_id,
  };
}
