import type { MailEnvelope, MailPrincipal } from "../../protocol/mail-file.ts";
import { ServiceError } from "../../system/errors.ts";

/** How a reply hangs together with what it answers. Source: contract 2.5; spec/mailbox-agui.md A1, A9. Pure. */

export const originHeader = "x-svc-origin";
export const replyPolicyHeader = "x-svc-reply-policy";

/** A long thread names its root and the latest of its messages. */
const maxReferences = 100;

export interface Thread {
  subject: string;
  to: MailPrincipal[];
  threadId: string;
  inReplyTo: string;
  references: string[];
}

/** Throws `invalid_request` for a note of the operator that takes no reply. */
export function planReply(parent: MailEnvelope): Thread {
  if (
    parent.headers[originHeader] === "operator" &&
    parent.headers[replyPolicyHeader] !== "operator_mailbox"
  ) {
    throw new ServiceError("invalid_request", "this note of the operator takes no reply");
  }
  const all = [...parent.references, parent.message_id];
  return {
    subject: /^re:/i.test(parent.subject) ? parent.subject : `Re: ${parent.subject}`,
    to: parent.reply_to.length > 0 ? parent.reply_to : [parent.from],
    threadId: parent.thread_id,
    inReplyTo: parent.message_id,
    references: all.length > maxReferences ? [...all.slice(0, 1), ...all.slice(1 - maxReferences)] : all,
  };
}
