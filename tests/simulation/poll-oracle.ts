import { Database } from "bun:sqlite";

interface Poll {
  auditId: number;
  /** When it was written down. */
  atMs: number;
  trigger: string;
}

/** Follows the audit of one notifier: each wake-up has its row, and no row is missing. */
export interface PollOracle {
  /** A poll was written down. */
  recorded(): void;
  /** A wake-up was put into the queue; the poll that it belongs to is written down next. */
  enqueued(requestId: string): void;
  /** The gateway is another one: what the former had not written down it never will. */
  gatewayEnded(): void;
  /** Polls that were written down from then on. */
  sinceMs(ms: number): Poll[];
  /** Wake-ups whose poll is not written down. */
  unaudited(): string[];
  close(): void;
}

interface Row {
  audit_id: number;
  trigger: string;
  outcome: string;
  enqueued_request_id: string | null;
}

export function createPollOracle(deps: {
  path: string;
  nowMs: () => number;
  fail: (what: string) => void;
}): PollOracle {
  const polls: Poll[] = [];
  const unaudited = new Set<string>();
  let database: Database | null = null;

  function take(row: Row): void {
    const last = polls.at(-1)?.auditId ?? 0;
    if (row.audit_id !== last + 1) deps.fail(`poll ${row.audit_id} follows ${last}`);
    polls.push({ auditId: row.audit_id, atMs: deps.nowMs(), trigger: row.trigger });
    if ((row.outcome === "enqueued") !== (row.enqueued_request_id !== null)) {
      deps.fail(`poll ${row.audit_id} came to ${row.outcome} with ${row.enqueued_request_id}`);
    }
    if (row.enqueued_request_id !== null && !unaudited.delete(row.enqueued_request_id)) {
      deps.fail(`poll ${row.audit_id} names ${row.enqueued_request_id}, which is no wake-up of its own`);
    }
    for (const requestId of unaudited) deps.fail(`the poll that enqueued ${requestId} was not audited`);
  }

  return {
    recorded() {
      database ??= new Database(deps.path, { readwrite: true });
      const rows = database
        .query<Row, [number]>(
          "SELECT audit_id, trigger, outcome, enqueued_request_id FROM gateway_notifier_audit WHERE audit_id > ? ORDER BY audit_id",
        )
        .all(polls.at(-1)?.auditId ?? 0);
      if (rows.length === 0) deps.fail("a poll was recorded and left no row");
      for (const row of rows) take(row);
    },
    enqueued: (requestId) => void unaudited.add(requestId),
    gatewayEnded: () => unaudited.clear(),
    sinceMs: (ms) => polls.filter((poll) => poll.atMs >= ms),
    unaudited: () => [...unaudited],
    close: () => database?.close(),
  };
}
