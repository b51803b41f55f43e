import { type Static, Type } from "@sinclair/typebox";
import { LifecycleState } from "./files.ts";
import {
  ActiveExecution,
  AgentConnectivity,
  AgentRecovery,
  GatewayHealth,
  PublicRequestKind,
  RequestAdmission,
} from "./gateway.ts";
import { AwaitingDecision, TurnPhase } from "./terminal.ts";
import { Nullable, Strict, Timestamp, Words } from "./wire.ts";

/** One agent as seen from outside. Source: contract 2.9; spec/coordination.md "2.9 Shapes". */

/** For a terminal agent `tracked_agent_id` is its agent id and `terminal_id` its runtime session id. */
export const AgentIdentity = Strict({
  tracked_agent_id: Type.String(),
  transport: Words(["tui", "headless"]),
  tool: Type.String(),
  session_name: Nullable(Type.String()),
  terminal_id: Nullable(Type.String()),
  runtime_session_id: Nullable(Type.String()),
  tmux_session_name: Nullable(Type.String()),
  tmux_window_name: Nullable(Type.String()),
  manifest_path: Nullable(Type.String()),
  session_root: Nullable(Type.String()),
  agent_name: Nullable(Type.String()),
  agent_id: Nullable(Type.String()),
  lifecycle_state: Nullable(LifecycleState),
  backend: Type.String(),
  generation_id: Type.String(),
  has_gateway: Type.Boolean({ description: "a healthy gateway answers" }),
  has_mailbox: Type.Boolean(),
});
export type AgentIdentity = Static<typeof AgentIdentity>;

export const AgentAvailability = Words(["available", "unavailable", "error"]);
export type AgentAvailability = Static<typeof AgentAvailability>;

export const AgentDiagnostic = Strict({
  kind: Type.String(),
  message: Type.String(),
  details: Type.Record(Type.String(), Type.String()),
});
export type AgentDiagnostic = Static<typeof AgentDiagnostic>;

/** The redacted status of the agent's gateway. */
export const AgentGateway = Strict({
  gateway_health: GatewayHealth,
  managed_agent_connectivity: AgentConnectivity,
  managed_agent_recovery: AgentRecovery,
  request_admission: RequestAdmission,
  active_execution: ActiveExecution,
  queue_depth: Type.Integer(),
  gateway_host: Nullable(Type.String()),
  gateway_port: Nullable(Type.Integer()),
});
export type AgentGateway = Static<typeof AgentGateway>;

export const AgentState = Strict({
  tracked_agent_id: Type.String(),
  identity: AgentIdentity,
  availability: AgentAvailability,
  turn: Strict({ phase: TurnPhase, active_turn_id: Nullable(Type.String()) }),
  last_turn: Strict({
    result: Words(["success", "interrupted", "known_failure", "none", "unknown"]),
    turn_id: Nullable(Type.String()),
    turn_index: Nullable(Type.Integer()),
    updated_at_utc: Nullable(Timestamp),
  }),
  diagnostics: Type.Array(AgentDiagnostic),
  gateway: Nullable(AgentGateway),
  awaiting_decision: Type.Optional(AwaitingDecision),
});
export type AgentState = Static<typeof AgentState>;

/** What the submission of work to an agent is answered with. */
export const AgentSubmission = Strict({
  success: Type.Boolean(),
  tracked_agent_id: Type.String(),
  request_id: Type.String(),
  request_kind: PublicRequestKind,
  disposition: Words(["accepted", "no_op"]),
  detail: Type.String(),
});
export type AgentSubmission = Static<typeof AgentSubmission>;
