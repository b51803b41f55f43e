import { type SQL, sql } from "drizzle-orm";
import {
  check,
  index,
  integer,
  type SQLiteColumn,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";

/**
 * queue.sqlite. `seq` gives the order of acceptance; times are RFC 3339 text. Source: contract 2.2, 3.1;
 * ruling 5.
 */
export const requests = sqliteTable(
  "gateway_requests",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    requestId: text("request_id").notNull().unique(),
    requestKind: text("request_kind", {
      enum: ["submit_prompt", "interrupt", "mail_notifier_prompt"],
    }).notNull(),
    /** What the request waits for: nothing (interrupt), a composer that takes input, or a turn boundary. */
    lane: text({ enum: ["interrupt", "immediate", "turn_boundary"] }).notNull(),
    payloadJson: text("payload_json").notNull(),
    state: text({ enum: ["accepted", "running", "completed", "failed", "coalesced"] }).notNull(),
    acceptedAtUtc: text("accepted_at_utc").notNull(),
    startedAtUtc: text("started_at_utc"),
    finishedAtUtc: text("finished_at_utc"),
    epoch: integer("managed_agent_instance_epoch").notNull(),
    errorDetail: text("error_detail"),
    resultJson: text("result_json"),
    /** How far the request got: a JSON array of `Evidence`, oldest first. */
    evidenceJson: text("evidence_json").notNull().default("[]"),
  },
  (table) => [
    check("request_kind_known", oneOf(table.requestKind)),
    check("lane_known", oneOf(table.lane)),
    check("state_known", oneOf(table.state)),
    // The single execution slot is a fact of the database.
    uniqueIndex("one_running_request").on(table.state).where(sql`state = 'running'`),
    // One partial index a state: a bound `state IN (...)` would not use a shared one.
    index("accepted_in_order").on(table.seq).where(sql`state = 'accepted'`),
    index("accepted_by_lane").on(table.lane, table.seq).where(sql`state = 'accepted'`),
  ],
);

/** One row: which instance of the agent this queue serves, and up to which epoch an operator has agreed. */
export const instance = sqliteTable(
  "gateway_instance",
  {
    singleton: integer().primaryKey(),
    epoch: integer().notNull(),
    instanceId: text("instance_id"),
    reconciledEpoch: integer("reconciled_epoch").notNull(),
  },
  (table) => [check("only_one_instance", sql`${table.singleton} = 1`)],
);

/** One of the column's words. Compared one by one: for `IN` SQLite builds a table anew for every row written. */
function oneOf(column: SQLiteColumn): SQL {
  const comparisons = (column.enumValues ?? []).map((word) => sql`${column} = ${sql.raw(`'${word}'`)}`);
  return sql.join(comparisons, sql` OR `);
}
