import { budgetRemedy } from "../../protocol/budget.ts";
import type { GatewayStatus } from "../../protocol/gateway.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { agentQuestion, type TerminalState } from "../../protocol/terminal.ts";
import { isWorking } from "../agent/terminal-view.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { describeSuspended, isHeldByDraft } from "../terminal/readiness.ts";
import { diagnoseServed } from "./diagnose-agent.ts";

/** What keeps an agent from a prompt now, as a sentence without its stop. */
export interface WaitExplanation {
  sentence: string;
  /** Null where waiting is all. */
  remedy: Remedy | null;
}

interface SeenAgent {
  status: GatewayStatus;
  /** Null for an agent without a terminal that is read. */
  terminal: TerminalState | null;
}

/**
 * Why an agent takes no prompt, for people: the first cause in this order. What keeps it from all work, a
 * question, a usage limit, a budget, a person who types by hand, its turn, a draft, a tool that is suspended or
 * holds input already, a screen that says nothing. Pure.
 */
export function explainWait(
  agent: Pick<FoundAgent, "manifest" | "record">,
  { status, terminal }: SeenAgent,
): WaitExplanation {
  const { agent_name } = agent.manifest;
  const diagnosis = diagnoseServed(agent, status);
  if (diagnosis) return { sentence: capital(diagnosis.detail), remedy: diagnosis.remedy };
  const decision = terminal?.awaiting_decision ?? status.awaiting_decision;
  const asked = agentQuestion(decision);
  if (asked) {
    const words = asked.question.trim() || "a question that could not be read";
    return { sentence: `It asks: ${words}`, remedy: { code: "answer_question", agent_name } };
  }
  if (decision) {
    return {
      sentence: "A list that somebody opened is on its screen",
      remedy: { code: "attach_terminal", agent_name },
    };
  }
  if (terminal?.parked) {
    const { until } = terminal.parked;
    const end = until === null ? "and shows no end of it" : `until ${until}`;
    return { sentence: `It is held by a usage limit ${end}`, remedy: null };
  }
  const { budget, typing_lease: lease } = status;
  if (budget?.level === "hold") {
    return { sentence: `A budget holds it: ${budget.detail}`, remedy: budgetRemedy(budget) };
  }
  if (lease) return { sentence: `"${lease.holder}" types into its terminal by hand`, remedy: null };
  const turnRuns = terminal !== null && (terminal.turn.phase === "active" || isWorking(terminal));
  if (turnRuns || status.active_execution === "running") {
    return { sentence: "It works on a turn", remedy: { code: "follow_log", agent_name } };
  }
  if (terminal === null) return explainReady(agent_name, status);
  if (describeSuspended(terminal) !== null) {
    return { sentence: "Its program is suspended", remedy: { code: "attach_terminal", agent_name } };
  }
  if (isHeldByDraft(terminal)) {
    return {
      sentence: "A draft of yours is in its composer",
      remedy: { code: "attach_terminal", agent_name },
    };
  }
  if (terminal.surface.pending_input === "yes") {
    return {
      sentence: "Its program holds a prompt already, which it has not begun",
      remedy: { code: "view_terminal", agent_name },
    };
  }
  if (status.terminal_surface_eligibility === "ready") return explainReady(agent_name, status);
  return {
    sentence: "Its screen does not show that it can take a prompt",
    remedy: { code: "view_terminal", agent_name },
  };
}

function explainReady(agent_name: string, { queue_depth: depth, waiting }: GatewayStatus): WaitExplanation {
  if (depth === 0) {
    return {
      sentence: "Nothing keeps it from a prompt",
      remedy: { code: "prompt_agent", agent_name },
    };
  }
  const why = waiting ? `: ${waiting.detail}` : "";
  return {
    sentence: depth === 1 ? `A prompt is about to begin${why}` : `${depth} prompts wait${why}`,
    remedy: { code: "list_waiting", agent_name },
  };
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
