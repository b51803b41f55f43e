import type { Evidence } from "../../protocol/gateway.ts";
import type { TerminalState } from "../../protocol/terminal.ts";

/** How far one submitted prompt has come, judged by the states that followed it. */
export interface TurnWatch {
  /** A turn was seen to run since the prompt was submitted. */
  started: boolean;
  ended: boolean;
}

export interface TurnNews {
  watch: TurnWatch;
  evidence: Omit<Evidence, "at_utc">[];
}

/**
 * What `state` proves about a prompt that was submitted before it. A turn has started when the tool shows that it
 * works; it has ended when the tracker, which holds `active` from the submission on, calls the terminal ready
 * again or records a result. A turn too quick to be seen working starts and ends at once. A program that has ended
 * took its turn with it; a program that cannot be looked at proves nothing. Pure.
 */
export function followTurn(watch: TurnWatch, state: TerminalState): TurnNews {
  if (watch.ended) return { watch, evidence: [] };
  if (state.diagnostics.process_state === "tui_down") {
    const proof = "the agent's program has ended";
    return { watch: { ...watch, ended: true }, evidence: [{ step: "turn_ended", proof, agent_ended: true }] };
  }
  const evidence: TurnNews["evidence"] = [];
  const reasons = state.active_reasons ?? [];
  let { started } = watch;
  if (!started && reasons.length > 0) {
    started = true;
    evidence.push({ step: "turn_started", proof: `the screen shows work: ${reasons.join(", ")}` });
  }
  const ended = state.turn.phase === "ready";
  if (ended) {
    const byTool = state.stability.witness === "tool";
    const began = byTool ? "the tool reported its end" : "the transcript changed";
    if (!started) evidence.push({ step: "turn_started", proof: began });
    // How the turn went is settled only when the screen has been still for a while, or the tool reported it.
    const { result } = state.last_turn;
    const ready = byTool ? "the tool reported its end and is ready again" : "ready again";
    evidence.push({ step: "turn_ended", proof: result === "none" ? ready : `${ready}: ${result}` });
  }
  return { watch: { started: started || ended, ended }, evidence };
}
