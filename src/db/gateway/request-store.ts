import type { Database } from "bun:sqlite";
import { basename } from "node:path";
import { Type } from "@sinclair/typebox";
import { and, lt, sql } from "drizzle-orm";
import { Evidence, type RequestState, type StoredRequestKind } from "../../protocol/gateway.ts";
import type { Clock } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import { createPrivately, fileIdentity } from "../../system/own-file.ts";
import type { Steps } from "../../system/steps.ts";
import { storageFaultOf } from "../../system/storage-fault.ts";
import { createGroupCommit } from "../group-commit.ts";
import { parseColumn } from "../json-column.ts";
import type { Migration } from "../migrations.ts";
import { namingFile, openStore, openStoreForReading, type Store } from "../open.ts";
import queue from "./migrations/0000_queue.sql" with { type: "text" };
import notifier from "./migrations/0001_notifier.sql" with { type: "text" };
import leanerAccept from "./migrations/0002_leaner_accept.sql" with { type: "text" };
import turnsFound from "./migrations/0003_turns_found.sql" with { type: "text" };
import reminders from "./migrations/0004_reminders.sql" with { type: "text" };
import idempotencyKeys from "./migrations/0005_idempotency_keys.sql" with { type: "text" };
import ledger from "./migrations/0006_ledger.sql" with { type: "text" };
import finishedByState from "./migrations/0007_finished_by_state.sql" with { type: "text" };
import keyedCalls from "./migrations/0008_keyed_calls.sql" with { type: "text" };
import { type InstanceRow, requestPage, requestStatements } from "./request-statements.ts";
import * as schema from "./schema.ts";

/** Oldest first. Written by drizzle-kit from `schema.ts`; an applied one is never edited. */
export const gatewayMigrations: readonly Migration[] = [
  { tag: "0000_queue", sql: queue },
  { tag: "0001_notifier", sql: notifier },
  { tag: "0002_leaner_accept", sql: leanerAccept },
  { tag: "0003_turns_found", sql: turnsFound },
  { tag: "0004_reminders", sql: reminders },
  { tag: "0005_idempotency_keys", sql: idempotencyKeys },
  { tag: "0006_ledger", sql: ledger },
  { tag: "0007_finished_by_state", sql: finishedByState },
  {
    tag: "0008_keyed_calls",
    sql: keyedCalls,
    digest: "626b55fc221c8fc7642c866a7a293207ffc782018fbf23bf5966ebf676e0c079",
  },
];

/** The build of the executables and the package replaces it. */
declare const SVC_NEW_QUEUE: string | undefined;

/** Unpacks the file of `packNewQueue` for `openStore`. */
export const unpackQueue = (packed: string) => (): Uint8Array =>
  Bun.zstdDecompressSync(Buffer.from(packed, "base64"));

/** When run from source, the migrations create a new file. */
const newFile = typeof SVC_NEW_QUEUE === "string" ? { newFile: unpackQueue(SVC_NEW_QUEUE) } : {};

const restart = "restart the gateway (`gateway detach`, then `gateway attach`)";

/**
 * Handles a database file that was removed or replaced while a gateway uses it. A removed file is written
 * again once, with the whole content. Then every write is refused. So no accepted request is lost, and none
 * is accepted into a file without a name.
 */
function refuseLostFile(path: string): (client: Database) => never {
  const name = basename(path);
  return (client) => {
    if (fileIdentity(path) === null) {
      createPrivately(path);
      client.query("VACUUM INTO ?").run(path);
    }
    throw new ServiceError("unavailable", `${name} was removed or replaced under the gateway; ${restart}`);
  };
}

/**
 * Inserts a request and deletes it again: a nearly full disk may accept one page and not this.
 */
function probeQueue(client: Database): void {
  client.run(
    `INSERT INTO gateway_requests
       (request_id, request_kind, lane, payload_json, state, accepted_at_utc, managed_agent_instance_epoch)
     VALUES ('probe', 'interrupt', 'interrupt', '{}', 'accepted', '', 0)`,
  );
  client.run("DELETE FROM gateway_requests WHERE request_id = 'probe'");
  client.run("UPDATE sqlite_sequence SET seq = seq - 1 WHERE name = 'gateway_requests'");
}

