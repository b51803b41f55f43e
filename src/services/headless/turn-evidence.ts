import type { Evidence } from "../../protocol/gateway.ts";
import type { TurnProcess, TurnResult } from "../../protocol/turn-files.ts";
import type { TurnEvent } from "../../protocol/turns.ts";

/** What proves the steps of a turn, worded alike whether we saw them happen or read of them afterwards. */
export const turnProofs = {
  submitted: (process: Pick<TurnProcess, "child_pid">) =>
    `the tool was started as process ${process.child_pid}`,
  turn_started: (first: Pick<TurnEvent, "kind">) => `the tool wrote its first event: ${first.kind}`,
  turn_ended: (result: Pick<TurnResult, "status" | "completion_source">) =>
    `${result.status}, decided by ${result.completion_source}`,
};

/** Pure. The steps that the files of an ended turn prove, in order, each at the time they give. */
export function evidenceOfEnded(turn: {
  process: TurnProcess | null;
  firstEvent: TurnEvent | null;
  result: TurnResult;
}): Evidence[] {
  const { process, firstEvent: first, result } = turn;
  const steps: Evidence[] = [];
  if (process?.child_pid != null) {
    steps.push({ step: "submitted", at_utc: process.launched_at_utc, proof: turnProofs.submitted(process) });
  }
  if (first) {
    steps.push({ step: "turn_started", at_utc: first.timestamp_utc, proof: turnProofs.turn_started(first) });
  }
  steps.push({ step: "turn_ended", at_utc: result.completed_at_utc, proof: turnProofs.turn_ended(result) });
  return steps;
}
