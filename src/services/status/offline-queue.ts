import { openQueueForReading, type QueueReader, type StoredRequest } from "../../db/gateway/request-store.ts";
import type { AdmissionBlock, RequestRecord } from "../../protocol/gateway.ts";
import { messageOf } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { storageFaultOf } from "../../system/storage-fault.ts";
import { toRecord } from "../queue/request.ts";
import type { OfflineQueue } from "./project.ts";

/**
 * What queue.sqlite shows while no gateway serves it (ruling 34). `served`: a gateway has run here, so that a file which
 * is missing was lost. Never throws: a file that cannot be read is a `block`.
 */
export function readOfflineQueue(files: Pick<Files, "exists">, path: string, served: boolean): OfflineQueue {
  const nothing = { instance: null, depth: null };
  if (!files.exists(path)) return { ...nothing, depth: served ? null : 0, block: served ? lost : null };
  let queue: QueueReader | null = null;
  try {
    queue = openQueueForReading(path);
    return { instance: queue.instance(), depth: queue.depth(), block: null };
  } catch (error) {
    return { ...nothing, block: toBlock(error) };
  } finally {
    queue?.close();
  }
}

/** The requests of the queue at `path`, newest first, each that has not begun with why it waits. Throws as `openQueueForReading`. */
export function readOfflineRequests(path: string, limit: number, why: string): RequestRecord[] {
  return withQueue(path, (queue) =>
    queue.list({ limit }).map((stored) => toOfflineRecord(queue, stored, why)),
  );
}

/** Null when there is none with this id. */
export function readOfflineRequest(path: string, requestId: string, why: string): RequestRecord | null {
  return withQueue(path, (queue) => {
    const stored = queue.get(requestId);
    return stored && toOfflineRecord(queue, stored, why);
  });
}

function withQueue<T>(path: string, read: (queue: QueueReader) => T): T {
  const queue = openQueueForReading(path);
  try {
    return read(queue);
  } finally {
    queue.close();
  }
}

function toOfflineRecord(queue: QueueReader, stored: StoredRequest, why: string): RequestRecord {
  const head = queue.heads()[0] ?? null;
  const waiting = { reason: "no_gateway", detail: why, since_utc: stored.acceptedAtUtc };
  return toRecord(stored, { head, waiting });
}

const lost: AdmissionBlock = {
  reason: "database_lost",
  detail:
    "queue.sqlite is missing: put a copy of it in its place; else the next gateway begins an empty queue and reports, from its history, which requests were lost",
};

function toBlock(error: unknown): AdmissionBlock {
  const { cause } = (error ?? {}) as { cause?: unknown };
  const fault = storageFaultOf(error) ?? storageFaultOf(cause);
  const reason = fault?.fault === "damaged" ? "database_damaged" : "database_unusable";
  return { reason, detail: messageOf(error) };
}
