import type {
  AgentAvailability,
  AgentHistoryEntry,
  AgentState,
  HeadlessDetail,
  TerminalDetail,
} from "../../protocol/agents.ts";
import type { GatewayStatus } from "../../protocol/gateway.ts";
import type { TerminalState, Transition } from "../../protocol/terminal.ts";
import type { HeadlessChatSession, TurnStatusRecord } from "../../protocol/turns.ts";

/** The whole state of a terminal agent (contract 2.9). Pure. */
export function toTerminalDetail(state: AgentState, terminal: TerminalState): TerminalDetail {
  const route = `/svc/agents/${encodeURIComponent(state.tracked_agent_id)}`;
  return {
    transport: "tui",
    terminal_id: terminal.terminal_id,
    canonical_terminal_state_route: `${route}/state`,
    canonical_terminal_history_route: `${route}/history`,
    diagnostics: terminal.diagnostics,
    probe_snapshot: terminal.probe_snapshot,
    parsed_surface: terminal.parsed_surface,
    surface: terminal.surface,
    stability: terminal.stability,
  };
}

export interface HeadlessFacts {
  state: AgentState;
  turns: { active: TurnStatusRecord | null; last: TurnStatusRecord | null };
  /** Of the live gateway, or null. */
  status: GatewayStatus | null;
  chat: HeadlessChatSession | null;
  /** When the interruption of a turn was asked for, or null. */
  interruptedAt: (turnId: string) => string | null;
}

/** The whole state of a headless agent (contract 2.9). Pure but for `interruptedAt`. */
export function toHeadlessDetail(facts: HeadlessFacts): HeadlessDetail {
  const { state, status, turns } = facts;
  const { active, last } = turns;
  const available = state.availability === "available";
  const admits =
    status === null || (status.request_admission === "open" && status.active_execution === "idle");
  return {
    transport: "headless",
    runtime_resumable: available,
    tmux_session_live: state.identity.liveness === "alive",
    can_accept_prompt_now: available && !active && admits,
    interruptible: active !== null,
    chat_session: facts.chat,
    turn: state.turn,
    last_turn: state.last_turn,
    active_turn_started_at_utc: active?.started_at_utc ?? null,
    active_turn_interrupt_requested_at_utc: active && facts.interruptedAt(active.turn_id),
    last_turn_status: last?.status ?? "unknown",
    last_turn_started_at_utc: last?.started_at_utc ?? null,
    last_turn_completed_at_utc: last?.completed_at_utc ?? null,
    last_turn_completion_source: last?.completion_source ?? null,
    last_turn_returncode: last?.returncode ?? null,
    last_turn_history_summary: last?.history_summary ?? null,
    last_turn_error: last?.error ?? null,
    mailbox: state.mailbox,
    gateway: state.gateway,
    diagnostics: state.diagnostics,
  };
}

/** The transitions that the record of a terminal holds, newest first. Pure. */
export function toTerminalHistory(terminal: TerminalState | null, limit: number): AgentHistoryEntry[] {
  return (terminal?.recent_transitions ?? [])
    .toReversed()
    .slice(0, limit)
    .map((transition) => ({
      recorded_at_utc: transition.recorded_at_utc,
      summary: transition.summary,
      availability: availabilityOf(transition),
      turn_phase: transition.turn_phase,
      last_turn_result: transition.last_turn_result,
      turn_id: null,
    }));
}

function availabilityOf({ diagnostics_availability: seen }: Transition): AgentAvailability {
  if (seen === "error") return "error";
  return seen === "unavailable" || seen === "tui_down" ? "unavailable" : "available";
}

/** Durable turns as coarse steps; `turns`: newest first. Pure. */
export function toHeadlessHistory(turns: readonly TurnStatusRecord[]): AgentHistoryEntry[] {
  return turns.map((turn) => ({
    recorded_at_utc: turn.completed_at_utc ?? turn.started_at_utc,
    summary: turn.history_summary ?? turn.error ?? `turn ${turn.turn_index} ${turn.status}`,
    availability: "available",
    turn_phase: turn.status === "active" ? "active" : "ready",
    last_turn_result: resultOf(turn.status),
    turn_id: turn.turn_id,
  }));
}

function resultOf(status: TurnStatusRecord["status"]): AgentHistoryEntry["last_turn_result"] {
  switch (status) {
    case "completed":
      return "success";
    case "failed":
      return "known_failure";
    case "interrupted":
      return "interrupted";
    case "active":
      return "none";
    case "unknown":
      return "unknown";
  }
}
