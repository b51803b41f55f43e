import type { GatewayEndpoints } from "../../protocol/endpoints.ts";
import { type RequestRecord, wasInterrupted, wasWithdrawn } from "../../protocol/gateway.ts";
import type { GatewayCalls } from "../../services/fleet/gateway-client.ts";
import { coalescedInto } from "../../services/fleet/gateway-client.ts";
import { type Clock, parseTimestamp, sleep } from "../../system/clock.ts";
import { cutText, widthOf } from "../../system/text-columns.ts";
import { localTime } from "../../system/time-zone.ts";
import { visibleLine } from "../../system/visible.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { renderPairs, renderTable } from "../command-line/format.ts";
import type { SeenState } from "./questions.ts";
import { ageText } from "./snapshot-text.ts";
import { bodyOf } from "./target.ts";

/** A request for people: how far it got and what proved it. Pure. */
export function renderRequest(record: RequestRecord): string {
  const waiting = record.waiting;
  return renderPairs([
    ["request", record.request_id],
    ["kind", record.request_kind],
    ["state", stateForPeople(record)],
    ["from agent", record.submitted_by?.agent_name],
    ["error", record.error_detail],
    ["waits for", waiting && `${waiting.reason} since ${waiting.since_utc}: ${waiting.detail}`],
    ...resultOf(record),
    ...record.evidence.map((one) => [one.step, `${one.at_utc}  ${one.proof}`] as const),
  ]);
}

/**
 * The state of a request in words that do not mislead: `completed` says of a prompt that it was delivered,
 * and its turn may still run. JSON keeps the contract's states. Pure.
 */
export function stateForPeople(record: RequestRecord): string {
  const { state, request_kind: kind, evidence } = record;
  if (wasInterrupted(record)) return "interrupted";
  if (wasWithdrawn(record)) return "withdrawn";
  if (evidence.at(-1)?.agent_ended) return "ended with the agent";
  if (state !== "completed" || kind === "interrupt") return state;
  const last = evidence.findLast(({ step }) => step === "turn_started" || step === "turn_ended");
  if (last === undefined) return "delivered";
  if (last.step === "turn_started") return "delivered, its turn runs";
  return /interrupt/.test(last.proof) ? "interrupted" : "ended";
}

/**
 * Requests with their prompts, a line each: number, from whom, since when, why it waits or how it ended, and as
 * much of the text as `columns` leave room for. Pure.
 */
export function renderPrompts(
  requests: readonly RequestRecord[],
  { columns, nowMs }: { columns: number; nowMs: number },
): string {
  const header = ["NUMBER", "FROM", "SINCE", "NOTE"];
  const rows = requests.map((one) => {
    const sinceMs = parseTimestamp(one.finished_at_utc ?? one.accepted_at_utc);
    return [
      one.number === undefined ? "-" : String(one.number),
      fromText(one),
      sinceMs === null ? "" : ageText(nowMs - sinceMs),
      one.waiting?.reason.replaceAll("_", " ") ?? noteOf(one),
    ];
  });
  const widest = Math.max(...renderTable(header, rows).split("\n").map(widthOf));
  const room = columns - widest - 2;
  const texts = requests.map((one) => cutText(visibleLine(textOfPrompt(one)), Math.max(room, leastText)));
  return renderTable(
    [...header, "TEXT"],
    rows.map((row, at) => [...row, texts[at] ?? ""]),
  );
}

const leastText = 20;

/** Who submitted a request. Pure. */
export function fromText({ submitted_by, request_kind: kind }: RequestRecord): string {
  if (submitted_by) return submitted_by.agent_name;
  return kind === "mail_notifier_prompt" ? "mail" : "a person";
}

/** What a request asks, in one text. Pure. */
export function textOfPrompt({ prompt, request_kind: kind }: RequestRecord): string {
  return prompt ?? (kind === "interrupt" ? "(an interrupt)" : "(its text was lost)");
}

