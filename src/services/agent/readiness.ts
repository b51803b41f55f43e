import { agentQuestion, type TerminalState, type WaitFor } from "../../protocol/terminal.ts";
import { describeParked, describeSuspended, failingFacts } from "../terminal/readiness.ts";
import type { Connectivity, Readiness, Refusal, SubmitPolicy } from "./agent.ts";
import { closedMode } from "./terminal-view.ts";
/**
 * Whether a terminal in `state` may get a prompt under `policy`. `tracked`: the tool's screen can be read;
 * otherwise only its process counts. No policy types into a dead pane or a shell. Only `always` and
 * `if_no_pending` type into a menu, a draft, a running turn or a usage limit. Source: contract 4.2; rulings
 * 6, 7; spec/terminal.md 3.
 */
export function judgeReadiness(state: TerminalState, policy: SubmitPolicy, tracked: boolean): Readiness {
  const absent = refuseAbsent(state, tracked);
  if (absent) return absent;
  if (policy === "always" || !tracked) return { ready: true };
  if (policy !== "if_no_pending" && state.awaiting_decision) {
    const { kind, question, opened_by } = state.awaiting_decision;
    if (opened_by === "person") {
      return refuse("not_ready", `a list that somebody opened is on the screen: ${question.slice(0, 200)}`);
    }
    return refuse("awaiting_decision", `a person must decide (${kind}): ${question.slice(0, 200)}`);
  }
  if (policy === "composer") return judgeComposer(state);
  if (policy === "turn_boundary") {
    const failing = failingFacts(state);
    if (failing.length > 0) return refuse("not_ready", failing.join(", "));
  }
  return judgePending(state);
}

/** Why no text may be typed at all; null when it may. */
function refuseAbsent(state: TerminalState, tracked: boolean): Refusal | null {
  const { transport_state, process_state } = state.diagnostics;
  if (transport_state !== "tmux_up") {
    return refuse(
      "tracking_unavailable",
      `the agent's terminal cannot be read: transport_state=${transport_state}`,
    );
  }
  if (process_state === "tui_up" || (!tracked && process_state === "unsupported_tool")) return null;
  if (process_state === "probe_error") {
    return refuse(
      "tracking_unavailable",
      "whether the agent's program runs cannot be seen just now; try again",
    );
  }
  return refuse(
    "unavailable",
    `the agent's program does not run in its pane: process_state=${process_state}`,
  );
}

function judgeComposer(state: TerminalState): Readiness {
  if (state.parked) return refuse("not_ready", describeParked(state.parked));
  const { accepting_input, editing_input } = state.surface;
  if (accepting_input === "yes" && editing_input === "no") return { ready: true };
  return refuse("not_ready", `accepting_input=${accepting_input}, editing_input=${editing_input}`);
}

/**
 * Why no policy may submit a prompt: the tool is suspended, or the composer is in a mode in which text is not
 * a prompt. Null otherwise.
 */
export function refuseMode(state: TerminalState): Refusal | null {
  const suspended = describeSuspended(state);
  if (suspended !== null) return refuse("not_ready", suspended);
  const mode = closedMode(state);
  return mode === null
    ? null
    : refuse("not_ready", `the composer is in ${mode} mode, where a prompt would not be one`);
}

function judgePending(state: TerminalState): Readiness {
  switch (state.surface.pending_input) {
    case "no":
      return { ready: true };
    case "yes":
      return refuse("pending_input", "the tool already holds submitted input behind its current turn");
    case "unknown":
      return refuse("pending_input_unknown", "whether the tool holds submitted input cannot be seen");
  }
}

function refuse(code: Refusal["code"], detail: string): Refusal {
  return { ready: false, code, detail };
}

/** Whether a tracked terminal is in the awaited state. Pure. */
export function isInState(state: TerminalState, wanted: WaitFor): boolean {
  switch (wanted) {
    case "ready":
      return judgeReadiness(state, "turn_boundary", true).ready;
    case "busy":
      return state.turn.phase === "active";
    case "decision":
      return isQuestionPainted(state);
  }
}

/**
 * Whether the agent asks a question that is completely painted. The title may show a question before its
 * rows. A question without options counts once the screen is stable.
 */
function isQuestionPainted({ awaiting_decision, stability }: TerminalState): boolean {
  const asked = agentQuestion(awaiting_decision);
  return asked !== null && (asked.options.length > 0 || stability.stable);
}

/** The agent's connectivity by the state of its terminal. `tracked` as in `judgeReadiness`. Pure. */
export function toConnectivity(
  state: TerminalState,
  instanceId: string | null,
  tracked: boolean,
): Connectivity {
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
