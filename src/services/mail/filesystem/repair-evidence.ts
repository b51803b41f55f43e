import type { RegistrationRow } from "../../../db/mailbox/catalog.ts";
import type { MailEnvelope } from "../../../protocol/mail-file.ts";
import { inbox, sent } from "../view-state.ts";

export interface EvidenceFacts {
  envelope: MailEnvelope;
  /** Registrations whose state or links name the message. */
  holders: readonly string[];
  registrations: readonly RegistrationRow[];
  /** When the newest message that each mailbox knows was written; absent for one that knows none. */
  newestKnown: ReadonlyMap<string, string>;
  /** The catalog that knew who got what is lost. */
  catalogLost: boolean;
}

/**
 * To whom a message that the catalog does not know was delivered, or null for one that was delivered to nobody: what
 * an interrupted send left. Who holds it in his state or links got it. Beyond that a party got it that may not have
 * looked since: its mailbox knows nothing as new. What a mailbox dropped on purpose does not come back. Pure.
 */
export function planDelivered(
  facts: EvidenceFacts,
): { projections: { registrationId: string; folder: string }[] } | null {
  const { envelope, holders, registrations, newestKnown, catalogLost } = facts;
  if (holders.length === 0 && !catalogLost) return null;
  const receivers = [...envelope.to, ...envelope.cc];
  const parties = [envelope.from, ...receivers];
  const projections = registrations.flatMap((row) => {
    const { registrationId, address } = row;
    const party = parties.find((one) => one.address === address);
    const folder = receivers.some((one) => one.address === address) || !party ? inbox : sent;
    if (holders.includes(registrationId)) return [{ registrationId, folder }];
    if (!party || row.status !== "active") return [];
    const isOwner = row.ownerPrincipalId === "" || row.ownerPrincipalId === party.principal_id;
    const newest = newestKnown.get(registrationId);
    const unseen = newest === undefined || envelope.created_at_utc > newest;
    return isOwner && unseen ? [{ registrationId, folder }] : [];
  });
  return { projections };
}
