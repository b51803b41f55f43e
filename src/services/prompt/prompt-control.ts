import type {
  AdmissionPolicy,
  PromptControlRequest,
  PromptControlResult,
  PromptRefusal,
  PromptRefusalCode,
} from "../../protocol/gateway.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import type { Agent, RunningTurn } from "../agent/agent.ts";
import { backendFacts } from "../agent/backends.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import type { Queue } from "../queue/queue.ts";
import type { ExecutionSlot } from "../queue/slot.ts";
import type { StatusBoard } from "../status/status-board.ts";
import { decidePromptControl, type HeadlessFacts } from "./decide.ts";
/** Direct prompts: sent now or refused with the reason, never queued. Source: contract 4.2. */
export interface PromptControl {
  /** Resolves with success only after the agent was seen to take the prompt. Never rejects for a refusal. */
  submit(request: PromptControlRequest): Promise<PromptControlResult | PromptRefusal>;
}

export function createPromptControl(deps: {
  agent: Agent;
  queue: Pick<Queue, "depth">;
  slot: Pick<ExecutionSlot, "refusal">;
  board: Pick<StatusBoard, "reconciliationRequired">;
  events: EventLog;
  log: Log;
  clock: Clock;
}): PromptControl {
  const { agent, queue, slot, board, events, log } = deps;

  function tracked() {
    const state = agent.terminalState();
    return {
      tracked_turn_phase: state?.turn.phase ?? null,
      tracked_accepting_input: state?.surface.accepting_input ?? null,
      tracked_editing_input: state?.surface.editing_input ?? null,
      tracked_ready_posture: state?.surface.ready_posture ?? null,
      tracked_pending_input: state?.surface.pending_input ?? null,
      tracked_stable: state?.stability.stable ?? null,
    };
  }

  function refuse(policy: AdmissionPolicy, code: PromptRefusalCode, detail: string): PromptRefusal {
    events.append("control_prompt_refused", {
      admission_policy: policy,
      error_code: code,
      detail,
      ...tracked(),
    });
    return {
      status: "error",
      action: "submit_prompt",
      sent: false,
      admission_policy: policy,
      error_code: code,
      detail,
    };
  }

  function headlessFacts(request: PromptControlRequest): HeadlessFacts {
    const { turns } = agent;
    return {
      activeTurn: turns?.active()?.turnId ?? null,
      currentPinned: turns?.chatSession().current != null,
      executionProblem: turns?.refuseExecution(request.execution) ?? null,
    };
  }

  async function tellEnd({ turnId, ended }: RunningTurn): Promise<void> {
    const { status, detail } = await ended;
    const kind = status === "completed" ? "control_prompt_completed" : "control_prompt_failed";
    const finished_at_utc = timestampNow(deps.clock);
    const error = status === "completed" ? {} : { error_detail: detail ?? `the turn was ${status}` };
    events.append(kind, { turn_id: turnId, finished_at_utc, ...error });
  }

  return {
    async submit(request) {
      const policy = request.admission_policy ?? "ready_only";
      const presence = agent.presence();
      const decision = decidePromptControl({
        request,
        policy,
        supported: backendFacts(agent.backend).directPrompt,
        reconciliationRequired: board.reconciliationRequired(),
        connected: presence.connected,
        tracked: agent.tracked,
        presenceDetail: presence.detail,
        running: slot.refusal("direct_prompt") !== null,
        queueDepth: queue.depth(),
        headless: backendFacts(agent.backend).headless ? headlessFacts(request) : null,
      });
      if (decision.decision === "refuse") return refuse(policy, decision.code, decision.detail);
      const outcome = await agent.submit({
        prompt: request.prompt,
        policy: decision.policy,
        newChat: decision.newChat,
        ...(request.chat_session ? { chatSession: request.chat_session } : {}),
        ...(request.execution ? { execution: request.execution } : {}),
        begin: () => {},
        onEvidence: (evidence) => events.append("control_prompt_evidence", { ...evidence }),
      });
      switch (outcome.outcome) {
        case "refused":
          return refuse(policy, outcome.refusal.code, outcome.refusal.detail);
        case "failed":
          log.line("direct prompt failed", { detail: outcome.detail });
          return refuse(policy, "dispatch_failed", outcome.detail);
        case "submitted": {
          const turn = outcome.turn && { turn_id: outcome.turn.turnId };
          events.append("control_prompt_submitted", { admission_policy: policy, ...tracked(), ...turn });
          if (outcome.turn) void tellEnd(outcome.turn);
          return {
            status: "ok",
            action: "submit_prompt",
            sent: true,
            admission_policy: policy,
            detail: outcome.turn ? "the turn was begun" : "the agent took the prompt",
            ...(outcome.turn ? { ...turn, turn_index: outcome.turn.turnIndex } : {}),
          };
        }
      }
    },
  };
}
