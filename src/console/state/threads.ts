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

/**
 * A participant as people read one: the name of a mailbox of this host alone, everything else with its
 * address, since who sends chooses the name that is shown. A name that could be read as an address is left
 * out.
 */
export function personOf({
  address,
  display_name,
}: {
  address: string;
  display_name: string | null;
}): string {
  const [localPart = address] = address.endsWith(localDomain) ? address.split("@") : [];
  const name = (display_name ?? "").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").trim();
  if (name === "" || name === localPart || /[@<>]/.test(name)) return localPart;
  return `${name} <${address}>`;
}

const localDomain = "@svc.localhost";
