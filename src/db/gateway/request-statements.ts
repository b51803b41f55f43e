import { and, asc, eq, gte, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import * as schema from "./schema.ts";

const { requests } = schema;

/**
 * The queue's frequent statements, each prepared when it is first asked for: a cold process takes about half a
 * millisecond for one, and its start needs few of them. The words of a state stand in the text, since a bound one
 * would not find the partial indexes.
 */
export function requestStatements(db: BunSQLiteDatabase<typeof schema>) {
  const oldestOf = (lane: string) =>
    sql`(SELECT min(seq) FROM ${requests} WHERE state = 'accepted' AND lane = ${lane})`;
  return {
    insert: once(() =>
      db
        .insert(requests)
        .values({
          requestId: sql.placeholder("requestId"),
          requestKind: sql.placeholder("kind"),
          lane: sql.placeholder("lane"),
          payloadJson: sql.placeholder("payload"),
          state: "accepted",
          acceptedAtUtc: sql.placeholder("acceptedAtUtc"),
          epoch: sql.placeholder("epoch"),
          evidenceJson: sql.placeholder("evidence"),
        })
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
    countAccepted: once(() => countIn(db, "accepted")),
    countRunning: once(() => countIn(db, "running")),
  };
}

function countIn(db: BunSQLiteDatabase<typeof schema>, state: "accepted" | "running") {
  return db
    .select({ n: sql<number>`count(*)` })
    .from(requests)
    .where(sql`state = ${sql.raw(`'${state}'`)}`)
    .prepare();
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
