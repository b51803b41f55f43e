import { type Static, Type } from "@sinclair/typebox";
import { and, desc, eq, getTableColumns, lt, sql } from "drizzle-orm";
import { type MailSummaryEntry, type NotifierAuditRow, NotifierConfig } from "../../protocol/notifier.ts";
import { parseColumn } from "../json-column.ts";
import { namingFile } from "../open.ts";
import { prepare, selectList } from "../statement.ts";
import type { GatewayDatabase } from "./request-store.ts";
import { mailNotifier, notifierAudit } from "./schema.ts";

/** State of the notifier between cycles and restarts. Times are RFC 3339 text. */
export interface NotifierMemory {
  lastPollAtUtc: string | null;
  lastNotificationAtUtc: string | null;
  lastError: string | null;
  notified: Notified;
}

export type NewAuditRow = Omit<NotifierAuditRow, "audit_id">;

/** The notifier's part of queue.sqlite. Changes are on disk when a method returns. */
export interface NotifierStore {
  read(): { config: NotifierConfig; memory: NotifierMemory } | null;
  saveConfig(config: NotifierConfig, updatedAtUtc: string): void;
  /**
   * Records the audit row of a poll and the new state of the notifier in one transaction. Returns the row's
   * id.
   */
  recordPoll(row: NewAuditRow, memory: NotifierMemory): number;
  /** Times of the newest polls that woke the agent, RFC 3339, newest first. */
  newestWakes(limit: number): string[];
  /**
   * The mail of a wake-up request, oldest first, from its audit row; empty for other requests and after 2000
   * later polls.
   */
  mailOfWake(requestId: string): MailSummaryEntry[];
  /** Rows before `before`, newest first, up to `limit` or 8 MiB. `more`: whether older rows follow. */
  audit(options: { limit: number; before?: number }): { rows: NotifierAuditRow[]; more: boolean };
}

/** Number of audit rows to keep; older ones are removed in batches. */
const keptRows = 20_000;
const pruneEvery = 256;

/**
 * Rows that `mailOfWake` searches: no index finds the row of a request, and a row may have some kilobytes.
 */
const rowsLookedAt = 2000;

/** Rows per query, since a row holds up to a thousand notices. */
const rowsAtOnce = 32;
const maxAuditChars = 8 * 2 ** 20;

/** Rows of other versions may have further fields. */
const Entries = Type.Array(Type.Object({}));
const { max_wakes_per_hour, max_hops, require_attestation, ...storedBefore } = NotifierConfig.properties;
const StoredConfig = Type.Object({
  ...storedBefore,
  max_wakes_per_hour: Type.Optional(max_wakes_per_hour),
  max_hops: Type.Optional(max_hops),
  require_attestation: Type.Optional(require_attestation),
});

const addedFields: Pick<NotifierConfig, "max_wakes_per_hour" | "max_hops" | "require_attestation"> = {
  max_wakes_per_hour: 0,
  max_hops: 0,
  require_attestation: "none",
};

const Notified = Type.Record(
  Type.String(),
  Type.Object({ at_utc: Type.String(), repeats: Type.Integer(), state: Type.String() }),
);
/** The mail of the last wake-ups that is still eligible, by reference. */
export type Notified = Static<typeof Notified>;