/** How a request ended that did not end well. */
function noteOf(record: RequestRecord): string {
  return record.result_json?.["outcome"] === "unknown" ? "outcome unknown" : stateForPeople(record);
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

/** For reasons of an agent; any other has its detail. */
const waitTexts: Record<string, string> = {
  awaiting_decision: "waits: it asks a question",
  not_ready: "waits: it is busy",
  pending_input: "waits: its tool holds earlier input",
  typing_lease: "waits: a person types in the console",
  execution_slot: "waits: other work runs first",
};

/** What a prompt that was accepted comes to now, in a few words. `record`: null before it was read. Pure. */
export function describeProgress(
  record: RequestRecord | null,
  { parked, isAsking }: SeenState,
  nowMs: number,
): string {
  if (isAsking) return "waits: it asks a question";
  if (parked !== null)
    return `waits: usage limit${parked.until === null ? "" : ` until ${localTime(parked.until, nowMs)}`}`;
  if (record === null) return "waits";
  if (record.state !== "accepted") return "works";
  const { waiting } = record;
  // Of those that wait only the oldest has a reason.
  if (waiting === undefined) return "waits: other work comes first";
  return waitTexts[waiting.reason] ?? `waits: ${visibleLine(waiting.detail)}`;
}

/** `finished`: the request is no longer accepted or running. `turn_ended`: also its turn has ended. */
type WaitUntil = "finished" | "turn_ended";

const pollIntervalMs = 100;

/**
 * Reads the request until it is as far as asked, and returns its record; one that failed or was coalesced
 * goes no further and is returned at once. Ends the command with exit 1 when `timeoutSeconds` are over, and
 * with exit 130 when `interrupted` aborts: the request goes on, and `howToFollow` says what a person can do
 * with it.
 */
export async function waitForRequest(
  clock: Clock,
  client: GatewayCalls,
  requestId: string,
  options: {
    until: WaitUntil;
    /** Null waits without end. */
    timeoutSeconds: number | null;
    interrupted?: AbortSignal;
    howToFollow?: string;
    onRead?: (record: RequestRecord) => void;
  },
): Promise<RequestRecord> {
  const { timeoutSeconds: limit } = options;
  const deadlineMs = limit === null ? Number.POSITIVE_INFINITY : clock.monotonicMs() + limit * 1000;
  const interruption = () => {
    const detail =
      `interrupted; request ${requestId} goes on without us. ${options.howToFollow ?? ""}`.trim();
    const json = { error: "interrupted", detail, request_id: requestId };
    return new CommandFailure(exitCodes.interrupted, detail, json);
  };
  for (;;) {
    const response = await client.call("readRequest", { params: { request_id: requestId } });
    if (response.kind === "unreachable" && options.interrupted?.aborted) throw interruption();
    if (response.kind === "unreachable") {
      const detail = `request ${requestId} is accepted and kept, but its gateway stopped answering: ${response.detail}`;
      throw new CommandFailure(exitCodes.unreachable, detail, {
        error: "unreachable",
        detail,
        request_id: requestId,
      });
    }
    const record = bodyOf<GatewayEndpoints["readRequest"]>(response);
    options.onRead?.(record);
    if (isFarEnough(record, options.until)) return record;
    if (clock.monotonicMs() >= deadlineMs) {
      const detail = `request ${requestId} ${stillWaitsFor(record)} after ${limit} s; it goes on without us`;
      throw new CommandFailure(exitCodes.refused, detail, { error: "timeout", detail, request: record });
    }
    await sleep(clock, pollIntervalMs, options.interrupted);
    if (options.interrupted?.aborted) throw interruption();
  }
}

/** Pure. A completed prompt has been typed and taken; its turn may still run. */
export function isFarEnough(record: RequestRecord, until: WaitUntil): boolean {
  if (record.state === "failed" || record.state === "coalesced") return true;
  if (record.state !== "completed") return false;
  return until === "finished" || record.evidence.some((one) => one.step === "turn_ended");
}

/**
 * Pure. What a request has come to that is not far enough: to people, "completed" would mean that its turn
 * has ended.
 */
export function stillWaitsFor(record: RequestRecord): string {
  if (record.state === "completed") return "was taken, and its turn has not ended";
  return record.waiting ? `waits (${record.waiting.detail})` : `is ${record.state}`;
}

/** An interrupt overtakes what waits (ruling 8): it is done soon or something is wrong. */
const timeoutSeconds = 15;

/**
 * Asks the gateway to interrupt. `record`: the finished one of this request; `outcome`: that of the request
 * which did its work, another one where several interrupts waited and were coalesced.
 */
export async function interruptThrough(
  clock: Clock,
  client: GatewayCalls,
): Promise<{ record: RequestRecord; outcome: RequestRecord }> {
  const body = { schema_version: 1 as const, kind: "interrupt" as const, payload: {} };
  const accepted = bodyOf(await client.call("submitRequest", { body }));
  const finished = (id: string) => waitForRequest(clock, client, id, { until: "finished", timeoutSeconds });
  const record = await finished(accepted.request_id);
  let outcome = record;
  for (let into = coalescedInto(outcome); into !== null; into = coalescedInto(outcome)) {
    outcome = await finished(into);
  }
  return { record, outcome };
}
