import { and, asc, desc, eq, getTableColumns, gte, inArray, lt, type SQL, sql } from "drizzle-orm";
import type { LedgerEntry, LedgerGroup } from "../../protocol/ledger.ts";
import type { Tokens, TokenUsage } from "../../protocol/usage.ts";
import { namingFile } from "../open.ts";
import { insertText, prepare, selectList } from "../statement.ts";
import { type GatewayDatabase, readGatewayDatabase } from "./request-store.ts";
import { ledger } from "./schema.ts";

export type LedgerTurn = Omit<LedgerEntry, "seq">;

/** RFC 3339 with the offset +00:00 and milliseconds, so that times compare as text. */
interface LedgerPeriod {
  since?: string;
  until?: string;
}

/** The ledger's part of queue.sqlite: the turns of the agent and their tokens. */
export interface LedgerStore {
  /** Time from which turns count; null before `begin`. */
  since(): string | null;
  /** Sets the time from which turns count; call once. Returns its argument. */
  begin(sinceUtc: string): string;
  has(turnId: string): boolean;
  hasRequest(requestId: string): boolean;
  /** Whether another id has a turn with the same times and counts: tools copy a continued conversation. */
  hasCopy(turn: LedgerTurn): boolean;
  read(turnId: string): LedgerTurn | null;
  /**
   * Records all turns or none; a known turn gets its new counts. Not synced: turns that a power failure loses
   * are read again from their source.
   */
  record(turns: readonly LedgerTurn[]): void;
  /** Newest first. `more`: whether older entries follow. */
  page(options: LedgerPeriod & { limit: number; before?: number }): { entries: LedgerEntry[]; more: boolean };
  /** The newest day first. */
  groups(period: LedgerPeriod): LedgerGroup[];
  /** Sum over the turns with tokens. */
  total(): Tokens & { turns: number };
}

/** The methods that other processes may use beside a gateway. */
export type LedgerReader = Pick<LedgerStore, "page" | "groups" | "since">;

const { seq: _, ...columns } = getTableColumns(ledger);

/** Columns that a later read of a turn updates. */
const updatedColumns = [
  "status",
  "covered",
  "model",
  "input_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "ended_at_utc",
];

const noTokens: Tokens = {
  input_tokens: 0,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
};
const counts = Object.keys(noTokens);
const noTotal = { turns: 0, ...noTokens };
const nothing: TokenUsage = { model: null, ...noTokens };

const sums = {
  input_tokens: sql<number>`coalesce(sum(${ledger.inputTokens}), 0)`,
  cached_input_tokens: sql<number>`coalesce(sum(${ledger.cachedInputTokens}), 0)`,
  cache_write_tokens: sql<number>`coalesce(sum(${ledger.cacheWriteTokens}), 0)`,
  output_tokens: sql<number>`coalesce(sum(${ledger.outputTokens}), 0)`,
  reasoning_tokens: sql<number>`coalesce(sum(${ledger.reasoningTokens}), 0)`,
};