/** A refusal with the file name and a remedy for a damaged or missing file; other errors unchanged. */
function explainDamage(error: unknown, path: string): unknown {
  const fault = storageFaultOf(error)?.fault;
  const name = basename(path);
  if (fault === "missing") {
    const problem = `${name} cannot be opened: it must be a file of this user. Move away what is in its place`;
    return new ServiceError("precondition_failed", problem, { cause: error });
  }
  if (fault !== "damaged") return error;
  return new ServiceError(
    "precondition_failed",
    `${name} is damaged: put a copy of it in its place, or move it and the files ${name}-* away; then the gateway begins an empty queue and reports, from its history, which requests were lost`,
    { cause: error },
  );
}

const { requests } = schema;

export type { InstanceRow };

export type Lane = "interrupt" | "immediate" | "turn_boundary";

/** A stored request. `payload` and `result` are parsed JSON objects. */
export interface StoredRequest {
  seq: number;
  requestId: string;
  kind: StoredRequestKind;
  lane: Lane;
  payload: Record<string, unknown>;
  state: RequestState;
  acceptedAtUtc: string;
  startedAtUtc: string | null;
  finishedAtUtc: string | null;
  epoch: number;
  errorDetail: string | null;
  result: Record<string, unknown> | null;
  evidence: Evidence[];
  idempotencyKey: string | null;
}

export type NewRequest = Pick<
  StoredRequest,
  "requestId" | "kind" | "lane" | "payload" | "acceptedAtUtc" | "epoch"
> & { idempotencyKey?: string };

/** Throws to refuse a row. It runs in the transaction of the insert, so its reads are valid for the row. */
export type InsertGuard = () => void;

/** A legal change of one request's state; the database refuses it when the row is not in `from`. */
export interface Transition {
  requestId: string;
  from: RequestState;
  to: RequestState;
  startedAtUtc?: string;
  finishedAtUtc?: string;
  errorDetail?: string;
  result?: Record<string, unknown>;
  evidence?: Evidence[];
}

/** The row was not in the state `from`: another change came first. */
export class IllegalTransition extends Error {
  override readonly name = "IllegalTransition";
}

/** The end of an accepted request whose row was lost, without its payload. */
export type RecoveredRequest = Pick<
  StoredRequest,
  "requestId" | "kind" | "acceptedAtUtc" | "epoch" | "state"
> & {
  finishedAtUtc: string;
  errorDetail?: string;
  result?: Record<string, unknown>;
};

/** `idempotencyKey`: only the request that was accepted with it; the other options are ignored. */
interface ListOptions {
  limit: number;
  state?: RequestState;
  beforeSeq?: number;
  idempotencyKey?: string;
}

/** The durable queue. Changes are on disk when a method returns or resolves, unless it says otherwise. */
export interface RequestStore {
  /**
   * Inserts a row; requests of one moment share one transaction. Rejects when the row was refused or could
   * not be stored.
   */
  insertAccepted(row: NewRequest, guard?: InsertGuard): Promise<void>;
  /** Whether a request in any state has this turn id. */
  knowsTurn(turnId: string): boolean;
  /** Whether an accepted or running request has this turn id. */
  claimsTurn(turnId: string): boolean;
  /**
   * Applies all transitions or none. Throws IllegalTransition when a row is not in the state `from`.
   * `durable: false` as in `write`, for a change that has no effect before a later durable write.
   */
  transition(label: string, changes: readonly Transition[], options?: { durable?: boolean }): void;
  /** Inserts the rows of lost requests and applies transitions of others, all or none. */
  recover(label: string, lost: readonly RecoveredRequest[], changes: readonly Transition[]): void;
  /**
   * Adds evidence. `durable: false` as in `write`, for evidence that can be found again, such as the files of
   * a headless turn.
   */
  addEvidence(
    label: string,
    requestId: string,
    evidence: readonly Evidence[],
    options?: { durable?: boolean },
  ): void;
  get(requestId: string): StoredRequest | null;
  /** The request that was accepted with this idempotency key. */
  byKey(idempotencyKey: string): StoredRequest | null;
  /** The oldest accepted request of each lane that has one, oldest first. */
  heads(): StoredRequest[];
  /**
   * Accepted requests from `seq` on, oldest first. A payload beyond 16 KiB is reduced to `turn_id`, as in
   * `list`.
   */
  acceptedFrom(seq: number, limit: number): StoredRequest[];
  running(): StoredRequest | null;
  /** Requests before `beforeSeq`, newest first. */
  list(options: ListOptions): StoredRequest[];
  /** Requests accepted or running. */
  depth(): number;
  instance(): InstanceRow | null;
  saveInstance(label: string, row: InstanceRow): void;
  /**
   * Saves `row` and fails every accepted request of an older epoch, in one transaction. Returns their ids,
   * oldest first.
   */
  reconcile(label: string, row: InstanceRow, end: { finishedAtUtc: string; errorDetail: string }): string[];
  /**
   * Saves `row` and moves every accepted request of an older epoch to its epoch. Returns like `reconcile`.
   */
  keepAccepted(label: string, row: InstanceRow): string[];
  /** See `Store`. */
  fault(): unknown;
  close(): void;
}

