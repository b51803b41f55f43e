import { and, asc, desc, eq, lt, sql } from "drizzle-orm";
import type { Delivery, DeliveryList, DeliveryQuery } from "../../protocol/delivery.ts";
import { toTimestamp } from "../../system/clock.ts";
import { openStoreForReading, type Store } from "../open.ts";
import { coordinatorMigrations } from "./migrations.ts";
import * as schema from "./schema.ts";

const { deliveries, deliveryItems } = schema;

export type DeliveryFile = Store;

/** `epoch` in the file for an item without one. */
export const unknownEpoch = -1;

/** Deliveries of one rule that have failed for a long time. */
interface DeliveryTrouble {
  rule: string;
  pending: number;
  givenUp: number;
  sinceMs: number;
  lastError: string | null;
}

export interface DeliveryListing {
  list(query: DeliveryQuery): DeliveryList;
  /** Rules with deliveries that failed since before `pendingMs`, or that were given up after `givenUpMs`. */
  troubles(since: { pendingMs: number; givenUpMs: number }): DeliveryTrouble[];
}

/** Reads the file, also while a server writes it. Throws for an absent or damaged file. */
export function openDeliveriesForReading(path: string): DeliveryListing & { close(): void } {
  const checks = { schema, migrations: coordinatorMigrations, checkedBytes: 2 ** 24 };
  const store = openStoreForReading({ path, ...checks });
  return { ...listing(store), close: () => store.close() };
}

export function listing({ db }: Pick<DeliveryFile, "db">): DeliveryListing {
  const itemsOf = (seq: number) =>
    db.select().from(deliveryItems).where(eq(deliveryItems.seq, seq)).orderBy(asc(sql`rowid`)).all();
  return {
    list({ before, limit, state }) {
      const rows = db
        .select()
        .from(deliveries)
        .where(
          and(
            before === undefined ? sql`true` : lt(deliveries.seq, before),
            state === undefined ? sql`true` : eq(deliveries.state, state),
          ),
        )
        .orderBy(desc(deliveries.seq))
        .limit(limit + 1)
        .all();
      const shown = rows.slice(0, limit).map((row) => toWire(row, itemsOf(row.seq)));
      const next_before = rows.length > limit ? (shown.at(-1)?.sequence ?? null) : null;
      return { schema_version: 1, deliveries: shown, next_before };
    },
    troubles({ pendingMs, givenUpMs }) {
      return db
        .select({
          rule: deliveries.rule,
          pending: sql<number>`sum(state = 'pending')`,
          givenUp: sql<number>`sum(state = 'given_up')`,
          sinceMs: sql<number>`min(first_attempt_ms)`,
          // SQLite takes it from the row with max(seq).
          lastError: deliveries.lastError,
          newest: sql<number>`max(seq)`,
        })
        .from(deliveries)
        .where(
          sql`(state = 'pending' AND first_attempt_ms <= ${pendingMs} AND last_error IS NOT NULL) OR (state = 'given_up' AND ended_ms >= ${givenUpMs})`,
        )
        .groupBy(deliveries.rule)
        .all()
        .map(({ newest: _, ...trouble }) => trouble);
    },
  };
}

function toWire(
  row: typeof deliveries.$inferSelect,
  items: readonly (typeof deliveryItems.$inferSelect)[],
): Delivery {
  const pending = row.state === "pending";
  return {
    sequence: row.seq,
    delivery_id: row.deliveryId,
    rule: row.rule,
    target: row.target,
    state: row.state,
    attempts: row.attempts,
    created_at_utc: toTimestamp(row.createdMs),
    next_attempt_at_utc: pending ? toTimestamp(row.dueMs) : null,
    ended_at_utc: row.endedMs === null ? null : toTimestamp(row.endedMs),
    last_error: row.lastError,
    items: items.map(({ itemId, epoch, agentName, kind }) => ({
      id: itemId,
      epoch: epoch === unknownEpoch ? null : epoch,
      agent_name: agentName || null,
      kind: kind as Delivery["items"][number]["kind"],
    })),
  };
}
