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
import {
  AwaitingDecision,
  ParsedSurface,
  ProbeSnapshot,
  Stability,
  Surface,
  TerminalDiagnostics,
  TurnPhase,
} from "./terminal.ts";
import { TurnId } from "./turn-files.ts";
import { HeadlessChatSession, TurnStatus } from "./turns.ts";
import { TokenSum } from "./usage.ts";
import { maxListed, maxPage, Nullable, Strict, StringEnum, shortList, Timestamp } from "./wire.ts";

/** One agent as seen from outside. Source: contract 2.9; spec/coordination.md "2.9 Shapes". */

export const AgentLiveness = StringEnum(["alive", "gone", "unknown"], {
  description:
    "whether the agent's tmux session exists; gone also without its tmux server; unknown: that does not answer",
});
export type AgentLiveness = Static<typeof AgentLiveness>;

/** For a terminal agent `tracked_agent_id` is its agent id and `terminal_id` its runtime session id. */
export const AgentIdentity = Strict({
  tracked_agent_id: Type.String(),
  transport: StringEnum(["tui", "headless"]),
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
  has_gateway: Type.Boolean({
    description: "a healthy gateway answers; in a list: its process lives and says where it listens",
  }),
  has_mailbox: Type.Boolean(),
  published_at: Nullable(
    Type.String({ description: "when the agent's registry record was last published; null: it is stopped" }),
  ),
  lease_expires_at: Nullable(
    Type.String({ description: "until when that record holds; whether the agent lives is in liveness" }),
  ),
  liveness: Type.Optional(AgentLiveness),
  host: Type.Optional(
    Type.String({
      description: "of an agent on another host: its host; `<agent_name>@<host>` names the agent",
    }),
  ),
  host_away_since_utc: Type.Optional(
    Type.String({
      description: "its host has not answered since then; the agent is shown as it was last known",
    }),
  ),
});
export type AgentIdentity = Static<typeof AgentIdentity>;

export const AgentAvailability = StringEnum(["available", "unavailable", "error"]);
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
  tokens: Type.Optional(TokenSum),
});
export type AgentGateway = Static<typeof AgentGateway>;

/** The redacted mailbox of an agent. */
export const AgentMailbox = Strict({
  transport: Type.String(),
  principal_id: Nullable(Type.String()),
  address: Nullable(Type.String()),
});

export const AgentState = Strict({
  tracked_agent_id: Type.String(),
  identity: AgentIdentity,
  availability: AgentAvailability,
  turn: Strict({ phase: TurnPhase, active_turn_id: Nullable(Type.String()) }),
  last_turn: Strict({
    result: StringEnum(["success", "interrupted", "known_failure", "none", "unknown"]),
    turn_id: Nullable(Type.String()),
    turn_index: Nullable(Type.Integer()),
    updated_at_utc: Nullable(Timestamp),
  }),
  diagnostics: Type.Array(AgentDiagnostic, shortList),
  mailbox: Nullable(AgentMailbox),
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
  disposition: StringEnum(["accepted", "no_op"]),
  detail: Type.String(),
  headless_turn_id: Type.Optional(TurnId),
  headless_turn_index: Type.Optional(Type.Integer({ minimum: 0 })),
  gateway_request_id: Type.Optional(
    Type.String({ description: "the request in the queue of the agent's gateway, where one took it" }),
  ),
});
export type AgentSubmission = Static<typeof AgentSubmission>;

/** Answer of `GET /svc/agents`. */
export const AgentList = Strict({
  agents: Type.Array(AgentIdentity, {
    maxItems: maxListed,
    description: "sorted by transport, then tracked_agent_id",
  }),
});
export type AgentList = Static<typeof AgentList>;

/** What the terminal of an agent shows (contract 2.9). */
export const TerminalDetail = Strict({
  transport: Type.Literal("tui"),
  terminal_id: Type.String(),
  canonical_terminal_state_route: Type.String(),
  canonical_terminal_history_route: Type.String(),
  diagnostics: TerminalDiagnostics,
  probe_snapshot: Nullable(ProbeSnapshot),
  parsed_surface: Nullable(ParsedSurface),
  surface: Surface,
  stability: Stability,
});
export type TerminalDetail = Static<typeof TerminalDetail>;

/** What is known of a headless agent beyond its summary (contract 2.9). */
export const HeadlessDetail = Strict({
  transport: Type.Literal("headless"),
  runtime_resumable: Type.Boolean(),
  tmux_session_live: Type.Boolean({ description: "diagnostic only" }),
  can_accept_prompt_now: Type.Boolean(),
  interruptible: Type.Boolean(),
  chat_session: Nullable(HeadlessChatSession),
  turn: AgentState.properties.turn,
  last_turn: AgentState.properties.last_turn,
  active_turn_started_at_utc: Nullable(Timestamp),
  active_turn_interrupt_requested_at_utc: Nullable(Timestamp),
  last_turn_status: TurnStatus,
  last_turn_started_at_utc: Nullable(Timestamp),
  last_turn_completed_at_utc: Nullable(Timestamp),
  last_turn_completion_source: Nullable(Type.String()),
  last_turn_returncode: Nullable(Type.Integer()),
  last_turn_history_summary: Nullable(Type.String()),
  last_turn_error: Nullable(Type.String()),
  mailbox: Nullable(AgentMailbox),
  gateway: Nullable(AgentGateway),
  diagnostics: Type.Array(AgentDiagnostic, shortList),
});
export type HeadlessDetail = Static<typeof HeadlessDetail>;

/** Answer of `GET .../state/detail`. */
export const AgentStateDetail = Strict({
  tracked_agent_id: Type.String(),
  identity: AgentIdentity,
  summary_state: AgentState,
  detail: Type.Union([TerminalDetail, HeadlessDetail]),
});
export type AgentStateDetail = Static<typeof AgentStateDetail>;

export const AgentHistoryEntry = Strict({
  recorded_at_utc: Timestamp,
  summary: Type.String(),
  availability: AgentAvailability,
  turn_phase: TurnPhase,
  last_turn_result: AgentState.properties.last_turn.properties.result,
  turn_id: Nullable(Type.String()),
});
export type AgentHistoryEntry = Static<typeof AgentHistoryEntry>;

/**
 * Answer of `GET .../history`: coarse and bounded; the durable detail of a headless turn is on `/turns/*`.
 */
export const AgentHistory = Strict({
  tracked_agent_id: Type.String(),
  entries: Type.Array(AgentHistoryEntry, { maxItems: maxPage, description: "newest first" }),
});
export type AgentHistory = Static<typeof AgentHistory>;
