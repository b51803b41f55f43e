import { ServiceError } from "../../../system/errors.ts";
import type { JmapEmail } from "./wire.ts";

/** A long thread names its root and the latest of its messages. */
const maxReferences = 100;

/** How a reply hangs together with what it answers. Throws `invalid_request` when nobody can be answered. Pure. */
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
