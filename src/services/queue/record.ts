import type { StoredRequest } from "../../db/gateway/request-store.ts";
import type { RequestRecord, Waiting } from "../../protocol/gateway.ts";

/**
 * The public record of a stored request. The prompt itself is left out: only its length is told. While a request
 * is accepted it says why it waits: the oldest one for `waiting`, the others behind it.
 */
export function toRecord(
  stored: StoredRequest,
  queue: { head: StoredRequest | null; waiting: Waiting | null },
): RequestRecord {
  const prompt = stored.payload["prompt"];
  const turnId = stored.payload["turn_id"] ?? stored.result?.["turn_id"];
  const waits = stored.state === "accepted" ? waitOf(stored, queue) : null;
  return {
    schema_version: 1,
    request_id: stored.requestId,
    request_kind: stored.kind,
    state: stored.state,
    accepted_at_utc: stored.acceptedAtUtc,
    started_at_utc: stored.startedAtUtc,
    finished_at_utc: stored.finishedAtUtc,
    managed_agent_instance_epoch: stored.epoch,
    error_detail: stored.errorDetail,
    result_json: stored.result,
    ...(typeof prompt === "string" ? { prompt_length: prompt.length } : {}),
    ...(typeof turnId === "string" ? { turn_id: turnId } : {}),
    ...(waits ? { waiting: waits } : {}),
    evidence: stored.evidence,
  };
}

function waitOf(
  stored: StoredRequest,
  queue: { head: StoredRequest | null; waiting: Waiting | null },
): Waiting | null {
  if (!queue.head || stored.requestId === queue.head.requestId) return queue.waiting;
  return {
    reason: "queued",
    detail: `behind ${queue.head.requestId}`,
    since_utc: stored.acceptedAtUtc,
  };
}
