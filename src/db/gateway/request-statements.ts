import type { Database } from "bun:sqlite";
import { getTableColumns } from "drizzle-orm";
import type { RequestState } from "../../protocol/gateway.ts";
import { insertText, prepare, selectList } from "../statement.ts";
import * as schema from "./schema.ts";

const { instance, requests } = schema;

type RequestRow = typeof requests.$inferSelect;

/**
 * A longer payload is not read where many rows are: a prompt may have 8 MiB, and no control intent is long.
 */
const listedPayloadBytes = 16 * 1024;

const { payloadJson: _, ...otherColumns } = getTableColumns(requests);
const every = selectList(getTableColumns(requests));
/** A row of a list: of a long payload only the turn it names. */
const listed = `${selectList(otherColumns)}, CASE WHEN octet_length(payload_json) <= ${listedPayloadBytes}
  THEN payload_json ELSE json_object('turn_id', turn_id) END AS payloadJson`;

/** Which instance of the agent the queue serves (ruling 5). */
export interface InstanceRow {
  epoch: number;
  instanceId: string | null;
  reconciledEpoch: number;
}

const { singleton: __, ...instanceColumns } = getTableColumns(instance);

type Client = Pick<Database, "prepare">;

/** From one state to the next; a field that is null stays as it is. */
interface Move {
  requestId: string;
  from: RequestState;
  to: RequestState;
  startedAtUtc: string | null;
  finishedAtUtc: string | null;
  errorDetail: string | null;
  resultJson: string | null;
  evidenceJson: string | null;
}

/**
 * The queue's frequent statements. A cold process takes about half a millisecond to prepare one, and its
 * start needs few of them. The names of a state and of a lane are literals in the text: a bound one would not
 * find the partial indexes, and SQLite prepares a statement again, 0.25 ms, whenever another value is bound
 * that might decide whether one of them is of use.
 */
export function requestStatements(client: Client) {
  const from = `FROM gateway_requests`;
  const oldestOf = (lane: string) =>
    `(SELECT min(seq) ${from} WHERE state = 'accepted' AND lane = '${lane}')`;
  return {
    insert: prepare<
      Pick<
        RequestRow,
        | "requestId"
        | "requestKind"
        | "lane"
        | "payloadJson"
        | "state"
        | "acceptedAtUtc"
        | "epoch"
        | "evidenceJson"
        | "turnId"
        | "idempotencyKey"
      >
    >(
      client,
      insertText(requests, [
        "requestId",
        "requestKind",
        "lane",
        "payloadJson",
        "state",
        "acceptedAtUtc",
        "epoch",
        "evidenceJson",
        "turnId",
        "idempotencyKey",
      ]),
    ),
    /** One row, or none. The plus keeps the partial indexes out of it, see above. */
    move: prepare<Move, { seq: number }>(
      client,
      `UPDATE gateway_requests SET state = :to,
         started_at_utc = coalesce(:startedAtUtc, started_at_utc),
         finished_at_utc = coalesce(:finishedAtUtc, finished_at_utc),
         error_detail = coalesce(:errorDetail, error_detail),
         result_json = coalesce(:resultJson, result_json),
         evidence_json = coalesce(:evidenceJson, evidence_json)
       WHERE request_id = :requestId AND +state = :from RETURNING seq`,
    ),
    saveEvidence: prepare<{ requestId: string; evidence: string }>(
      client,
      "UPDATE gateway_requests SET evidence_json = :evidence WHERE request_id = :requestId",
    ),
    byId: prepare<{ id: string }, RequestRow>(client, `SELECT ${every} ${from} WHERE request_id = :id`),
    byKey: prepare<{ key: string }, RequestRow>(
      client,
      `SELECT ${every} ${from} WHERE idempotency_key = :key`,
    ),
    /** The states of the requests that ask for a turn. */
    ofTurn: prepare<{ turnId: string }, { state: RequestState }>(
      client,
      `SELECT state ${from} WHERE turn_id = :turnId`,
    ),
    acceptedFrom: prepare<{ seq: number; limit: number }, RequestRow>(
      client,
      `SELECT ${listed} ${from} WHERE ${amongAccepted("seq >= :seq ORDER BY seq LIMIT :limit")}
       ORDER BY seq LIMIT :limit`,
    ),
    /** The oldest accepted request of each lane that has one, oldest first. */
    heads: prepare<object, RequestRow>(
      client,
      `SELECT ${every} ${from} WHERE seq IN (${requests.lane.enumValues.map(oldestOf).join(", ")})
       ORDER BY seq`,
    ),
    running: prepare<object, RequestRow>(client, `SELECT ${every} ${from} WHERE state = 'running'`),
    countOpen: prepare<object, { n: number }>(
      client,
      `SELECT (SELECT count(*) ${from} WHERE state = 'accepted')
         + (SELECT count(*) ${from} WHERE state = 'running') AS n`,
    ),
    instance: prepare<object, InstanceRow>(
      client,
      `SELECT ${selectList(instanceColumns)} FROM gateway_instance`,
    ),
    saveInstance: prepare<InstanceRow>(
      client,
      `INSERT INTO gateway_instance (singleton, epoch, instance_id, reconciled_epoch)
         VALUES (1, :epoch, :instanceId, :reconciledEpoch) ON CONFLICT (singleton)
         DO UPDATE SET epoch = :epoch, instance_id = :instanceId, reconciled_epoch = :reconciledEpoch`,
    ),
  };
}

/** A page of requests, newest first. Of those in one state nothing else is read. */
export function requestPage(
  client: Client,
  options: { limit: number; state?: RequestState; beforeSeq?: number },
): RequestRow[] {
  const before = options.beforeSeq === undefined ? "true" : "seq < :beforeSeq";
  // SQLite uses a partial index only where its condition is written out.
  const inState = {
    accepted: amongAccepted(`${before} ORDER BY seq DESC LIMIT :limit`),
    running: "state = 'running'",
    finished: "state = :state AND state <> 'accepted' AND state <> 'running'",
    any: "true",
  };
  const { state } = options;
  const kind = state === undefined || state === "accepted" || state === "running" ? state : "finished";
  return prepare<typeof options, RequestRow>(
    client,
    `SELECT ${listed} FROM gateway_requests WHERE ${before} AND ${inState[kind ?? "any"]}
     ORDER BY seq DESC LIMIT :limit`,
  ).all(options);
}

/**
 * That a request is accepted, asked lane by lane: going through all in their order SQLite would read the
 * finished ones too. `bounds` ends the question for one lane: which it is about, their order, and how many of
 * them.
 */
function amongAccepted(bounds: string): string {
  const lanes = requests.lane.enumValues.map(
    (lane) =>
      `SELECT seq FROM (SELECT seq FROM gateway_requests WHERE state = 'accepted' AND lane = '${lane}' AND ${bounds})`,
  );
  return `seq IN (${lanes.join(" UNION ALL ")})`;
}
