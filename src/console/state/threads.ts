import type { MailMessage } from "../../protocol/mail.ts";

/** Messages of one mailbox by conversation. Pure. */
export interface Thread {
  id: string;
  subject: string;
  /** Oldest first. */
  messages: MailMessage[];
  unread: number;
  people: string[];
  lastUtc: string;
}

/** The threads of some messages, newest first. A message that is in two boxes counts once. */
export function toThreads(messages: readonly MailMessage[]): Thread[] {
  const distinct = [...new Map(messages.map((one) => [one.message_ref, one])).values()];
  const groups = Map.groupBy(distinct, (one) => one.thread_ref ?? one.message_ref);
  return [...groups]
    .map(([id, group]): Thread => {
      const sorted = group.toSorted((a, b) => a.created_at_utc.localeCompare(b.created_at_utc));
      return {
        id,
        subject: sorted[0]?.subject ?? "",
        messages: sorted,
        unread: sorted.filter(({ unread }) => unread).length,
        people: [...new Set(sorted.map(({ sender }) => personOf(sender)))],
        lastUtc: sorted.at(-1)?.created_at_utc ?? "",
      };
    })
    .sort((a, b) => b.lastUtc.localeCompare(a.lastUtc));
}

/** A name for a participant: the display name, or the address without its domain. */
export const personOf = (one: { address: string; display_name: string | null }): string =>
  one.display_name ?? one.address.split("@")[0] ?? one.address;
