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
import { ledgerSources, wakeReasons } from "../../protocol/ledger.ts";

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
    /** Condition for the start: none (interrupt), a composer that takes input, or a turn boundary. */
    lane: text({ enum: ["interrupt", "immediate", "turn_boundary"] }).notNull(),
    payloadJson: text("payload_json").notNull(),
    state: text({ enum: ["accepted", "running", "completed", "failed", "coalesced"] }).notNull(),
    acceptedAtUtc: text("accepted_at_utc").notNull(),
    startedAtUtc: text("started_at_utc"),
    finishedAtUtc: text("finished_at_utc"),
    epoch: integer("managed_agent_instance_epoch").notNull(),
    errorDetail: text("error_detail"),
    resultJson: text("result_json"),
    /** A JSON array of `Evidence`, oldest first; empty for a request that was only accepted. */
    evidenceJson: text("evidence_json").notNull().default("[]"),
    /** Id of the headless turn or the run in the payload, for searches. */
    turnId: text("turn_id"),
    /** The caller's idempotency key, which is never accepted twice. */
    idempotencyKey: text("idempotency_key"),
  },
  (table) => [
    check("request_kind_known", oneOf(table.requestKind)),
    check("lane_known", oneOf(table.lane)),
    check("state_known", oneOf(table.state)),
    // The single execution slot is a fact of the database.
    uniqueIndex("one_running_request").on(table.state).where(sql`state = 'running'`),
    // One partial index for each state, since a bound `state IN (...)` would not use a shared one.
    index("accepted_by_lane").on(table.lane, table.seq).where(sql`state = 'accepted'`),
    // For lists of a rare state; a waiting request does not change it.
    index("finished_by_state")
      .on(table.state, table.seq)
      .where(sql`state <> 'accepted' AND state <> 'running'`),
    // Most requests have no turn id and do not change it.
    index("request_of_turn").on(table.turnId).where(sql`turn_id IS NOT NULL`),
    uniqueIndex("request_of_key").on(table.idempotencyKey).where(sql`idempotency_key IS NOT NULL`),
  ],
);

/**
 * One row: the instance of the agent that this queue serves, and the last epoch that an operator reconciled.
 */
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

/**
 * One row: settings and last results of the mail notifier. Lists are JSON text. Source: contract 2.6.
 */
export const mailNotifier = sqliteTable(
  "gateway_mail_notifier",
  {
    singleton: integer().primaryKey(),
    /** The fields of `NotifierConfig`, as JSON: one document that a PUT replaces whole. */
    configJson: text("config_json").notNull(),
    lastPollAtUtc: text("last_poll_at_utc"),
    lastNotificationAtUtc: text("last_notification_at_utc"),
    lastError: text("last_error"),
    /**
     * For each message that woke the agent and is still eligible: the last time, the number of times, and the
     * state of the message then.
     */
    notifiedJson: text("notified_json").notNull().default("{}"),
    updatedAtUtc: text("updated_at_utc").notNull(),
  },
  (table) => [check("only_one_notifier", sql`${table.singleton} = 1`)],
);

/** One row for each poll: its findings, its outcome and the reason. Source: contract 2.6; ruling 13. */
export const notifierAudit = sqliteTable("gateway_notifier_audit", {
  auditId: integer("audit_id").primaryKey({ autoIncrement: true }),
  pollTimeUtc: text("poll_time_utc").notNull(),
  trigger: text({ enum: ["interval", "doorbell"] }).notNull(),
  outcome: text().notNull(),
  detail: text(),
  unreadCount: integer("unread_count"),
  unreadDigest: text("unread_digest"),
  unreadSummaryJson: text("unread_summary_json").notNull().default("[]"),
  requestAdmission: text("request_admission"),
  activeExecution: text("active_execution"),
  queueDepth: integer("queue_depth"),
  enqueuedRequestId: text("enqueued_request_id"),
  contextErrorPolicy: text("context_error_policy").notNull(),
  preNotificationContextAction: text("pre_notification_context_action").notNull(),
  contextActionOutcome: text("context_action_outcome"),
  degradedToolName: text("degraded_tool_name"),
  degradedErrorType: text("degraded_error_type"),
  renderedBlockEntriesJson: text("rendered_block_entries_json").notNull().default("[]"),
  /** Characters of the enqueued prompt; 0 without one. */
  promptChars: integer("prompt_chars").notNull().default(0),
});