export function ledgerStoreOn(store: GatewayDatabase): LedgerStore {
  const { db, client } = store;
  const start = prepare<object, { sinceUtc: string }>(
    client,
    "SELECT since_utc AS sinceUtc FROM gateway_ledger_start",
  );
  const addStart = prepare<{ sinceUtc: string }>(
    client,
    "INSERT INTO gateway_ledger_start (singleton, since_utc) VALUES (1, :sinceUtc)",
  );
  const total = prepare<object, typeof noTotal>(
    client,
    `SELECT coalesce(sum(part = 0), 0) AS turns, ${counts.map((name) => `coalesce(sum(${name}), 0) AS ${name}`)}
       FROM gateway_ledger WHERE input_tokens + output_tokens > 0`,
  );
  type Row = typeof ledger.$inferSelect;
  const upsert = prepare<Omit<Row, "seq">>(
    client,
    `${insertText(ledger, Object.keys(columns) as (keyof typeof columns)[])}
       ON CONFLICT (turn_id, part) DO UPDATE SET ${updatedColumns.map((name) => `${name} = excluded.${name}`).join(", ")}`,
  );
  const dropParts = prepare<{ turnId: string; parts: number }>(
    client,
    "DELETE FROM gateway_ledger WHERE turn_id = :turnId AND part >= :parts",
  );
  const parts = prepare<{ turnId: string }, Omit<Row, "covered"> & { covered: number }>(
    client,
    `SELECT ${selectList(getTableColumns(ledger))} FROM gateway_ledger WHERE turn_id = :turnId ORDER BY part`,
  );
  const partsOf = (turnId: string): Row[] =>
    parts.all({ turnId }).map((row) => ({ ...row, covered: row.covered === 1 }));
  const ofRequest = prepare<{ requestId: string }, { seq: number }>(
    client,
    "SELECT seq FROM gateway_ledger WHERE request_id = :requestId LIMIT 1",
  );

  const read = (turnId: string): LedgerTurn | null => {
    const [entry] = toEntries(partsOf(turnId));
    if (!entry) return null;
    const { seq: _, ...turn } = entry;
    return turn;
  };

  return namingFile(store, {
    since: () => start.get()?.sinceUtc ?? null,
    begin(sinceUtc) {
      store.write("sql:ledger-start", () => addStart.run({ sinceUtc }), { durable: false });
      return sinceUtc;
    },
    has: (turnId) => partsOf(turnId).length > 0,
    hasRequest: (requestId) => ofRequest.get({ requestId }) !== undefined,
    hasCopy(turn) {
      const same = db.select().from(ledger).where(eq(ledger.startedAtUtc, turn.started_at_utc)).all();
      return toEntries(same).some(
        (one) =>
          one.turn_id !== turn.turn_id &&
          one.source === turn.source &&
          JSON.stringify(one.usage) === JSON.stringify(turn.usage),
      );
    },
    read,
    record(turns) {
      const change = () => {
        for (const turn of turns) {
          for (const row of toRows(turn)) upsert.run(row);
          dropParts.run({ turnId: turn.turn_id, parts: Math.max(1, turn.usage.length) });
        }
      };
      store.write("sql:ledger", change, { durable: false });
    },
    page({ limit, before, ...period }) {
      const first = db
        .select({ turnId: ledger.turnId })
        .from(ledger)
        .where(
          and(
            eq(ledger.part, 0),
            before === undefined ? undefined : lt(ledger.seq, before),
            ...within(period),
          ),
        )
        .orderBy(desc(ledger.seq))
        .limit(limit + 1)
        .all();
      const wanted = first.slice(0, limit).map(({ turnId }) => turnId);
      const rows = db
        .select()
        .from(ledger)
        .where(inArray(ledger.turnId, wanted))
        .orderBy(asc(ledger.part))
        .all();
      const entries = toEntries(rows).sort((left, right) => right.seq - left.seq);
      return { entries, more: first.length > limit };
    },
    groups(period) {
      const day = sql<string>`substr(${ledger.startedAtUtc}, 1, 10)`;
      return db
        .select({
          day,
          model: ledger.model,
          wake_reason: ledger.wakeReason,
          tool: ledger.tool,
          source: ledger.source,
          turns: sql<number>`sum(${ledger.part} = 0)`,
          turns_not_covered: sql<number>`sum(${ledger.part} = 0 AND ${ledger.covered} = 0)`,
          ...sums,
        })
        .from(ledger)
        .where(and(...within(period)))
        .groupBy(day, ledger.model, ledger.wakeReason, ledger.tool, ledger.source)
        .orderBy(desc(day), asc(ledger.model), asc(ledger.wakeReason))
        .all();
    },
    total: () => total.get() ?? noTotal,
  });
}

/**
 * Reads the groups of a ledger, with or without a running gateway. Throws for a file that is absent, damaged
 * or of another version.
 */
export function readLedgerGroups(path: string, period: LedgerPeriod): LedgerGroup[] {
  return readLedger(path, (store) => store.groups(period));
}

/** Calls `read` with the ledger at `path`; see `readLedgerGroups`. */
export const readLedger = <T>(path: string, read: (store: LedgerReader) => T): T =>
  readGatewayDatabase(path, (store) => read(ledgerStoreOn(store)));

function within({ since, until }: LedgerPeriod): SQL[] {
  return [
    ...(since === undefined ? [] : [gte(ledger.startedAtUtc, since)]),
    ...(until === undefined ? [] : [lt(ledger.startedAtUtc, until)]),
  ];
}

function toRows(turn: LedgerTurn) {
  const usage = turn.usage.length > 0 ? turn.usage : [nothing];
  return usage.map((one, part) => ({
    turnId: turn.turn_id,
    part,
    requestId: turn.request_id,
    wakeReason: turn.wake_reason,
    tool: turn.tool,
    source: turn.source,
    status: turn.status,
    covered: turn.covered,
    model: one.model,
    inputTokens: one.input_tokens,
    cachedInputTokens: one.cached_input_tokens,
    cacheWriteTokens: one.cache_write_tokens,
    outputTokens: one.output_tokens,
    reasoningTokens: one.reasoning_tokens,
    startedAtUtc: turn.started_at_utc,
    endedAtUtc: turn.ended_at_utc,
  }));
}

/** `rows`: the parts of a turn in their order. */
function toEntries(rows: readonly (typeof ledger.$inferSelect)[]): LedgerEntry[] {
  const entries = new Map<string, LedgerEntry>();
  for (const row of rows) {
    const entry = entries.get(row.turnId) ?? toEntry(row);
    entries.set(row.turnId, entry);
    const tokens = {
      model: row.model,
      input_tokens: row.inputTokens,
      cached_input_tokens: row.cachedInputTokens,
      cache_write_tokens: row.cacheWriteTokens,
      output_tokens: row.outputTokens,
      reasoning_tokens: row.reasoningTokens,
    };
    if (tokens.input_tokens > 0 || tokens.output_tokens > 0) entry.usage.push(tokens);
  }
  return [...entries.values()];
}

function toEntry(row: typeof ledger.$inferSelect): LedgerEntry {
  return {
    seq: row.seq,
    turn_id: row.turnId,
    request_id: row.requestId,
    wake_reason: row.wakeReason,
    tool: row.tool,
    source: row.source,
    status: row.status as LedgerEntry["status"],
    covered: row.covered,
    usage: [],
    started_at_utc: row.startedAtUtc,
    ended_at_utc: row.endedAtUtc,
  };
}
