import type { Database } from "bun:sqlite";
import { and, asc, desc, eq, getTableColumns, gte, lt, type SQL, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { AnySQLiteColumn } from "drizzle-orm/sqlite-core";
import type { RequestState } from "../../protocol/gateway.ts";
import { direct } from "../direct-statement.ts";
import * as schema from "./schema.ts";

const { requests } = schema;

/**
 * A longer payload is not read where many rows are: a prompt may have 8 MiB, and no control intent is long.
 */
const listedPayloadBytes = 16 * 1024;

/** A row of a list: of a long payload only the turn it names. */
const listed = {
  ...getTableColumns(requests),
  payloadJson:
    sql<string>`CASE WHEN octet_length(${requests.payloadJson}) <= ${sql.raw(String(listedPayloadBytes))}
    THEN ${requests.payloadJson} ELSE json_object('turn_id', ${requests.turnId}) END`.as("payload_json"),
};

/** Which instance of the agent the queue serves (ruling 5). */
export interface InstanceRow {
  epoch: number;
  instanceId: string | null;
  reconciledEpoch: number;
}

type Queue = { db: BunSQLiteDatabase; client: Pick<Database, "prepare"> };

/**
 * The queue's frequent statements, each prepared when it is first asked for: a cold process takes about half
 * a millisecond for one, and its start needs few of them. The names of a state and of a lane are literals in
 * the text: a bound one would not find the partial indexes, and SQLite prepares a statement again, 0.25 ms,
 * whenever another value is bound that might decide whether one of them is of use.
 */
export function requestStatements({ db, client }: Queue) {
  const oldestOf = (lane: string) =>
    sql`(SELECT min(seq) FROM ${requests} WHERE state = 'accepted' AND lane = ${sql.raw(`'${lane}'`)})`;
  return {
    insert: once(() =>
      direct(
        client,
        db.insert(requests).values({
          requestId: sql.placeholder("requestId"),
          requestKind: sql.placeholder("kind"),
          lane: sql.placeholder("lane"),
          payloadJson: sql.placeholder("payload"),
          state: "accepted",
          acceptedAtUtc: sql.placeholder("acceptedAtUtc"),
          epoch: sql.placeholder("epoch"),
          evidenceJson: "[]",
          turnId: sql.placeholder("turnId"),
          idempotencyKey: sql.placeholder("idempotencyKey"),
        }),
      ),
    ),
    /** From one state to the next; a field that is given as null stays as it is. One row, or none. */
    move: once(() =>
      db
        .update(requests)
        .set({
          state: sql`${sql.placeholder("to")}`,
          startedAtUtc: given("startedAtUtc", requests.startedAtUtc),
          finishedAtUtc: given("finishedAtUtc", requests.finishedAtUtc),
          errorDetail: given("errorDetail", requests.errorDetail),
          resultJson: given("resultJson", requests.resultJson),
          evidenceJson: given("evidenceJson", requests.evidenceJson),
        })
        .where(
          and(
            eq(requests.requestId, sql.placeholder("requestId")),
            // The plus keeps the partial indexes out of it, see above.
            sql`+${requests.state} = ${sql.placeholder("from")}`,
          ),
        )
        .returning({ seq: requests.seq })
        .prepare(),
    ),
    saveEvidence: once(() =>
      db
        .update(requests)
        .set({ evidenceJson: sql`${sql.placeholder("evidence")}` })
        .where(eq(requests.requestId, sql.placeholder("requestId")))
        .prepare(),
    ),
    byId: once(() =>
      db
        .select()
        .from(requests)
        .where(eq(requests.requestId, sql.placeholder("id")))
        .prepare(),
    ),
    byKey: once(() =>
      db
        .select()
        .from(requests)
        .where(eq(requests.idempotencyKey, sql.placeholder("key")))
        .prepare(),
    ),
    /** The states of the requests that ask for a turn. */
    ofTurn: once(() =>
      db
        .select({ state: requests.state })
        .from(requests)
        .where(eq(requests.turnId, sql.placeholder("turnId")))
        .prepare(),
    ),
    acceptedFrom: once(() => {
      const [from, limit] = [gte(requests.seq, sql.placeholder("seq")), sql.placeholder("limit")];
      return db
        .select(listed)
        .from(requests)
        .where(amongAccepted(sql`${from} ORDER BY seq LIMIT ${limit}`))
        .orderBy(asc(requests.seq))
        .limit(limit)
        .prepare();
    }),
    /** The oldest accepted request of each lane that has one, oldest first. */
    heads: once(() =>
      db
        .select()
        .from(requests)
        .where(sql`seq IN (${sql.join(requests.lane.enumValues.map(oldestOf), sql`, `)})`)
        .orderBy(asc(requests.seq))
        .prepare(),
    ),
    running: once(() => db.select().from(requests).where(sql`state = 'running'`).prepare()),
    // What every start needs is written out: the library's first query of a process takes 2 ms to build.
    countOpen: once(() =>
      client.prepare<{ n: number }, []>(
        `SELECT (SELECT count(*) FROM gateway_requests WHERE state = 'accepted')
           + (SELECT count(*) FROM gateway_requests WHERE state = 'running') AS n`,
      ),
    ),
    instance: once(() =>
      client.prepare<InstanceRow, []>(
        `SELECT epoch, instance_id AS instanceId, reconciled_epoch AS reconciledEpoch FROM gateway_instance`,
      ),
    ),
    saveInstance: once(() =>
      client.prepare(
        `INSERT INTO gateway_instance (singleton, epoch, instance_id, reconciled_epoch) VALUES (1, ?1, ?2, ?3)
           ON CONFLICT (singleton) DO UPDATE SET epoch = ?1, instance_id = ?2, reconciled_epoch = ?3`,
      ),
    ),
  };
}

/** A page of requests, newest first. Of those in one state nothing else is read. */
export function requestPage(
  db: Queue["db"],
  { limit, state, beforeSeq }: { limit: number; state?: RequestState; beforeSeq?: number },
) {
  const before = beforeSeq === undefined ? sql`true` : lt(requests.seq, beforeSeq);
  return db
    .select(listed)
    .from(requests)
    .where(and(before, inState()))
    .orderBy(desc(requests.seq))
    .limit(limit)
    .all();

  function inState(): SQL | undefined {
    if (state === "accepted") return amongAccepted(sql`${before} ORDER BY seq DESC LIMIT ${limit}`);
    if (state === "running") return sql`state = 'running'`;
    // SQLite uses a partial index only where its condition is written out.
    return state && and(eq(requests.state, state), sql`state <> 'accepted' AND state <> 'running'`);
  }
}

/**
 * That a request is accepted, asked lane by lane: going through all in their order SQLite would read the
 * finished ones too. `bounds` ends the question for one lane: which it is about, their order, and how many of
 * them.
 */
function amongAccepted(bounds: SQL): SQL {
  const lanes = requests.lane.enumValues.map(
    (lane) =>
      sql`SELECT seq FROM (SELECT seq FROM ${requests} WHERE state = 'accepted' AND lane = ${sql.raw(`'${lane}'`)} AND ${bounds})`,
  );
  return sql`seq IN (${sql.join(lanes, sql` UNION ALL `)})`;
}

function given(name: string, column: AnySQLiteColumn) {
  return sql`coalesce(${sql.placeholder(name)}, ${column})`;
}

/** What `make` makes, made when it is first asked for. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
