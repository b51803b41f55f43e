import { type Evidence, type RequestRecord, wasInterrupted } from "../../protocol/gateway.ts";
import { words } from "./format.ts";
import { factsInWords } from "./readiness.ts";

/** The way of one request from acceptance to the end of its turn. Pure. */

const steps = ["accepted", "typed", "submitted", "turn_started", "turn_ended"] as const;

const names: Record<Evidence["step"], string> = {
  accepted: "accepted",
  typed: "typed",
  submitted: "submitted",
  turn_started: "started",
  turn_ended: "ended",
  settled: "settled",
};

interface Rung {
  name: string;
  /** `next` is the one that the request waits for now. */
  status: "done" | "next" | "open" | "failed" | "passed";
  atUtc: string | null;
  proof: string | null;
}

/**
 * Every step with the time and proof of what was seen. A request that ended without a step passed it; one
 * that failed names its failure at the first step without evidence. `turnRuns`: its turn may still run, since
 * it is the newest one and the agent works.
 */
export function toLadder(request: RequestRecord, { turnRuns = false } = {}): Rung[] {
  if (request.request_kind === "interrupt") return interruptLadder(request);
  const ended = request.state !== "accepted" && request.state !== "running";
  const failed = request.state === "failed" && !wasInterrupted(request);
  let pending = true;
  const rungs = steps.map((step): Rung => {
    const seen = request.evidence.find((one) => one.step === step);
    if (seen) return { name: names[step], status: "done", atUtc: seen.at_utc, proof: seen.proof };
    if (step === "accepted")
      return {
        name: names[step],
        status: "done",
        atUtc: request.accepted_at_utc,
        proof: "stored in the queue",
      };
    const first = pending;
    pending = false;
    if (failed && first)
      return {
        name: names[step],
        status: "failed",
        atUtc: request.finished_at_utc,
        proof: request.error_detail,
      };
    const runs = turnRuns && step === "turn_ended" && first;
    if (ended && !runs) return { name: names[step], status: "passed", atUtc: null, proof: null };
    return {
      name: names[step],
      status: first ? "next" : "open",
      atUtc: null,
      proof: first && !runs ? whyNot(request) : null,
    };
  });
  const settled = request.evidence.filter(({ step }) => step === "settled");
  return [
    ...rungs,
    ...settled.map(
      (one): Rung => ({ name: names.settled, status: "done", atUtc: one.at_utc, proof: one.proof }),
    ),
  ];
}

/** Nothing is typed for an interrupt and no turn begins. */
function interruptLadder(request: RequestRecord): Rung[] {
  const { state, accepted_at_utc, finished_at_utc, error_detail, result_json } = request;
  const accepted = request.evidence.find(({ step }) => step === "accepted");
  const detail = error_detail ?? result_json?.["detail"];
  const over = { completed: "done", failed: "failed" } as const;
  return [
    {
      name: names.accepted,
      status: "done",
      atUtc: accepted_at_utc,
      proof: accepted?.proof ?? "stored in the queue",
    },
    {
      name: "carried out",
      status: state === "completed" || state === "failed" ? over[state] : "next",
      atUtc: finished_at_utc,
      proof: typeof detail === "string" ? detail : whyNot(request),
    },
  ];
}

const whyNot = ({ waiting }: RequestRecord): string | null =>
  waiting ? `${words(waiting.reason)}: ${factsInWords(waiting.detail)}` : null;
