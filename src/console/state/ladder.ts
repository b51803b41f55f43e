import type { Evidence, RequestRecord } from "../../protocol/gateway.ts";
import { words } from "./format.ts";

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

export interface Rung {
  name: string;
  /** `next` is the one that the request waits for now. */
  status: "done" | "next" | "open" | "failed" | "passed";
  atUtc: string | null;
  proof: string | null;
}

/**
 * Every step with the time and proof of what was seen. A request that ended without a step passed it; one that failed
 * names its failure at the first step without evidence.
 */
export function toLadder(request: RequestRecord): Rung[] {
  const ended = request.state !== "accepted" && request.state !== "running";
  const failed = request.state === "failed";
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
    if (ended) return { name: names[step], status: "passed", atUtc: null, proof: null };
    return {
      name: names[step],
      status: first ? "next" : "open",
      atUtc: null,
      proof: first ? whyNot(request) : null,
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

const whyNot = ({ waiting }: RequestRecord): string | null =>
  waiting ? `${words(waiting.reason)}: ${waiting.detail}` : null;
