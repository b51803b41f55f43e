import { and, asc, count, eq, gt, min, sql } from "drizzle-orm";
import * as schema from "./catalog/schema.ts";
import type { Catalog, MessageRow } from "./catalog.ts";

const { fleetHost, hostOutbox, messages } = schema;

/** A message that another host has not confirmed yet. `seq` is the order of the commits. */
export interface OutboxEntry {
  seq: number;
  messageId: string;
  host: string;
  acceptedAtUtc: string;
}

/** Mail of a root for other hosts. Each method reads or changes the present file. */
export type HostOutbox = ReturnType<typeof openHostOutbox>;

export function openHostOutbox(catalog: Pick<Catalog, "store">) {
  const db = () => catalog.store.db;
  return {
    /** The name under which this machine has joined a fleet; null when it has not. */
    host: (): string | null => db().select({ host: fleetHost.host }).from(fleetHost).get()?.host ?? null,
    joinAs(host: string): void {
      if (this.host() === host) return;
      catalog.store.write("sql:mail-host-named", (tx) => {
        tx.insert(fleetHost)
          .values({ singleton: 1, host })
          .onConflictDoUpdate({ target: fleetHost.singleton, set: { host } })
          .run();
      });
    },
    /** Entries in order, after the sequence `after`. */
    waiting: ({ after, limit }: { after: number; limit: number }): OutboxEntry[] =>
      db()
        .select()
        .from(hostOutbox)
        .where(gt(hostOutbox.seq, after))
        .orderBy(asc(hostOutbox.seq))
        .limit(limit)
        .all(),
    /** Number of waiting entries, for this host or for all, and the time of the oldest. */
    size: (host?: string): { count: number; oldestUtc: string | null } =>
      db()
        .select({ count: count(), oldestUtc: min(hostOutbox.acceptedAtUtc) })
        .from(hostOutbox)
        .where(host === undefined ? undefined : eq(hostOutbox.host, host))
        .get() ?? { count: 0, oldestUtc: null },
    entry: (messageId: string, host: string): OutboxEntry | null =>
      db()
        .select()
        .from(hostOutbox)
        .where(and(eq(hostOutbox.messageId, messageId), eq(hostOutbox.host, host)))
        .get() ?? null,
    /** Adds an entry of a lost index. */
    restore(entry: Omit<OutboxEntry, "seq">): void {
      catalog.store.write("sql:mail-host-restored", (tx) => {
        tx.insert(hostOutbox).values(entry).onConflictDoNothing().run();
      });
    },
    /** Removes a settled entry. Returns false without one. */
    remove: ({ messageId, host }: Pick<OutboxEntry, "messageId" | "host">): boolean =>
      catalog.store.write("sql:mail-host-settled", (tx) => {
        const is = and(eq(hostOutbox.messageId, messageId), eq(hostOutbox.host, host));
        const found = tx.select({ one: sql`1` }).from(hostOutbox).where(is).get() !== undefined;
        if (found) tx.delete(hostOutbox).where(is).run();
        return found;
      }),
    /** The message with this id in this root. */
    message: (messageId: string): Pick<MessageRow, "messageId" | "createdAtUtc" | "senderAddress"> | null =>
      db()
        .select({
          messageId: messages.messageId,
          createdAtUtc: messages.createdAtUtc,
          senderAddress: messages.senderAddress,
        })
        .from(messages)
        .where(eq(messages.messageId, messageId))
        .get() ?? null,
  };
}
