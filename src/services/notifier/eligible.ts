import type { MailSummaryEntry, NotifierConfig } from "../../protocol/notifier.ts";
import { sha256 } from "../../system/digest.ts";
import { messageOf } from "../../system/errors.ts";
import type { Mail, Mailbox } from "../mail/mailbox.ts";
import type { EligibleMail } from "./decide.ts";

/** A poll looks at the newest so many; an inbox with more is told as such. */
const maxListed = 1000;
/** An audit row tells of the oldest so many; its count tells of all. */
const maxSummed = 50;

/**
 * The unarchived inbox mail that counts under `mode`, oldest first, with the sha256 of its sorted references. What has
 * lost its content is counted apart: it would wake the agent for ever. Never rejects: a mailbox that cannot be opened or read is told as an error. Source: contract 2.6, 4.1 notifier rule 3.
 */
export async function eligibleMail(open: () => Mailbox, mode: NotifierConfig["mode"]): Promise<EligibleMail> {
  try {
    const mailbox = open();
    const page = await mailbox.list({
      box: "inbox",
      readState: mode === "unread_only" ? "unread" : "any",
      answeredState: "any",
      archived: false,
      limit: maxListed,
      since: null,
      includeBody: false,
      cursor: null,
      query: null,
      onlyReadable: true,
    });
    const messages = [...page.messages].sort(byAge);
    const refs = messages.map((message) => message.message_ref).sort();
    return {
      listed: true,
      address: mailbox.address,
      messages,
      more: page.nextCursor !== null,
      unreadable: page.unreadable ?? 0,
      digest: sha256(refs.join("\n")),
    };
  } catch (error) {
    return { listed: false, error: messageOf(error) };
  }
}

export function summaryOf(messages: readonly Mail[]): MailSummaryEntry[] {
  return messages.slice(0, maxSummed).map(({ message_ref, thread_ref, created_at_utc, subject }) => ({
    message_ref,
    thread_ref,
    created_at_utc,
    subject,
  }));
}

function byAge(left: Mail, right: Mail): number {
  return compare(left.created_at_utc, right.created_at_utc) || compare(left.message_ref, right.message_ref);
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
