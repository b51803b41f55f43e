import { type Static, Type } from "@sinclair/typebox";
import {
  AgentId,
  AgentName,
  BackendName,
  Detail,
  MailAddress,
  ManifestPath,
  PrincipalId,
  RecordingTime,
  SessionRoot,
  Success,
  TerminalId,
  ToolName,
  TrackedAgentId,
} from "./fields.ts";
import { LifecycleState } from "./files.ts";
import { GatewayHost, GatewayPort, GatewayStatus, PublicRequestKind } from "./gateway.ts";
import {
  AwaitingDecision,
  ParsedSurface,
  ProbeError,
  ProbeSnapshot,
  Stability,
  Surface,
  TerminalDiagnostics,
  TurnPhase,
} from "./terminal.ts";
import { TurnId } from "./turn-files.ts";
import { HeadlessChatSession, TurnStatus } from "./turns.ts";
import { describe, maxListed, maxPage, Nullable, Strict, StringEnum, shortList, Timestamp } from "./wire.ts";

/** One agent as seen from outside. Source: contract 2.9; spec/coordination.md "2.9 Shapes". */

export const AgentLiveness = StringEnum(["alive", "gone", "unknown"], {
  description:
    "alive: the agent's tmux session exists; gone: it or its tmux server does not; unknown: the tmux server does not answer",
});
export type AgentLiveness = Static<typeof AgentLiveness>;

/** For a terminal agent `tracked_agent_id` is its agent id and `terminal_id` its runtime session id. */
export const AgentIdentity = Strict(
  {
    tracked_agent_id: TrackedAgentId,
    transport: StringEnum(["tui", "headless"], {
      description: "tui: an agent in a terminal; headless: one that runs turn by turn",
    }),
    tool: ToolName,
    session_name: Nullable(
      Type.String({ description: "tmux session of a terminal agent; null for a headless one" }),
    ),
    terminal_id: Nullable(
      Type.String({ description: "runtime session id of a terminal agent; null for a headless one" }),
    ),
    runtime_session_id: Nullable(Type.String({ description: "id of the session; null when it has none" })),
    tmux_session_name: Nullable(
      Type.String({ description: "tmux session of the agent; null when it has none" }),
    ),
    tmux_window_name: Nullable(
      Type.String({ description: "tmux window of the agent; null when it has none" }),
    ),
    manifest_path: Nullable(ManifestPath),
    session_root: Nullable(SessionRoot),
    agent_name: Nullable(AgentName),
    agent_id: Nullable(AgentId),
    lifecycle_state: Nullable(LifecycleState),
    backend: BackendName,
    generation_id: Type.String({
      description: "id of this launch of the agent; a relaunch from stopped has a new one",
    }),
    has_gateway: Type.Boolean({
      description:
        "whether a healthy gateway answers; in a list: whether its process lives and has published its address",
    }),
    has_mailbox: Type.Boolean({ description: "whether a mailbox is registered for the agent" }),
    published_at: Nullable(
      Type.String({
        description: "when the agent's registry record was last published; null: it is stopped",
      }),
    ),
    lease_expires_at: Nullable(
      Type.String({ description: "when that record expires; `liveness` says whether the agent is alive" }),
    ),
    liveness: Type.Optional(AgentLiveness),
    host: Type.Optional(
      Type.String({
        description: "host of an agent on another host; `<agent_name>@<host>` names the agent",
      }),
    ),
    host_away_since_utc: Type.Optional(
      Type.String({
        description: "when its host stopped answering; the other fields are the last known ones",
      }),
    ),
  },
  { description: "the ids, the session and the folders of an agent" },
);
export type AgentIdentity = Static<typeof AgentIdentity>;

export const AgentAvailability = StringEnum(["available", "unavailable", "error"], {
  description: "available: the agent can work; error: it runs and cannot work",
});
export type AgentAvailability = Static<typeof AgentAvailability>;

export const AgentDiagnostic = describe(ProbeError, "what is wrong with the agent");
export type AgentDiagnostic = Static<typeof AgentDiagnostic>;

