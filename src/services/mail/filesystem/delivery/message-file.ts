import { Value } from "@sinclair/typebox/value";
import type { IndexedMessage } from "../../../../db/mailbox/catalog.ts";
import type { MailParticipant } from "../../../../protocol/mail.ts";
import { MailEnvelope, type MailPrincipal } from "../../../../protocol/mail-file.ts";
import { ServiceError } from "../../../../system/errors.ts";
import { parseYaml } from "../../../../system/yaml.ts";
import { hasSignedNames, type Verdict } from "../../attestation.ts";
import { hopsHeader, hopsOf } from "../../draft.ts";
import type { Mail } from "../../mailbox.ts";
import { previewOf } from "../../message-body.ts";
import { isArchived, type ViewState } from "../../view-state.ts";
import { canonicalPath } from "../root-paths.ts";

/**
 * A stored message: the text of its file, its references, its rows in the catalog, and how a mailbox shows
 * it. Source: spec/mailbox-agui.md A1, A3, A9. Pure.
 */
export interface StoredMessage {
  envelope: MailEnvelope;
  body: string;
}

export function isEnvelope(value: unknown): value is MailEnvelope {
  return Value.Check(MailEnvelope, value);
}

/** Front matter, an empty line, the body. Every value is one line of JSON, which is YAML too. */
export function renderMessageFile({ envelope, body }: StoredMessage): string {
  const lines = Object.keys(MailEnvelope.properties).map((key) =>
    renderField(key, envelope[key as keyof MailEnvelope]),
  );
  return `---\n${lines.join("")}---\n\n${body}`;
}

/** What a canonical file says, or why it is none. */
export function parseMessageFile(
  text: string,
): { ok: true; message: StoredMessage } | { ok: false; why: string } {
  const end = text.indexOf(closing);
  if (!text.startsWith("---\n") || end < 0) return { ok: false, why: "it has no front matter" };
  let envelope: unknown;
  try {
    envelope = parseYaml(text.slice("---\n".length, end + 1));
  } catch {
    return { ok: false, why: "its front matter is not YAML" };
  }
  if (!isEnvelope(envelope)) {
    const first = Value.Errors(MailEnvelope, envelope).First();
    return {
      ok: false,
      why: `its front matter is not that of a message: ${first?.path ?? ""} ${first?.message ?? ""}`,
    };
  }
  return { ok: true, message: { envelope, body: bodyOf(text) } };
}

/** The body in the text of a canonical file, exactly as it was written. */
export function bodyOf(text: string): string {
  const end = text.indexOf(closing);
  const rest = end < 0 ? "" : text.slice(end + closing.length);
  return rest.startsWith("\n") ? rest.slice(1) : rest;
}

/**
 * Whether `text` looks like the file of this message, without parsing its YAML: an emptied or overwritten
 * file, or one that ends within its front matter, does not. `whole: false`: it is only the beginning of the
 * file.
 */
export function isFileOf(text: string, messageId: string, { whole } = { whole: true }): boolean {
  const end = text.indexOf(closing);
  if (!text.startsWith("---\n") || (end < 0 && whole)) return false;
  return text.slice(0, end < 0 ? undefined : end).includes(messageId);
}

const closing = "\n---\n";

function renderField(key: string, value: unknown): string {
  if (!Array.isArray(value) || value.length === 0) return `${key}: ${scalar(value)}\n`;
  return `${key}:\n${value.map((item) => `  - ${scalar(item)}\n`).join("")}`;
}

/** JSON without the characters that YAML forbids or that break a line for some readers. */
function scalar(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const prefix = "filesystem:";

function toRef(id: string): string {
  return `${prefix}${id}`;
}

/**
 * The id in a reference of this transport; a bare id is one too. Throws `invalid_request` for another
 * transport's.
 */
export function idOf(ref: string): string {
  if (ref.startsWith(prefix)) return ref.slice(prefix.length);
  if (!ref.includes(":")) return ref;
  throw new ServiceError("invalid_request", `a message reference of this mailbox begins with ${prefix}`);
}

/**
 * What the catalog keeps of a message. `deliveredTo`: which registration holds it for an address, or null.
 * Pure.
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

/**
 * A message as its mailbox shows it. `locate` turns the stored path of an attachment into one to open.
 * Source: spec/mailbox-agui.md A9. Pure.
 */
export function toMail(options: {
  envelope: MailEnvelope;
  state: ViewState;
  /** In its mailbox; absent for one that the mailbox has not counted yet. */
  number?: number;
  preview: string;
  body: string | null;
  verdict: Verdict;
  locate: (path: string) => string;
}): Mail {
  const { envelope, state, number, preview, body, verdict, locate } = options;
  const hops = hopsOf(envelope.headers[hopsHeader]);
  // Beside a signature that does not cover it a name would be taken for signed.
  const isNamed = verdict.state !== "verified" || hasSignedNames(envelope);
  const toParticipant = ({ address, display_name, principal_id }: MailPrincipal): MailParticipant => ({
    address,
    principal_id,
    display_name: (isNamed && display_name) || null,
  });
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
    ...(number === undefined ? {} : { number }),
    ...(hops === 0 ? {} : { hops }),
    attestation: verdict.state,
    ...(verdict.state === "broken" ? { attestation_detail: verdict.why } : {}),
  };
}
