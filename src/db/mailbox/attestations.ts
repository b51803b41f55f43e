import { and, asc, count, eq, gt, isNull, sql } from "drizzle-orm";
import * as schema from "./catalog/schema.ts";
import type { AttestedRow, Catalog } from "./catalog.ts";

const { attestationKeys, attestedMail, messages } = schema;

type AttestationKeyRow = Omit<typeof attestationKeys.$inferSelect, "seq">;

/** An entry with its message in the catalog; null without one. */
export type AttestedEntry = AttestedRow & {
  isCleared: boolean;
  message: { createdAtUtc: string; envelopeJson: string } | null;
};

export type StrayMessage = { messageId: string; createdAtUtc: string; envelopeJson: string };

/** Keys of mailboxes, and the messages that they signed. Each method reads or changes the present file. */
export type Attestations = ReturnType<typeof openAttestations>;

export function openAttestations(catalog: Pick<Catalog, "store">) {
  const db = () => catalog.store.db;
  const columns = {
    address: attestationKeys.address,
    publicKey: attestationKeys.publicKey,
    registrationId: attestationKeys.registrationId,
    seenAtUtc: attestationKeys.seenAtUtc,
  };
  return {
    /** Public keys of an address, the oldest first. */
    keysOf: (address: string): AttestationKeyRow[] =>
      db()
        .select(columns)
        .from(attestationKeys)
        .where(eq(attestationKeys.address, address))
        .orderBy(asc(attestationKeys.seq))
        .all(),
    /** By address, the oldest first. */
    keys: (): AttestationKeyRow[] =>
      db()
        .select(columns)
        .from(attestationKeys)
        .orderBy(asc(attestationKeys.address), asc(attestationKeys.seq))
        .all(),
    /** Adds a key; an existing key of the address is unchanged. */
    publish(key: AttestationKeyRow): void {
      catalog.store.write("sql:mail-key-published", (tx) => {
        tx.insert(attestationKeys).values(key).onConflictDoNothing().run();
      });
    },
    /** Removes the keys of a mailbox on another host. Returns their number. */
    forgetForeign: (address: string): number =>
      catalog.store.write("sql:mail-key-forgotten", (tx) => {
        const is = and(eq(attestationKeys.address, address), isNull(attestationKeys.registrationId));
        const found = tx.select().from(attestationKeys).where(is).all().length;
        tx.delete(attestationKeys).where(is).run();
        return found;
      }),
    /** The entries that a registration signed and sent, in order, after the sequence `after`. */
    entries: ({
      registrationId,
      after,
      limit,
    }: {
      registrationId: string;
      after: number;
      limit: number;
    }): AttestedEntry[] =>
      db()
        .select({
          registrationId: attestedMail.registrationId,
          sequence: attestedMail.sequence,
          messageId: attestedMail.messageId,
          hash: attestedMail.hash,
          isCleared: attestedMail.isCleared,
          message: { createdAtUtc: messages.createdAtUtc, envelopeJson: messages.envelopeJson },
        })
        .from(attestedMail)
        .leftJoin(messages, eq(messages.messageId, attestedMail.messageId))
        .where(and(eq(attestedMail.registrationId, registrationId), gt(attestedMail.sequence, after)))
        .orderBy(asc(attestedMail.sequence))
        .limit(limit)
        .all(),
    countEntries: (registrationId: string): number =>
      db()
        .select({ n: count() })
        .from(attestedMail)
        .where(eq(attestedMail.registrationId, registrationId))
        .get()?.n ?? 0,
    /**
     * The sender of a cleared message: an address on another host, or a registration of this root; null for
     * other messages.
     */
    senderOfCleared: (messageId: string): string | null =>
      db()
        .select({ sender: attestedMail.registrationId })
        .from(attestedMail)
        .where(and(eq(attestedMail.messageId, messageId), eq(attestedMail.isCleared, true)))
        .get()?.sender ?? null,
    /** Messages without an entry in a chain, of `address` or of all, by id after `after`. */
    strays: ({
      address,
      after,
      limit,
    }: {
      address: string | null;
      after: string;
      limit: number;
    }): StrayMessage[] =>
      db()
        .select({
          messageId: messages.messageId,
          createdAtUtc: messages.createdAtUtc,
          envelopeJson: messages.envelopeJson,
        })
        .from(messages)
        .where(
          and(
            gt(messages.messageId, after),
            address === null ? undefined : eq(messages.senderAddress, address),
            sql`${messages.messageId} NOT IN (SELECT message_id FROM attested_mail)`,
          ),
        )
        .orderBy(asc(messages.messageId))
        .limit(limit)
        .all(),
    /** Adds entries of a lost index; existing ones are unchanged. */
    restore(entries: readonly (AttestedRow & { isCleared: boolean })[]): void {
      if (entries.length === 0) return;
      catalog.store.write("sql:mail-attested-restored", (tx) => {
        for (const entry of entries) tx.insert(attestedMail).values(entry).onConflictDoNothing().run();
      });
    },
  };
}
