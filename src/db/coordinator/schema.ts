import { sql } from "drizzle-orm";
import { check, index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * deliveries.sqlite, one for each registry of agents: deliveries to the outside and their results. Times are
 * epoch milliseconds. Source: decision 52.
 */
export const deliveries = sqliteTable(
  "deliveries",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    deliveryId: text("delivery_id").notNull().unique(),
    rule: text().notNull(),
    target: text({ enum: ["command", "webhook", "ntfy", "mail"] }).notNull(),
    state: text({ enum: ["pending", "delivered", "given_up", "withdrawn"] }).notNull(),
    /** Takes further items until its first attempt. */
    gathers: integer({ mode: "boolean" }).notNull(),
    attempts: integer().notNull(),
    createdMs: integer("created_ms").notNull(),
    /** Time of the next attempt of a pending delivery. */
    dueMs: integer("due_ms").notNull(),
    firstAttemptMs: integer("first_attempt_ms"),
    endedMs: integer("ended_ms"),
    lastError: text("last_error"),
  },
  (table) => [
    check(
      "delivery_state",
      sql`${table.state} = 'pending' OR ${table.state} = 'delivered' OR ${table.state} = 'given_up' OR ${table.state} = 'withdrawn'`,
    ),
    index("pending_by_rule").on(table.rule, table.dueMs, table.seq).where(sql`state = 'pending'`),
    index("by_end").on(table.endedMs).where(sql`state <> 'pending'`),
    index("by_state").on(table.state, table.seq),
  ],
);

/**
 * A rule sends an item once, and once more each time the item comes back (`occurrence`, from 1). `epoch` -1:
 * the instance of the agent is unknown.
 */
export const deliveryItems = sqliteTable(
  "delivery_items",
  {
    rule: text().notNull(),
    itemId: text("item_id").notNull(),
    epoch: integer().notNull(),
    occurrence: integer().notNull(),
    seq: integer()
      .notNull()
      .references(() => deliveries.seq, { onDelete: "cascade" }),
    agentName: text("agent_name").notNull(),
    kind: text().notNull(),
    itemJson: text("item_json").notNull(),
    /** Whether the item ended before it was sent. */
    withdrawn: integer({ mode: "boolean" }).notNull(),
    /** When the item was first seen to be gone; null while it waits. */
    goneMs: integer("gone_ms"),
  },
  (table) => [
    primaryKey({ columns: [table.rule, table.itemId, table.epoch, table.occurrence] }),
    index("items_of_delivery").on(table.seq),
  ],
);