/** The redacted status of the agent's gateway. */
export const AgentGateway = Strict(
  {
    ...Type.Pick(GatewayStatus, [
      "gateway_health",
      "managed_agent_connectivity",
      "managed_agent_recovery",
      "request_admission",
      "active_execution",
      "queue_depth",
      "tokens",
    ]).properties,
    gateway_host: Nullable(GatewayHost),
    gateway_port: Nullable(GatewayPort),
  },
  { description: "the redacted status of an agent's gateway; null when none is known" },
);
export type AgentGateway = Static<typeof AgentGateway>;

/** The redacted mailbox of an agent. */
export const AgentMailbox = Strict(
  {
    transport: Type.String({ description: "what keeps the mail: filesystem or jmap" }),
    principal_id: Nullable(PrincipalId),
    address: Nullable(MailAddress),
  },
  { description: "the redacted mailbox of an agent; null when it has none" },
);

export const AgentState = Strict(
  {
    tracked_agent_id: TrackedAgentId,
    identity: AgentIdentity,
    availability: AgentAvailability,
    turn: Strict(
      {
        phase: TurnPhase,
        active_turn_id: Nullable(
          Type.String({ description: "the turn that runs; absent or null when none does" }),
        ),
      },
      { description: "whether a turn runs" },
    ),
    last_turn: Strict(
      {
        result: StringEnum(["success", "interrupted", "known_failure", "none", "unknown"], {
          description: "how it ended",
        }),
        turn_id: Nullable(Type.String({ description: "id of the headless turn; null when there is none" })),
        turn_index: Nullable(
          Type.Integer({ description: "number of the turn in its session, from 0; null when there is none" }),
        ),
        updated_at_utc: Nullable(describe(Timestamp, "when the result was decided; null without a result")),
      },
      { description: "how the newest turn ended" },
    ),
    diagnostics: Type.Array(AgentDiagnostic, {
      ...shortList,
      description: "what is wrong with the agent; empty when nothing is",
    }),
    mailbox: Nullable(AgentMailbox),
    gateway: Nullable(AgentGateway),
    awaiting_decision: Type.Optional(AwaitingDecision),
  },
  { description: "what an agent is doing" },
);
export type AgentState = Static<typeof AgentState>;

/** Answer to a prompt or an interrupt. */
export const AgentSubmission = Strict(
  {
    success: Success,
    tracked_agent_id: TrackedAgentId,
    request_id: Type.String({ description: "id of this submission" }),
    request_kind: PublicRequestKind,
    disposition: StringEnum(["accepted", "no_op"], {
      description: "no_op: the interrupt found nothing to stop",
    }),
    detail: Detail,
    headless_turn_id: Type.Optional(describe(TurnId, "the headless turn that was created or stopped")),
    headless_turn_index: Type.Optional(
      Type.Integer({ description: "number of that turn in its session", minimum: 0 }),
    ),
    gateway_request_id: Type.Optional(
      Type.String({
        description: "id of the request in the gateway's queue; absent when no gateway took it",
      }),
    ),
  },
  { description: "the result of submitting a prompt or an interrupt" },
);
export type AgentSubmission = Static<typeof AgentSubmission>;

/** Answer of `GET /svc/agents`. */
export const AgentList = Strict(
  {
    agents: Type.Array(AgentIdentity, {
      maxItems: maxListed,
      description: "sorted by transport, then tracked_agent_id",
    }),
  },
  { description: "all agents of the user" },
);
export type AgentList = Static<typeof AgentList>;

/** What the terminal of an agent shows (contract 2.9). */
export const TerminalDetail = Strict(
  {
    transport: Type.Literal("tui"),
    terminal_id: TerminalId,
    canonical_terminal_state_route: Type.String({ description: "path of the state of this terminal" }),
    canonical_terminal_history_route: Type.String({ description: "path of the samples of this terminal" }),
    diagnostics: TerminalDiagnostics,
    probe_snapshot: Nullable(ProbeSnapshot),
    parsed_surface: Nullable(ParsedSurface),
    surface: Surface,
    stability: Stability,
  },
  { description: "what the terminal of an agent shows" },
);
export type TerminalDetail = Static<typeof TerminalDetail>;

