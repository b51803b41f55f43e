import type { Database } from "bun:sqlite";
import { getTableColumns } from "drizzle-orm";
import type { RequestState } from "../../protocol/gateway.ts";
import { insertText, prepare, selectList } from "../statement.ts";
import * as schema from "./schema.ts";

const { instance, requests } = schema;

type RequestRow = typeof requests.$inferSelect;

/**
 * Lists do not read a longer payload: a prompt may have 8 MiB, and control intents are short.
 */
const listedPayloadBytes = 16 * 1024;

const { payloadJson: _, ...otherColumns } = getTableColumns(requests);
const every = selectList(getTableColumns(requests));
/** Columns of a list; a long payload is reduced to its turn id. */
const listed = `${selectList(otherColumns)}, CASE WHEN octet_length(payload_json) <= ${listedPayloadBytes}
  THEN payload_json ELSE json_object('turn_id', turn_id) END AS payloadJson`;

/** The instance of the agent that the queue serves (ruling 5). */
export interface InstanceRow {
  epoch: number;
  instanceId: string | null;
  reconciledEpoch: number;
}

const { singleton: __, ...instanceColumns } = getTableColumns(instance);

type Client = Pick<Database, "prepare">;

/** A transition; a null field keeps its value. */
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
 * The queue's frequent statements. Preparing one takes about half a millisecond in a new process, and a start
 * needs few of them. States and lanes are literals in the text: with a bound value SQLite does not use the
 * partial indexes, or prepares the statement again (0.25 ms) for each value that may decide their use.
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
    /** Changes one row or none. The plus excludes the partial indexes, see above. */
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
    /** The states of the requests with this turn id. */
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

/** A page of requests, newest first. With a state, only requests in that state are read. */
export function requestPage(
  client: Client,
  options: { limit: number; state?: RequestState; beforeSeq?: number },
): RequestRow[] {
  const before = options.beforeSeq === undefined ? "true" : "seq < :beforeSeq";
  // SQLite uses a partial index only for a statement that contains its condition.
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
 * The condition that a request is accepted, lane by lane: a single scan in order would also read finished
 * requests. `bounds`: further conditions, order and limit within one lane.
 */
function amongAccepted(bounds: string): string {
  const lanes = requests.lane.enumValues.map(
    (lane) =>
      `SELECT seq FROM (SELECT seq FROM gateway_requests WHERE state = 'accepted' AND lane = '${lane}' AND ${bounds})`,
  );
  return `seq IN (${lanes.join(" UNION ALL ")})`;
}
