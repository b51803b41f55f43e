import type { GatewayStatus } from "../../protocol/gateway.ts";
import type { HeadlessState } from "../../protocol/turns.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Agent, AgentTurns } from "../agent/agent.ts";
/**
 * What a headless agent can be asked beside prompts. Throws ServiceError: `unsupported` for a terminal agent,
 * `unavailable` when its manifest cannot be read. Source: contract 2.4, 4.1; spec/gateway.md 2.4.
 */
export interface HeadlessControl {
  state(): HeadlessState;
  /** The next direct prompt that leaves its conversation open begins a new one. */
  beginNewNext(): HeadlessState;
  turns(): AgentTurns;
}

export function createHeadlessControl(deps: {
  agent: Pick<Agent, "turns" | "backend">;
  status: () => GatewayStatus;
}): HeadlessControl {
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
    beginNewNext() {
      turns().overrideNextPrompt();
      return state();
    },
  };
}
