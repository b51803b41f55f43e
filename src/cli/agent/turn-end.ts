import type { RequestRecord } from "../../protocol/gateway.ts";
import type { Parked } from "../../protocol/terminal.ts";
import type { TranscriptTurn } from "../../protocol/transcript.ts";
import type { GatewayCalls } from "../../services/fleet/gateway-client.ts";
import { visibleLine } from "../../system/visible.ts";

/** A turn that ended without the whole answer. */
export interface BadEnd {
  result: "failed" | "interrupted" | "limit";
  /** `result`, and why where it is known. */
  detail: string;
}

/** The usage limit that the agent's terminal shows now; null for none and for an agent without a terminal. */
export async function readLimit(client: GatewayCalls): Promise<Parked | null> {
  const response = await client.call("terminalState", {});
  return response.kind === "ok" ? (response.body.parked ?? null) : null;
}

/**
 * Why a prompt whose turn has ended did not succeed; null when it did, and when nothing says how the turn
 * went. The tool's record has the last word: a screen may show an error that the turn survived. `limit`: as
 * the turn ended. Pure.
 */
export function badEndOf(
  { evidence }: Pick<RequestRecord, "evidence">,
  turn: Pick<TranscriptTurn, "status" | "error"> | null,
  limit: Parked | null,
): BadEnd | null {
  if (turn?.status === "completed") return null;
  if (limit !== null) return { result: "limit", detail: `limit: ${visibleLine(limit.notice)}` };
  const proof = evidence.findLast(({ step }) => step === "turn_ended")?.proof ?? "";
  if (turn?.status === "failed" || (turn?.status !== "interrupted" && proof.endsWith(": known_failure"))) {
    const why = turn?.error ? `: ${visibleLine(turn.error)}` : "";
    return { result: "failed", detail: `failed${why}` };
  }
  const interrupted = turn?.status === "interrupted" || proof.endsWith(": interrupted");
  return interrupted ? { result: "interrupted", detail: "interrupted" } : null;
}