/** The detail of a headless agent (contract 2.9). */
export const HeadlessDetail = Strict(
  {
    transport: Type.Literal("headless"),
    runtime_resumable: Type.Boolean({ description: "whether the agent can be started for another turn" }),
    tmux_session_live: Type.Boolean({ description: "diagnostic only" }),
    can_accept_prompt_now: Type.Boolean({ description: "whether a prompt would be taken now" }),
    interruptible: Type.Boolean({ description: "whether a turn runs that an interrupt can end" }),
    chat_session: Nullable(describe(HeadlessChatSession, "from a live gateway; null without one")),
    turn: AgentState.properties.turn,
    last_turn: AgentState.properties.last_turn,
    active_turn_started_at_utc: Nullable(
      describe(Timestamp, "when the running turn began; null without one"),
    ),
    active_turn_interrupt_requested_at_utc: Nullable(
      describe(Timestamp, "when the running turn was interrupted; null when it was not"),
    ),
    last_turn_status: describe(TurnStatus, "how far the newest turn got"),
    last_turn_started_at_utc: Nullable(describe(Timestamp, "when the newest turn began; null without one")),
    last_turn_completed_at_utc: Nullable(
      describe(Timestamp, "when the newest turn ended; null while it runs"),
    ),
    last_turn_completion_source: Nullable(
      Type.String({ description: "which fact ended the newest turn; null before it ended" }),
    ),
    last_turn_returncode: Nullable(
      Type.Integer({ description: "exit code of the tool in the newest turn; null without one" }),
    ),
    last_turn_history_summary: Nullable(
      Type.String({ description: "the newest turn in one line; null before it ended" }),
    ),
    last_turn_error: Nullable(
      Type.String({ description: "why the newest turn failed; null when it did not" }),
    ),
    mailbox: Nullable(AgentMailbox),
    gateway: Nullable(AgentGateway),
    diagnostics: Type.Array(AgentDiagnostic, {
      ...shortList,
      description: "what is wrong with the agent; empty when nothing is",
    }),
  },
  { description: "a headless agent and its newest turn" },
);
export type HeadlessDetail = Static<typeof HeadlessDetail>;

/** Answer of `GET .../state/detail`. */
export const AgentStateDetail = Strict(
  {
    tracked_agent_id: TrackedAgentId,
    identity: AgentIdentity,
    summary_state: describe(AgentState, "the same as at /state"),
    detail: Type.Union([TerminalDetail, HeadlessDetail], {
      description: "TerminalDetail or HeadlessDetail, by its `transport`",
    }),
  },
  { description: "the state of an agent, with the detail of its transport" },
);
export type AgentStateDetail = Static<typeof AgentStateDetail>;

export const AgentHistoryEntry = Strict(
  {
    recorded_at_utc: RecordingTime,
    summary: Type.String({ description: "what changed, in one line" }),
    availability: describe(AgentAvailability, "whether the agent could work then"),
    turn_phase: describe(TurnPhase, "whether a turn ran then"),
    last_turn_result: AgentState.properties.last_turn.properties.result,
    turn_id: Nullable(Type.String({ description: "id of the headless turn; null for a terminal agent" })),
  },
  { description: "one transition of an agent" },
);
export type AgentHistoryEntry = Static<typeof AgentHistoryEntry>;

/**
 * Answer of `GET .../history`: coarse and bounded; the durable detail of a headless turn is on `/turns/*`.
 */
export const AgentHistory = Strict(
  {
    tracked_agent_id: TrackedAgentId,
    entries: Type.Array(AgentHistoryEntry, { maxItems: maxPage, description: "newest first" }),
  },
  { description: "what an agent did, newest first" },
);
export type AgentHistory = Static<typeof AgentHistory>;
