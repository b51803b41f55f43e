import type { RequestRecord } from "../../../../protocol/gateway.ts";
import type {
  RecordedDecision,
  RecordedFact,
  RecordedQueue,
  RecordedTerminal,
} from "../../../../protocol/recorder.ts";
import { maxRecordedRequests } from "../../../../protocol/recorder.ts";
import type { TerminalState } from "../../../../protocol/terminal.ts";
import { judgeReadiness } from "../../../agent/readiness.ts";
import { type NextDecision, type NextFacts, refuseSlot } from "../../../queue/eligibility.ts";
import { describeParked, promptReadyFacts } from "../../../terminal/readiness.ts";

/**
 * What is recorded of a state of the terminal: each fact that a queued prompt asks for, and the first that
 * did not hold. `tracked` as in `judgeReadiness`. Pure.
 */
export function toRecordedTerminal(state: TerminalState, tracked: boolean): RecordedTerminal {
  const { diagnostics, surface, awaiting_decision: asked, parked } = state;
  const ready = judgeReadiness(state, "turn_boundary", tracked);
  return {
    availability: diagnostics.availability,
    transport_state: diagnostics.transport_state,
    process_state: diagnostics.process_state,
    parse_status: diagnostics.parse_status,
    surface,
    turn_phase: state.turn.phase,
    last_turn: state.last_turn,
    stable: state.stability.stable,
    question: asked ? asked.question.slice(0, maxText) : null,
    parked: parked ? describeParked(parked).slice(0, maxText) : null,
    active_reasons: state.active_reasons ?? [],
    ready: ready.ready,
    blocking: ready.ready ? null : ready.detail,
    facts: [
      fact("transport_state", diagnostics.transport_state, "tmux_up"),
      fact("process_state", diagnostics.process_state, "tui_up"),
      ...(tracked ? trackedFacts(state) : []),
    ],
  };
}

const maxText = 500;

function trackedFacts(state: TerminalState): RecordedFact[] {
  const { awaiting_decision: asked, surface } = state;
  return [
    fact("awaiting_decision", asked ? asked.kind : "none", "none"),
    ...promptReadyFacts(state).map(({ name, value, wanted }) => fact(name, value, wanted)),
    fact("pending_input", surface.pending_input, "no"),
  ];
}

const fact = (name: string, value: string, wanted: string): RecordedFact => ({
  name,
  value,
  wanted,
  holds: value === wanted,
});

/** What is recorded of a choice of the queue. Pure. */
export function toRecordedDecision(facts: NextFacts, next: NextDecision): RecordedDecision {
  const request = next.do === "rest" ? null : next.do === "wait" ? next.head : next.request;
  return {
    do: next.do,
    request_id: request?.requestId ?? null,
    reason: next.do === "wait" ? next.reason : null,
    detail: next.do === "wait" ? next.detail : next.do === "expire" ? next.errorDetail : null,
    request_admission: facts.admission,
    admission_block: facts.block?.detail ?? null,
    managed_agent_instance_epoch: facts.epoch,
    execution_slot: refuseSlot("request", facts.slot),
    typing: facts.slot.typing !== null,
    heads: facts.heads.map(({ requestId, kind, lane, epoch }) => ({
      request_id: requestId,
      request_kind: kind,
      delivery: lane,
      managed_agent_instance_epoch: epoch,
    })),
  };
}

/** The requests that wait or run, of the newest ones first. Pure. */
export function toRecordedQueue(depth: number, requests: readonly RequestRecord[]): RecordedQueue {
  const open = requests.flatMap(({ request_id, request_kind, state, accepted_at_utc }) =>
    state === "accepted" || state === "running" ? [{ request_id, request_kind, state, accepted_at_utc }] : [],
  );
  return { queue_depth: depth, requests: open.toReversed().slice(0, maxRecordedRequests) };
}
