import type { RequestRecord } from "../protocol/gateway.ts";
import { renderPairs } from "./format.ts";

/** A request for people: how far it got and what proved it. Pure. */
export function renderRequest(record: RequestRecord): string {
  const waiting = record.waiting;
  return renderPairs([
    ["request", record.request_id],
    ["kind", record.request_kind],
    ["state", record.state],
    ["error", record.error_detail],
    ["waits for", waiting && `${waiting.reason} since ${waiting.since_utc}: ${waiting.detail}`],
    ["result", record.result_json && JSON.stringify(record.result_json)],
    ...record.evidence.map((one) => [one.step, `${one.at_utc}  ${one.proof}`] as const),
  ]);
}