/** queue.sqlite, for the stores that share it. */
export type GatewayDatabase = Store;

const checkedBytes = 16 * 2 ** 20;

/** Throws ServiceError `precondition_failed` for a damaged file. */
export function openGatewayDatabase(options: { path: string; clock: Clock; steps: Steps }): GatewayDatabase {
  const { path } = options;
  try {
    const guards = { onLost: refuseLostFile(path), probe: probeQueue, checkedBytes };
    return openStore({ ...options, ...guards, ...newFile, migrations: gatewayMigrations });
  } catch (error) {
    throw explainDamage(error, path);
  }
}

/** The methods for readers while no gateway serves the queue. */
export type QueueReader = Pick<RequestStore, "list" | "get" | "heads" | "depth" | "instance" | "close">;

/**
 * Throws ServiceError `precondition_failed` for a damaged or missing file.
 */
export function openQueueForReading(path: string): QueueReader {
  try {
    return requestStoreOn(openStoreForReading({ path, migrations: gatewayMigrations, checkedBytes }));
  } catch (error) {
    throw explainDamage(error, path);
  }
}

/**
 * Calls `read` with the database, with or without a running gateway. Throws for a file that is absent,
 * damaged or of another version.
 */
export function readGatewayDatabase<T>(path: string, read: (store: GatewayDatabase) => T): T {
  const store = openStoreForReading({ path, migrations: gatewayMigrations, checkedBytes: 0 });
  try {
    return read(store);
  } finally {
    store.close();
  }
}

