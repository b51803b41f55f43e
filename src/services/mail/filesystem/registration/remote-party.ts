import type { IndexedMessage, RegistrationRow } from "../../../../db/mailbox/catalog.ts";
import type { HostOutbox } from "../../../../db/mailbox/host-outbox.ts";
import type { Remedy } from "../../../../protocol/remedy.ts";
import { ServiceError } from "../../../../system/errors.ts";
import type { ReplyDraft } from "../../mailbox.ts";

/** A mailbox on another host, `name@host`. Whether there is one is known there. */
interface RemoteParty {
  host: string;
  address: string;
}

export type Party = RegistrationRow | RemoteParty;

/**
 * Messages of a folder of mailboxes that wait for one other host: one that is gone leaves space for those to
 * the others.
 */
const maxWaitingForHost = 2000;
const maxWaiting = 10_000;

export const isRemote = (party: Party): party is RemoteParty => "host" in party;
export const localOf = (parties: readonly Party[]) =>
  parties.filter((one): one is RegistrationRow => !isRemote(one));

/** Throws `unsupported` for what another host cannot be given. */
export function refuseUntransported({
  to,
  cc,
  attachments,
  notifyAuth,
}: Pick<ReplyDraft, "attachments" | "notifyAuth"> & { to: readonly Party[]; cc: readonly Party[] }): void {
  if (![...to, ...cc].some(isRemote)) return;
  const what = attachments.length > 0 ? "attachments stay" : notifyAuth ? "notify_auth stays" : null;
  if (what !== null) {
    throw new ServiceError("unsupported", `${what} on this host: write to mailboxes of other hosts without`);
  }
}

/** Throws `conflict` when too many messages wait for other hosts already. */
export function refuseFullOutbox(
  outbox: Pick<HostOutbox, "size">,
  outgoing: NonNullable<IndexedMessage["outgoing"]>,
): void {
  if (outgoing.length === 0) return;
  const full = ({ count, oldestUtc }: ReturnType<HostOutbox["size"]>, whom: string) =>
    new ServiceError(
      "conflict",
      `${count} messages wait for ${whom}, the oldest since ${oldestUtc}, and no more are taken until some have arrived. See that this machine and theirs are joined; a message that is not confirmed for three days comes back as a note`,
      { data: { remedy: { code: "join_fleet" } satisfies Remedy } },
    );
  for (const { host } of outgoing) {
    const waiting = outbox.size(host);
    if (waiting.count >= maxWaitingForHost) throw full(waiting, `the host "${host}"`);
  }
  const all = outbox.size();
  if (all.count + outgoing.length > maxWaiting) throw full(all, "other hosts");
}