export function notifierStoreOn(store: GatewayDatabase): NotifierStore {
  const { db } = store;
  // A prepared statement: each acceptance wakes the notifier, which reads the row.
  const stored = prepare<object, typeof mailNotifier.$inferSelect>(
    store.client,
    `SELECT ${selectList(getTableColumns(mailNotifier))} FROM gateway_mail_notifier`,
  );
  let notified: { json: string; value: Notified } = { json: "{}", value: {} };
  return namingFile(store, {
    read() {
      const row = stored.get();
      if (!row) return null;
      const { lastPollAtUtc, lastNotificationAtUtc, lastError } = row;
      if (row.notifiedJson !== notified.json) {
        notified = {
          json: row.notifiedJson,
          value: parseColumn(Notified, row.notifiedJson, "notified_json of the notifier"),
        };
      }
      return {
        // Defaults for fields that rows of earlier versions lack.
        config: {
          ...addedFields,
          ...parseColumn(StoredConfig, row.configJson, "config_json of the notifier"),
        },
        memory: { lastPollAtUtc, lastNotificationAtUtc, lastError, notified: notified.value },
      };
    },
    saveConfig(config, updatedAtUtc) {
      const set = { configJson: JSON.stringify(config), updatedAtUtc, lastError: null };
      store.write("sql:notifier-config", () => {
        db.insert(mailNotifier)
          .values({ singleton: 1, ...set })
          .onConflictDoUpdate({ target: mailNotifier.singleton, set })
          .run();
      });
    },
    recordPoll: (row, memory) =>
      store.write("sql:notifier-poll", () => {
        const { auditId } = db.insert(notifierAudit).values(toColumns(row)).returning().get();
        const { notified: mail, ...others } = memory;
        db.update(mailNotifier)
          .set({ ...others, notifiedJson: JSON.stringify(mail) })
          .run();
        if (auditId % pruneEvery === 0) {
          db.delete(notifierAudit)
            .where(lt(notifierAudit.auditId, auditId - keptRows))
            .run();
        }
        return auditId;
      }),
    newestWakes: (limit) =>
      db
        .select({ at: notifierAudit.pollTimeUtc })
        .from(notifierAudit)
        .where(eq(notifierAudit.outcome, "enqueued"))
        .orderBy(desc(notifierAudit.auditId))
        .limit(limit)
        .all()
        .map(({ at }) => at),
    mailOfWake(requestId) {
      const row = db
        .select()
        .from(notifierAudit)
        .where(
          and(
            eq(notifierAudit.enqueuedRequestId, requestId),
            sql`${notifierAudit.auditId} > (SELECT max(audit_id) FROM ${notifierAudit}) - ${rowsLookedAt}`,
          ),
        )
        .orderBy(desc(notifierAudit.auditId))
        .limit(1)
        .get();
      return row ? toRow(row).unread_summary : [];
    },
    audit({ limit, before }) {
      const rows: NotifierAuditRow[] = [];
      let left = maxAuditChars;
      for (;;) {
        const last = rows.at(-1)?.audit_id ?? before;
        const count = Math.min(rowsAtOnce, limit - rows.length + 1);
        const found = db
          .select()
          .from(notifierAudit)
          .where(last === undefined ? sql`true` : lt(notifierAudit.auditId, last))
          .orderBy(desc(notifierAudit.auditId))
          .limit(count)
          .all();
        for (const row of found) {
          left -= row.unreadSummaryJson.length + row.renderedBlockEntriesJson.length;
          if (rows.length === limit || (left < 0 && rows.length > 0)) return { rows, more: true };
          rows.push(toRow(row));
        }
        if (found.length < count) return { rows, more: false };
      }
    },
  });
}

function toColumns(row: NewAuditRow) {
  return {
    pollTimeUtc: row.poll_time_utc,
    trigger: row.trigger,
    outcome: row.outcome,
    detail: row.detail,
    unreadCount: row.unread_count,
    unreadDigest: row.unread_digest,
    unreadSummaryJson: JSON.stringify(row.unread_summary),
    requestAdmission: row.request_admission,
    activeExecution: row.active_execution,
    queueDepth: row.queue_depth,
    enqueuedRequestId: row.enqueued_request_id,
    contextErrorPolicy: row.context_error_policy,
    preNotificationContextAction: row.pre_notification_context_action,
    contextActionOutcome: row.context_action_outcome,
    degradedToolName: row.degraded_tool_name,
    degradedErrorType: row.degraded_error_type,
    renderedBlockEntriesJson: JSON.stringify(row.rendered_block_entries),
    promptChars: row.prompt_chars,
  };
}

function toRow(row: typeof notifierAudit.$inferSelect): NotifierAuditRow {
  return {
    audit_id: row.auditId,
    poll_time_utc: row.pollTimeUtc,
    trigger: row.trigger,
    outcome: row.outcome as NotifierAuditRow["outcome"],
    detail: row.detail,
    unread_count: row.unreadCount,
    unread_digest: row.unreadDigest,
    unread_summary: parseColumn(
      Entries,
      row.unreadSummaryJson,
      `unread_summary_json of row ${row.auditId}`,
    ) as NotifierAuditRow["unread_summary"],
    request_admission: row.requestAdmission,
    active_execution: row.activeExecution,
    queue_depth: row.queueDepth,
    enqueued_request_id: row.enqueuedRequestId,
    context_error_policy: row.contextErrorPolicy as NotifierAuditRow["context_error_policy"],
    pre_notification_context_action:
      row.preNotificationContextAction as NotifierAuditRow["pre_notification_context_action"],
    context_action_outcome: row.contextActionOutcome,
    degraded_tool_name: row.degradedToolName,
    degraded_error_type: row.degradedErrorType,
    rendered_block_entries: parseColumn(
      Entries,
      row.renderedBlockEntriesJson,
      `rendered_block_entries_json of row ${row.auditId}`,
    ) as NotifierAuditRow["rendered_block_entries"],
    prompt_chars: row.promptChars,
  };
}