/** `close` closes the database. */
export function requestStoreOn(store: GatewayDatabase): RequestStore {
  const { db } = store;
  const statements = requestStatements(store.client);

  const accepting = createGroupCommit<{ row: NewRequest; guard: InsertGuard }, void>((rows) => {
    store.write("sql:request-accepted", () => {
      for (const { row, guard } of rows) {
        guard();
        const { requestId, kind, lane, acceptedAtUtc, epoch, idempotencyKey = null } = row;
        statements.insert.run({
          requestId,
          requestKind: kind,
          lane,
          payloadJson: JSON.stringify(row.payload),
          state: "accepted",
          acceptedAtUtc,
          epoch,
          evidenceJson: "[]",
          turnId: turnOf(row.payload),
          idempotencyKey,
        });
      }
    });
    return rows.map(() => undefined);
  });

  const read = (requestId: string): StoredRequest | null => {
    const row = statements.byId.get({ id: requestId });
    return row ? toStored(row) : null;
  };

  function apply(change: Transition): void {
    const evidence = change.evidence?.length
      ? JSON.stringify([...(read(change.requestId)?.evidence ?? []), ...change.evidence])
      : undefined;
    const changed = statements.move.all({
      requestId: change.requestId,
      from: change.from,
      to: change.to,
      startedAtUtc: change.startedAtUtc ?? null,
      finishedAtUtc: change.finishedAtUtc ?? null,
      errorDetail: change.errorDetail ?? null,
      resultJson: change.result === undefined ? null : JSON.stringify(change.result),
      evidenceJson: evidence ?? null,
    });
    if (changed.length !== 1) {
      throw new IllegalTransition(`illegal transition ${change.from} -> ${change.to} of ${change.requestId}`);
    }
  }

  function settleOlder(row: InstanceRow, change: Partial<typeof requests.$inferInsert>): string[] {
    saveInstance(row);
    const changed = db
      .update(requests)
      .set(change)
      .where(and(sql`state = 'accepted'`, lt(requests.epoch, row.epoch)))
      .returning({ seq: requests.seq, requestId: requests.requestId })
      .all();
    return changed.sort((left, right) => left.seq - right.seq).map((one) => one.requestId);
  }

  const saveInstance = (row: InstanceRow) => void statements.saveInstance.run(row);

  return namingFile(store, {
    insertAccepted: (row, guard = () => {}) => accepting.add({ row, guard }),
    knowsTurn: (turnId) => statements.ofTurn.all({ turnId }).length > 0,
    claimsTurn: (turnId) =>
      statements.ofTurn.all({ turnId }).some(({ state }) => state === "accepted" || state === "running"),
    transition(label, changes, options) {
      const applyAll = () => {
        for (const change of changes) apply(change);
      };
      store.write(label, applyAll, options);
    },
    recover(label, lost, changes) {
      store.write(label, () => {
        for (const { kind, result, ...row } of lost) {
          const lane = kind === "interrupt" ? "interrupt" : "turn_boundary";
          const resultJson = result === undefined ? null : JSON.stringify(result);
          const evidenceJson = JSON.stringify([
            acceptanceEvidence(row.acceptedAtUtc, "recorded in events.jsonl"),
          ]);
          db.insert(requests)
            .values({ ...row, requestKind: kind, lane, payloadJson: "{}", resultJson, evidenceJson })
            .run();
        }
        for (const change of changes) apply(change);
      });
    },
    addEvidence(label, requestId, evidence, options) {
      const add = () => {
        const row = read(requestId);
        if (!row) return;
        statements.saveEvidence.run({ requestId, evidence: JSON.stringify([...row.evidence, ...evidence]) });
      };
      store.write(label, add, options);
    },
    get: read,
    byKey(key) {
      const row = statements.byKey.get({ key });
      return row ? toStored(row) : null;
    },
    heads: () => statements.heads.all().map(toStored),
    acceptedFrom: (seq, limit) => statements.acceptedFrom.all({ seq, limit }).map(toStored),
    running: () => {
      const row = statements.running.get();
      return row ? toStored(row) : null;
    },
    list(options) {
      if (options.idempotencyKey === undefined) return requestPage(store.client, options).map(toStored);
      const row = statements.byKey.get({ key: options.idempotencyKey });
      return row ? [toStored(row)] : [];
    },
    depth: () => statements.countOpen.get()?.n ?? 0,
    instance: () => statements.instance.get() ?? null,
    saveInstance(label, row) {
      // A power failure that undoes it also ends the agent, and each later durable write of this file syncs
      // it.
      store.write(label, () => saveInstance(row), { durable: false });
    },
    reconcile: (label, row, end) => store.write(label, () => settleOlder(row, { state: "failed", ...end })),
    keepAccepted: (label, row) => store.write(label, () => settleOlder(row, { epoch: row.epoch })),
    fault: () => store.fault(),
    close: () => store.close(),
  });
}

function turnOf({ turn_id }: NewRequest["payload"]): string | null {
  return typeof turn_id === "string" ? turn_id : null;
}

/** The evidence of the acceptance. It is not stored, since the row proves it; the column is empty then. */
function acceptanceEvidence(acceptedAtUtc: string, proof = "committed to queue.sqlite"): Evidence {
  return { step: "accepted", at_utc: acceptedAtUtc, proof };
}

/** Rows of other versions may have further fields. */
const Fields = Type.Record(Type.String(), Type.Unknown());
const EvidenceList = Type.Array(Type.Object(Evidence.properties));

function toStored(row: typeof requests.$inferSelect): StoredRequest {
  const of = (column: string) => `${column} of ${row.requestId}`;
  return {
    seq: row.seq,
    requestId: row.requestId,
    kind: row.requestKind,
    lane: row.lane,
    payload: parseColumn(Fields, row.payloadJson, of("payload_json")),
    state: row.state,
    acceptedAtUtc: row.acceptedAtUtc,
    startedAtUtc: row.startedAtUtc,
    finishedAtUtc: row.finishedAtUtc,
    epoch: row.epoch,
    errorDetail: row.errorDetail,
    result: row.resultJson === null ? null : parseColumn(Fields, row.resultJson, of("result_json")),
    evidence:
      row.evidenceJson === "[]"
        ? [acceptanceEvidence(row.acceptedAtUtc)]
        : parseColumn(EvidenceList, row.evidenceJson, of("evidence_json")),
    idempotencyKey: row.idempotencyKey,
  };
}
