import { Value } from "@sinclair/typebox/value";
import type { StoredRequest, Transition } from "../../db/gateway/request-store.ts";
import {
  type AcceptedRequest,
  ChatSession,
  type Evidence,
  Execution,
  type GatewayRequest,
  type RequestRecord,
  Submitter,
  type Waiting,
} from "../../protocol/gateway.ts";
import type { InterruptOutcome, RunningTurn, Submission, SubmitOutcome, TurnEnd } from "../agent/agent.ts";
import { policyOf } from "./eligibility.ts";

/** The end of a request, in the execution slot or before it. */
export type End = Pick<Transition, "result" | "errorDetail" | "evidence"> & { to: "completed" | "failed" };

/** The end of a request by the outcome of its submission. Source: contract 3.1; spec/gateway.md 2.2. */
export function endOf(request: StoredRequest, outcome: SubmitOutcome | InterruptOutcome, at: string): End {
  const done = { request_kind: request.kind, completed_at_utc: at };
  switch (outcome.outcome) {
    case "submitted":
      return { to: "completed", result: done };
    case "interrupted":
    case "no_op":
      return { to: "completed", result: { ...done, outcome: outcome.outcome, detail: outcome.detail } };
    case "unavailable":
      return { to: "failed", errorDetail: outcome.detail };
    case "failed": {
      const typed = "typed" in outcome ? { typed: outcome.typed } : {};
      return { to: "failed", errorDetail: outcome.detail, result: { outcome: "failed", ...typed } };
    }
  }
}

/** Fields of the event that reports `end`. */
export function toEndEvent(request: StoredRequest, end: End): Record<string, unknown> {
  return {
    request_id: request.requestId,
    request_kind: request.kind,
    ...(end.errorDetail === undefined ? {} : { error_detail: end.errorDetail }),
    ...(end.result === undefined ? {} : { result_json: end.result }),
  };
}

/** The end of a prompt by the end of its headless turn; only a completed turn completes it. */
export function endOfTurn(request: StoredRequest, turn: RunningTurn, ended: TurnEnd, at: string): End {
  const result = { outcome: ended.status, turn_id: turn.turnId, turn_index: turn.turnIndex };
  if (ended.status === "completed") {
    return { to: "completed", result: { request_kind: request.kind, completed_at_utc: at, ...result } };
  }
  return { to: "failed", errorDetail: ended.detail ?? `the turn was ${ended.status}`, result };
}

/**
 * The end of a request whose gateway died while it held the slot. `settled`: the findings of the recovery
 * (ruling 7).
 */
export function endUnknown(request: StoredRequest, settled: Evidence): End {
  return {
    to: "failed",
    errorDetail: `the gateway ended while this request was being executed; whether the agent took it is unknown; ${settled.proof}`,
    result: unknownOutcome([...request.evidence, settled]),
    evidence: [settled],
  };
}

/** `result_json` of a request with an unknown outcome. */
export function unknownOutcome(evidence: readonly Evidence[]): Record<string, unknown> {
  return { outcome: "unknown", seen: evidence.map((one) => one.step) };
}

/**
 * The public record of a stored request, with the length of the prompt instead of its text. An accepted
 * request has the reason for which it waits: the oldest one `waiting`, the others the request before them.
 */
export function toRecord(
  stored: StoredRequest,
  queue: { head: StoredRequest | null; waiting: Waiting | null },
): RequestRecord {
  const prompt = stored.payload["prompt"];
  const turnId = stored.payload["turn_id"] ?? stored.result?.["turn_id"];
  const submitter = submitterOf(stored);
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
    ...(submitter ? { submitted_by: submitter } : {}),
    ...(waits ? { waiting: waits } : {}),
    evidence: stored.evidence,
    ...(stored.idempotencyKey === null ? {} : { idempotency_key: stored.idempotencyKey }),
    number: stored.seq,
  };
}

/** The agent that submitted the request, as its program reported it; null for a person. Pure. */
export function submitterOf({ payload }: StoredRequest): Submitter | null {
  const submitter = payload["submitted_by"];
  return Value.Check(Submitter, submitter) ? submitter : null;
}

/** Text and options of a stored prompt; empty when the text was lost. Pure. */
export function toPromptFields({ payload }: StoredRequest): Pick<RequestRecord, "prompt" | "options"> {
  const { prompt, turn_id: _, submitted_by: __, ...options } = payload;
  return typeof prompt === "string" ? { prompt, options } : {};
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

/** Whether the agent took the prompt and no evidence shows the end of its turn. Pure. */
export function hasOpenTurn({ kind, state, evidence }: StoredRequest): boolean {
  if (kind === "interrupt" || evidence.some(({ step }) => step === "turn_ended")) return false;
  const isTaken = evidence.some(({ step }) => step === "submitted" || step === "turn_started");
  return state === "running" || (state === "completed" && isTaken);
}

/** The evidence for the end of a turn whose agent ended first. Pure. */
export function turnLost({ how, atUtc }: { how: string; atUtc: string }): Evidence {
  const proof = `the agent ended before its turn did: ${how}`;
  return { step: "turn_ended", at_utc: atUtc, proof, agent_ended: true };
}

/** The row of a request. Pure. */
export function toRow(request: GatewayRequest): Pick<StoredRequest, "kind" | "lane" | "payload"> {
  if (request.kind === "interrupt") return { kind: request.kind, lane: "interrupt", payload: {} };
  const { kind, payload, submitted_by } = request;
  const stored = submitted_by === undefined ? payload : { ...payload, submitted_by };
  return { kind, lane: payload.delivery ?? "turn_boundary", payload: stored };
}

/**
 * The answer to the caller of a stored request. `depth`: requests accepted or running, with this one. Pure.
 */
export function toAccepted(
  request: GatewayRequest,
  stored: { request_id: string; accepted_at_utc: string; epoch: number },
  depth: number,
): AcceptedRequest {
  return {
    request_id: stored.request_id,
    request_kind: request.kind,
    state: "accepted",
    accepted_at_utc: stored.accepted_at_utc,
    queue_depth: depth,
    managed_agent_instance_epoch: stored.epoch,
  };
}

/** The submission of a stored prompt, whose payload was checked at its acceptance. Pure. */
export function toSubmission(request: StoredRequest): Omit<Submission, "onEvidence"> {
  const { prompt, turn_id: turnId, chat_session: chatSession, execution } = request.payload;
  return {
    prompt: String(prompt),
    policy: policyOf(request),
    requestId: request.requestId,
    ...(typeof turnId === "string" ? { turnId } : {}),
    ...(Value.Check(ChatSession, chatSession) ? { chatSession } : {}),
    ...(Value.Check(Execution, execution) ? { execution } : {}),
  };
}
