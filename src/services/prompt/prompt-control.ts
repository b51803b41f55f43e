import type {
  AdmissionPolicy,
  GatewayStatus,
  PromptControlRequest,
  PromptControlResult,
  PromptRefusal,
  PromptRefusalCode,
  SendKeysRequest,
  SendKeysResult,
} from "../../protocol/gateway.ts";
import type { HeadlessState } from "../../protocol/turns.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import {
  type Agent,
  type AgentTurns,
  isTracked,
  type RunningTurn,
  submitAtOnce,
  terminalOf,
} from "../agent/agent.ts";
import { backendFacts } from "../agent/backends.ts";
import { previewKeys } from "../agent/key-sequence.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { type DirectTurnFacts, decideDirectPrompt } from "../queue/eligibility.ts";
import type { Queue } from "../queue/queue.ts";
import type { ExecutionSlot } from "../queue/slot.ts";
import type { StatusBoard } from "../status/status-board.ts";

/** Direct prompts: typed at once or refused with a reason, never queued. Source: contract 4.2. */
export type PromptControl = ReturnType<typeof createPromptControl>;

export function createPromptControl(deps: {
  agent: Agent;
  queue: Pick<Queue, "depth">;
  slot: Pick<ExecutionSlot, "refusal">;
  board: Pick<StatusBoard, "reconciliationRequired">;
  events: EventLog;
  log: Log;
  clock: Clock;
}) {
  const { agent, queue, slot, board, events, log } = deps;

  function trackedFields() {
    const state = agent.terminal?.state();
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
      ...trackedFields(),
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

  function headlessFacts(request: PromptControlRequest): DirectTurnFacts {
    const { turns } = agent;
    return {
      activeTurn: turns?.active()?.turnId ?? null,
      currentPinned: turns?.chatSession().current != null,
      executionProblem: turns?.refuseExecution(request.execution) ?? null,
    };
  }

  async function recordEnd({ turnId, ended }: RunningTurn): Promise<void> {
    const { status, detail } = await ended;
    const kind = status === "completed" ? "control_prompt_completed" : "control_prompt_failed";
    const finished_at_utc = timestampNow(deps.clock);
    const error = status === "completed" ? {} : { error_detail: detail ?? `the turn was ${status}` };
    events.append(kind, { turn_id: turnId, finished_at_utc, ...error });
  }

  return {
    /** Resolves with success only after proof that the agent took the prompt. Never rejects for a refusal. */
    async submit(request: PromptControlRequest): Promise<PromptControlResult | PromptRefusal> {
      const policy = request.admission_policy ?? "ready_only";
      const connectivity = agent.connectivity();
      const decision = decideDirectPrompt({
        request,
        policy,
        supported: backendFacts(agent.backend).directPrompt,
        reconciliationRequired: board.reconciliationRequired(),
        connected: connectivity.connected,
        tracked: isTracked(agent),
        connectivityDetail: connectivity.detail,
        running: slot.refusal("direct_prompt") !== null,
        queueDepth: queue.depth(),
        headless: backendFacts(agent.backend).headless ? headlessFacts(request) : null,
      });
      if (decision.decision === "refuse") return refuse(policy, decision.code, decision.detail);
      const outcome = await submitAtOnce(agent, {
        prompt: request.prompt,
        policy: decision.policy,
        newChat: decision.newChat,
        ...(request.chat_session ? { chatSession: request.chat_session } : {}),
        ...(request.execution ? { execution: request.execution } : {}),
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
          events.append("control_prompt_submitted", {
            admission_policy: policy,
            ...trackedFields(),
            ...turn,
          });
          if (outcome.turn) void recordEnd(outcome.turn);
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

/**
 * Turns and control state of a headless agent. Throws ServiceError: `unsupported` for a terminal agent,
 * `unavailable` when its manifest cannot be read. Source: contract 2.4, 4.1; spec/gateway.md 2.4.
 */
export type HeadlessControl = ReturnType<typeof createHeadlessControl>;

export function createHeadlessControl(deps: {
  agent: Pick<Agent, "turns" | "backend">;
  status: () => GatewayStatus;
}) {
  function turns(): AgentTurns {
    if (deps.agent.turns) return deps.agent.turns;
    throw new ServiceError("unsupported", `an agent of the backend ${deps.agent.backend} is not headless`);
  }

  function state(): HeadlessState {
    const active = turns().active();
    const chat_session = turns().chatSession();
    const { managed_agent_connectivity, request_admission, active_execution, queue_depth } = deps.status();
    const connected = managed_agent_connectivity === "connected";
    const idle = active_execution === "idle" && active === null;
    return {
      schema_version: 1,
      runtime_resumable: connected,
      tmux_session_live: connected,
      can_accept_prompt_now: connected && request_admission === "open" && idle,
      interruptible: active !== null,
      chat_session,
      request_admission,
      active_execution,
      queue_depth,
      ...(active ? { active_turn_id: active.turnId } : {}),
    };
  }

  return {
    turns,
    state,
    /** Makes the next direct prompt without a chat session begin a new conversation. */
    startNewConversationNext(): HeadlessState {
      turns().overrideNextPrompt();
      return state();
    },
  };
}

/**
 * Raw keys, outside the queue, without a prompt note and without a check of readiness. Throws ServiceError:
 * `blocked_reconciliation`, `unavailable`, `unsupported` for a backend without keys, `invalid_request` for a
 * bad token (no key is sent then), `dispatch_failed`. Source: contract 4.1, 4.3; spec/gateway.md 4.3.
 */
export type KeyControl = ReturnType<typeof createKeyControl>;

export function createKeyControl(deps: {
  agent: Agent;
  board: Pick<StatusBoard, "reconciliationRequired">;
  events: EventLog;
  clock: Clock;
}) {
  const { agent, board, events, clock } = deps;
  return {
    async send(request: SendKeysRequest): Promise<SendKeysResult> {
      if (board.reconciliationRequired()) {
        throw new ServiceError("blocked_reconciliation", "the agent is a new instance; reconcile first");
      }
      const connectivity = agent.connectivity();
      if (!connectivity.connected) throw new ServiceError("unavailable", connectivity.detail);
      if (!backendFacts(agent.backend).exactKeys) {
        throw new ServiceError("unsupported", `keys do not arrive exactly at a ${agent.backend} session`);
      }
      const literal = request.escape_special_keys ?? false;
      await terminalOf(agent).keys({ sequence: request.sequence, literal });
      events.append("control_input", {
        escape_special_keys: literal,
        sequence_preview: previewKeys(request.sequence, literal),
        submitted_at_utc: timestampNow(clock),
      });
      return { status: "ok", action: "control_input", detail: "sent" };
    },
  };
}
