import type {
  AdmissionPolicy,
  PromptControlRequest,
  PromptControlResult,
  PromptRefusal,
  PromptRefusalCode,
} from "../../protocol/gateway.ts";
import type { Agent } from "../agent/agent.ts";
import { backendFacts } from "../agent/backends.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import type { Queue } from "../queue/queue.ts";
import type { StatusBoard } from "../status/status-board.ts";
import { decidePromptControl } from "./decide.ts";

/** Direct prompts: sent now or refused with the reason, never queued. Source: contract 4.2. */
export interface PromptControl {
  /** Resolves with success only after the agent was seen to take the prompt. Never rejects for a refusal. */
  submit(request: PromptControlRequest): Promise<PromptControlResult | PromptRefusal>;
}

export function createPromptControl(deps: {
  agent: Agent;
  queue: Pick<Queue, "depth" | "running">;
  board: Pick<StatusBoard, "reconciliationRequired">;
  events: EventLog;
  log: Log;
}): PromptControl {
  const { agent, queue, board, events, log } = deps;

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
        running: queue.running(),
        queueDepth: queue.depth(),
      });
      if (decision.decision === "refuse") return refuse(policy, decision.code, decision.detail);
      const outcome = await agent.submit({
        prompt: request.prompt,
        policy: decision.policy,
        newChat: decision.newChat,
        begin: () => {},
        onEvidence: (evidence) => events.append("control_prompt_evidence", { ...evidence }),
      });
      switch (outcome.outcome) {
        case "refused":
          return refuse(policy, outcome.refusal.code, outcome.refusal.detail);
        case "failed":
          log.line("direct prompt failed", { detail: outcome.detail });
          return refuse(policy, "dispatch_failed", outcome.detail);
        case "submitted":
          events.append("control_prompt_submitted", { admission_policy: policy, ...tracked() });
          return {
            status: "ok",
            action: "submit_prompt",
            sent: true,
            admission_policy: policy,
            detail: "the agent took the prompt",
          };
      }
    },
  };
}
