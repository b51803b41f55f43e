import type { TerminalState, WaitFor } from "../../protocol/terminal.ts";
import type { Presence } from "./agent.ts";
import { judgeReadiness } from "./readiness.ts";

/** Whether a tracked terminal is as a caller waits for it. Pure. */
export function isAsWanted(state: TerminalState, wanted: WaitFor): boolean {
  switch (wanted) {
    case "ready":
      return judgeReadiness(state, "turn_boundary", true).ready;
    case "busy":
      return state.turn.phase === "active";
    case "decision":
      return isWhole(state);
  }
}

/**
 * A question that only the title tells may stand before its rows are painted; without options it is one once the
 * screen rests.
 */
function isWhole({ awaiting_decision: asked, stability }: TerminalState): boolean {
  return asked !== undefined && (asked.options.length > 0 || stability.stable);
}

/** What the terminal's state says of the agent's presence. `tracked` as in `judgeReadiness`. Pure. */
export function toPresence(state: TerminalState, instanceId: string | null, tracked: boolean): Presence {
  const present = judgeReadiness(state, "always", tracked);
  if (!present.ready) {
    return { connected: false, detail: present.detail, instanceId, eligibility: "unknown" };
  }
  const ready = judgeReadiness(state, "turn_boundary", tracked);
  const readable = Object.values(state.surface).some((value) => value !== "unknown");
  return {
    connected: true,
    detail: "connected",
    instanceId,
    eligibility: !tracked || !readable ? "unknown" : ready.ready ? "ready" : "not_ready",
  };
}
