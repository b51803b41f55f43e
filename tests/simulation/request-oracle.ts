import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import type { Leave } from "./surface-oracle.ts";

export interface KnownRequest {
  id: string;
  seq: number;
  kind: string;
  lane: string;
  state: string;
  epoch: number;
  prompt: string | null;
  /** A failed one of which nobody can know more, or one whose text went out. */
  uncertain: boolean;
  /** Its only proof is a question behind which the text waits. */
  asked: boolean;
  acceptedMs: number;
}

/** Follows every row of one queue.sqlite from commit to commit, through a connection of its own. */
export interface RequestOracle {
  /** After each commit. */
  committed(): void;
  /** A caller was answered 202. */
  answered(requestId: string): void;
  /** A running request of exactly this text. */
  running(text: string): KnownRequest | null;
  open(): KnownRequest[];
  all(): KnownRequest[];
  epoch(): number;
  reconciledEpoch(): number;
  /** When a row or the epoch changed last. */
  changedMs(): number;
  /** The instance that an epoch was given to. */
  instanceOf(epoch: number): string | null;
  close(): void;
}

interface Row {
  seq: number;
  request_id: string;
  request_kind: string;
  lane: string;
  state: string;
  managed_agent_instance_epoch: number;
  payload_json: string;
  result_json: string | null;
  evidence_json: string;
}

const nextStates: Readonly<Record<string, readonly string[]>> = {
  accepted: ["running", "failed", "coalesced"],
  running: ["completed", "failed"],
};

export function leaveOfLane(lane: string): Leave {
  return lane === "immediate" ? "composer" : "turn_boundary";
}

export function createRequestOracle(deps: {
  path: string;
  nowMs: () => number;
  fail: (what: string) => void;
  onNew: (request: KnownRequest) => void;
}): RequestOracle {
  const { fail } = deps;
  const known = new Map<string, KnownRequest>();
  const epochs = new Map<number, string>();
  let database: Database | null = null;
  let epoch = 1;
  let reconciled = 1;
  let changedMs = 0;
  let lastSeq = 0;

  function opened(): Database | null {
    if (!database && existsSync(deps.path)) database = new Database(deps.path, { readwrite: true });
    return database;
  }

  function committed(): void {
    const db = opened();
    if (!db) return;
    readInstance(db);
    const before = [...known.values()].filter(isOpen);
    const from = Math.min(...before.map((one) => one.seq), lastSeq + 1);
    const rows = db
      .query<Row, [number]>("SELECT * FROM gateway_requests WHERE seq >= ? ORDER BY seq")
      .all(from);
    const found = new Set(rows.map((row) => row.request_id));
    for (const one of before) if (!found.has(one.id)) fail(`lost: ${one.id} was ${one.state} and is gone`);
    for (const row of rows) take(row);
    const running = rows.filter((row) => row.state === "running");
    if (running.length > 1) fail(`two in the slot: ${running.map((row) => row.request_id).join(", ")}`);
  }

  function readInstance(db: Database): void {
    const row = db
      .query<{ epoch: number; instance_id: string | null; reconciled_epoch: number }, []>(
        "SELECT epoch, instance_id, reconciled_epoch FROM gateway_instance",
      )
      .get();
    if (!row) return;
    if (row.epoch < epoch) fail(`the epoch went back from ${epoch} to ${row.epoch}`);
    if (row.epoch !== epoch || row.reconciled_epoch !== reconciled) changedMs = deps.nowMs();
    epoch = row.epoch;
    reconciled = row.reconciled_epoch;
    const former = epochs.get(row.epoch);
    if (row.instance_id === null || former === row.instance_id) return;
    if (former !== undefined) fail(`epoch ${row.epoch} was given to ${former} and to ${row.instance_id}`);
    epochs.set(row.epoch, row.instance_id);
  }

  function take(row: Row): void {
    const before = known.get(row.request_id);
    const now = toKnown(row, before?.acceptedMs ?? deps.nowMs());
    if (!before) deps.onNew(now);
    if (!before && row.state !== "accepted") fail(`${now.id} began as ${row.state}`);
    if (before && before.state !== now.state && !nextStates[before.state]?.includes(now.state)) {
      fail(`${now.id} went from ${before.state} to ${now.state}`);
    }
    if (before && (before.prompt !== now.prompt || before.epoch !== now.epoch || before.seq !== now.seq)) {
      fail(`${now.id} was changed`);
    }
    if (now.state === "running" && before?.state !== "running" && now.epoch !== epoch) {
      fail(`replayed over an epoch: ${now.id} of ${now.epoch} began in ${epoch}`);
    }
    if (before?.state !== now.state) changedMs = deps.nowMs();
    known.set(now.id, now);
    lastSeq = Math.max(lastSeq, now.seq);
  }

  return {
    committed,
    answered(requestId) {
      if (!known.has(requestId)) fail(`lost: ${requestId} was answered 202 and is not stored`);
    },
    running: (text) =>
      [...known.values()].find((one) => one.state === "running" && one.prompt === text) ?? null,
    open: () => [...known.values()].filter(isOpen),
    all: () => [...known.values()],
    epoch: () => epoch,
    reconciledEpoch: () => reconciled,
    changedMs: () => changedMs,
    instanceOf: (which) => epochs.get(which) ?? null,
    close: () => database?.close(),
  };
}

function isOpen(one: KnownRequest): boolean {
  return one.state === "accepted" || one.state === "running";
}

function toKnown(row: Row, acceptedMs: number): KnownRequest {
  const result = JSON.parse(row.result_json ?? "{}") as { outcome?: string; typed?: boolean };
  const { prompt } = JSON.parse(row.payload_json) as { prompt?: string };
  return {
    id: row.request_id,
    seq: row.seq,
    kind: row.request_kind,
    lane: row.lane,
    state: row.state,
    epoch: row.managed_agent_instance_epoch,
    prompt: prompt ?? null,
    uncertain: row.state === "failed" && (result.outcome === "unknown" || result.outcome === "failed"),
    asked: /question/.test(row.evidence_json),
    acceptedMs,
  };
}
