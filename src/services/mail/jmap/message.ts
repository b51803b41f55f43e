import type { MailParticipant } from "../../../protocol/mail.ts";
import { parseTimestamp, toTimestamp } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Mail } from "../mailbox.ts";
import { previewOf } from "../message-body.ts";
import { isArchived, type ViewState } from "../view-state.ts";
import type { Boxes } from "./boxes.ts";
import type { JmapAddress, JmapEmail } from "./wire.ts";

/** Messages of a JMAP server in the form of this service. Source: spec/mailbox-agui.md A3, A9, B. Pure. */

const refPrefix = "jmap:";
const threadPrefix = "jmap-thread:";

export const keyword = { read: "$seen", answered: "$answered", draft: "$draft" } as const;

/** The id in a reference of this transport; a bare id is one too. Throws `invalid_request` for another's. */
export function emailIdOf(ref: string): string {
  if (ref.startsWith(refPrefix)) return ref.slice(refPrefix.length);
  if (!ref.includes(":")) return ref;
  throw new ServiceError("invalid_request", `a message reference of this mailbox begins with ${refPrefix}`);
}

export function viewStateOf(email: JmapEmail, boxes: Boxes, preferredBox?: string): ViewState {
  return {
    box: boxes.boxOf(email.mailboxIds, preferredBox),
    read: email.keywords[keyword.read] === true,
    answered: email.keywords[keyword.answered] === true,
  };
}

/** `body`: whether the text is included. */
export function toMail(email: JmapEmail, state: ViewState, { body }: { body: boolean }): Mail {
  const { box, read, answered } = state;
  const receivedMs = parseTimestamp(email.receivedAt);
  if (receivedMs === null)
    throw new ServiceError("transport_failed", "the JMAP server returned an invalid time");
  return {
    message_ref: `${refPrefix}${email.id}`,
    thread_ref: `${threadPrefix}${email.threadId}`,
    created_at_utc: toTimestamp(receivedMs),
    subject: email.subject?.trim() || "(no subject)",
    read,
    answered,
    archived: isArchived(box),
    box,
    unread: !read,
    body_preview: previewOf(email.preview ?? ""),
    body_text: body ? bodyOf(email) : null,
    sender: toParticipant(email.from?.[0] ?? { email: "" }),
    to: (email.to ?? []).map(toParticipant),
    cc: (email.cc ?? []).map(toParticipant),
    reply_to: (email.replyTo ?? []).map(toParticipant),
    attachments: (email.attachments ?? []).map(({ blobId, type, size, name }) => ({
      attachment_id: blobId ?? "",
      kind: "transport_owned" as const,
      media_type: type ?? "application/octet-stream",
      locator: blobId ? `blob:${blobId}` : null,
      size_bytes: size ?? null,
      sha256: null,
      label: name ?? null,
    })),
    notify_block: null,
    notify_auth: null,
  };
}

/** Whether a part of the text was left out, since it is long. */
export function isCut({ bodyValues }: JmapEmail): boolean {
  return Object.values(bodyValues ?? {}).some(({ isTruncated }) => isTruncated === true);
}

/** The newline that ends the last line belongs to the wire: it is added on sending and removed on reading. */
export function toWireBody(body: string): string {
  return `${body}\n`;
}

function bodyOf({ textBody, bodyValues }: JmapEmail): string {
  const text = (textBody ?? []).map(({ partId }) => bodyValues?.[partId ?? ""]?.value ?? "").join("");
  return text.replaceAll("\r\n", "\n").replace(/\n$/, "");
}

function toParticipant({ email, name }: JmapAddress): MailParticipant {
  return { address: email, display_name: name?.trim() || null, principal_id: null };
}

/** A long thread names its root and the latest of its messages. */
const maxReferences = 100;

/** How a reply refers to its parent. Throws `invalid_request` when nobody can be answered. Pure. */
export function planReply(parent: JmapEmail): {
  to: string[];
  subject: string;
  inReplyTo: string[];
  references: string[];
} {
  const to = (parent.replyTo?.length ? parent.replyTo : (parent.from ?? [])).map(({ email }) => email);
  if (to.length === 0) throw new ServiceError("invalid_request", "the message does not say who wrote it");
  const subject = parent.subject?.trim() || "(no subject)";
  const inReplyTo = (parent.messageId ?? []).slice(-1);
  const all = [...(parent.references ?? []), ...inReplyTo];
  return {
    to,
    subject: /^re:/i.test(subject) ? subject : `Re: ${subject}`,
    inReplyTo,
    references: all.length > maxReferences ? [...all.slice(0, 1), ...all.slice(1 - maxReferences)] : all,
  };
}
