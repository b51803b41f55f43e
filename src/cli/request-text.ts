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
    ...resultOf(record),
    ...record.evidence.map((one) => [one.step, `${one.at_utc}  ${one.proof}`] as const),
  ]);
}

/** What the result adds to the rows that every request has. */
function resultOf({ result_json }: RequestRecord): (readonly [string, string])[] {
  const known = ["request_kind", "completed_at_utc"];
  return Object.entries(result_json ?? {})
    .filter(([name]) => !known.includes(name))
    .map(([name, value]) => [
      name.replaceAll("_", " "),
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
}