/**
 * One row for each reminder. `reminderJson`: the whole durable reminder; for another one, which ends with its
 * gateway, the fields for the report of its loss.
 */
export const reminders = sqliteTable("gateway_reminders", {
  reminderId: text("reminder_id").primaryKey(),
  durable: integer({ mode: "boolean" }).notNull(),
  reminderJson: text("reminder_json").notNull(),
  /** When a clean stop reported the loss. */
  lostAtUtc: text("lost_at_utc"),
});

/** One row for each ended delivery of a reminder: a `ReminderFiring` as JSON. */
export const reminderFirings = sqliteTable("gateway_reminder_firings", {
  firingId: integer("firing_id").primaryKey({ autoIncrement: true }),
  firingJson: text("firing_json").notNull(),
});

/**
 * One row a call with a caller's key, but for requests, which keep theirs. It is there before the call
 * changes anything, or with it.
 */
export const keyedCalls = sqliteTable("gateway_keyed_calls", {
  seq: integer().primaryKey({ autoIncrement: true }),
  idempotencyKey: text("idempotency_key").notNull().unique(),
  /** Of the operation and all that it was asked. */
  digest: text().notNull(),
  /** A `KeptAnswer` as JSON; null while it is carried out, and where the answer was too large. */
  answerJson: text("answer_json"),
  begunAtUtc: text("begun_at_utc").notNull(),
});

/**
 * Turns, one row for each model of a turn, the first with `part` 0; a turn without counts has one row. Times
 * are those of the tool. Source: decision 80.
 */
export const ledger = sqliteTable(
  "gateway_ledger",
  {
    seq: integer().primaryKey(),
    turnId: text("turn_id").notNull(),
    part: integer().notNull(),
    requestId: text("request_id"),
    wakeReason: text("wake_reason", { enum: wakeReasons }).notNull(),
    tool: text().notNull(),
    source: text({ enum: ledgerSources }).notNull(),
    status: text().notNull(),
    /** Whether the tool counted the tokens. */
    covered: integer({ mode: "boolean" }).notNull(),
    model: text(),
    inputTokens: integer("input_tokens").notNull(),
    cachedInputTokens: integer("cached_input_tokens").notNull(),
    cacheWriteTokens: integer("cache_write_tokens").notNull(),
    outputTokens: integer("output_tokens").notNull(),
    reasoningTokens: integer("reasoning_tokens").notNull(),
    startedAtUtc: text("started_at_utc").notNull(),
    endedAtUtc: text("ended_at_utc"),
  },
  (table) => [
    uniqueIndex("ledger_turn").on(table.turnId, table.part),
    index("ledger_time").on(table.startedAtUtc),
    index("ledger_request").on(table.requestId).where(sql`request_id IS NOT NULL`),
  ],
);

/** One row: earlier turns are not work of this agent. */
export const ledgerStart = sqliteTable(
  "gateway_ledger_start",
  { singleton: integer().primaryKey(), sinceUtc: text("since_utc").notNull() },
  (table) => [check("only_one_ledger", sql`${table.singleton} = 1`)],
);

/** Checks for a value of the enum, one by one: for `IN` SQLite builds a table for every written row. */
function oneOf(column: SQLiteColumn): SQL {
  const comparisons = (column.enumValues ?? []).map((word) => sql`${column} = ${sql.raw(`'${word}'`)}`);
  return sql.join(comparisons, sql` OR `);
}
