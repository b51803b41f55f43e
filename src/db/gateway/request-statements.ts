import type { Database } from "bun:sqlite";
import { and, asc, eq, gte, is, Param, Placeholder, type Query, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { AnySQLiteColumn } from "drizzle-orm/sqlite-core";
import * as schema from "./schema.ts";

const { requests } = schema;

/** Which instance of the agent the queue serves (ruling 5). */
export interface InstanceRow {
  epoch: number;
  instanceId: string | null;
  reconciledEpoch: number;
}

type Queue = { db: BunSQLiteDatabase<typeof schema>; client: Pick<Database, "prepare"> };

/**
 * The queue's frequent statements, each prepared when it is first asked for: a cold process takes about half a
 * millisecond for one, and its start needs few of them. The words of a state and of a lane stand in the text: a bound one
 * would not find the partial indexes, and SQLite prepares a statement anew, 0.25 ms, whenever another value is bound that
 * might decide whether one of them is of use.
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
    withTurn: once(() =>
      db
        .select({ seq: requests.seq })
        .from(requests)
        .where(sql`json_extract(${requests.payloadJson}, '$.turn_id') = ${sql.placeholder("turnId")}`)
        .limit(1)
        .prepare(),
    ),
    acceptedFrom: once(() =>
      db
        .select()
        .from(requests)
        .where(and(sql`state = 'accepted'`, gte(requests.seq, sql.placeholder("seq"))))
        .orderBy(asc(requests.seq))
        .limit(sql.placeholder("limit"))
        .prepare(),
    ),
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

/** A query of scalars as the driver takes it: the library maps its values anew for each call, half of an insert. */
function direct(client: Queue["client"], query: { toSQL(): Query }) {
  const { sql: text, params } = query.toSQL();
  const statement = client.prepare(text);
  const slots = params.map((param) => {
    const value = is(param, Param) ? param.value : param;
    return is(value, Placeholder) ? { name: value.name } : { value: value as string | number };
  });
  return {
    run(values: Readonly<Record<string, string | number>>): void {
      statement.run(...slots.map((slot) => ("name" in slot ? (values[slot.name] ?? null) : slot.value)));
    },
  };
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
