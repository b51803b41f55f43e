import type { InstanceRow } from "../../db/gateway/request-store.ts";

/**
 * What the queue knows of the agent's instance once `liveId` was seen (contract 3.2; ruling 5). The first instance
 * is epoch 1 and needs no reconciliation. Another id raises the epoch and never lowers it. `liveId` null (the
 * agent cannot be reached) keeps what was known. Returns `stored` itself when nothing changed.
 */
export function nextInstance(stored: InstanceRow | null, liveId: string | null): InstanceRow {
  const known = stored ?? { epoch: 1, instanceId: null, reconciledEpoch: 1 };
  if (liveId === null || liveId === known.instanceId) return known;
  if (known.instanceId === null) return { ...known, instanceId: liveId };
  return { ...known, instanceId: liveId, epoch: known.epoch + 1 };
}

/** True while requests of an older instance wait for an operator to say what becomes of them. */
export function needsReconciliation(instance: InstanceRow): boolean {
  return instance.epoch > instance.reconciledEpoch;
}
