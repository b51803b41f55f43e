import { type Static, Type } from "@sinclair/typebox";
import { AgentIdentity } from "./agents.ts";
import { enforced, patterns } from "./enforced.ts";
import { Detail, EventTime, ManifestPath, SessionRoot, Success, TrackedAgentId } from "./fields.ts";
import { LifecycleState } from "./files.ts";
import { ChatSession, Execution, RequestAdmission } from "./gateway.ts";
import { TrackingTimings } from "./terminal.ts";
import { DisplayDetail, DisplayStyle, TurnId } from "./turn-files.ts";
import { describe, NonBlank, Nullable, SchemaVersion1, Strict, Timestamp } from "./wire.ts";

/**
 * Bodies of the coordination server's own routes. Source: contract 2.9, 4.4; spec/coordination.md; ruling 1.
 */

export const CoordinatorHealth = Strict(
  {
    status: Type.Literal("ok"),
    svc_service: Type.Literal("svc-coord"),
  },
  { description: "the coordination server answers" },
);

/** Answer of `GET /svc/coord/current-instance`, kept as run/current-instance.json while the server runs. */
export const CoordinatorInstance = Strict(
  {
    schema_version: SchemaVersion1,
    status: Type.Literal("ok"),
    pid: Type.Integer({ description: "process id" }),
    api_base_url: Type.String({ description: "address of the server" }),
    server_root: Type.String({ description: "absolute path of the server's folder" }),
    started_at_utc: describe(Timestamp, "when the server began to serve"),
  },
  { description: "the process that serves, and where" },
);
export type CoordinatorInstance = Static<typeof CoordinatorInstance>;

export const ShutdownAnswer = Strict({ status: Type.Literal("ok") }, { description: "the server ends" });

/** Filter of the list of agents. */
export const AgentListQuery = Strict({
  state: Type.Optional({
    ...LifecycleState,
    description: "only agents whose registry record has this state; default: all agents",
  }),
});

const optionalVersion = Type.Optional(SchemaVersion1);

export const AgentPromptRequest = Strict(
  {
    schema_version: optionalVersion,
    request_kind: Type.Literal("submit_prompt"),
    prompt: NonBlank("the text to submit"),
    execution: Type.Optional(Execution),
  },
  { description: "submit a prompt" },
);
export const AgentInterruptRequest = Strict(
  {
    schema_version: optionalVersion,
    request_kind: Type.Literal("interrupt"),
  },
  { description: "stop the turn that runs" },
);
/** Body of `POST .../requests`. */
export const AgentRequest = Type.Union([AgentPromptRequest, AgentInterruptRequest], {
  description: "work for an agent",
});
export type AgentRequest = Static<typeof AgentRequest>;

/** Body of `POST .../turns`. */
export const TurnSubmission = Strict(
  {
    schema_version: optionalVersion,
    prompt: NonBlank("the text to submit"),
    chat_session: Type.Optional(ChatSession),
    execution: Type.Optional(Execution),
  },
  { description: "a prompt that begins a turn" },
);
export type TurnSubmission = Static<typeof TurnSubmission>;

/** Answer of `POST .../turns`. */
export const TurnHandle = Strict(
  {
    success: Success,
    tracked_agent_id: TrackedAgentId,
    turn_id: TurnId,
    turn_index: Nullable(Type.Integer({ minimum: 0, description: "null while it waits in the queue" })),
    status: Type.Literal("active"),
    detail: Detail,
  },
  { description: "where to follow the turn" },
);
export type TurnHandle = Static<typeof TurnHandle>;

/** Answer of `POST .../interrupt`. */
export const TurnInterruption = Strict(
  {
    success: Success,
    tracked_agent_id: TrackedAgentId,
    detail: Detail,
    turn_id: Type.Optional(describe(TurnId, "the turn that was stopped")),
    turn_index: Type.Optional(
      Type.Integer({ minimum: 0, description: "number of the turn that was stopped" }),
    ),
  },
  { description: "the result of the interrupt" },
);
export type TurnInterruption = Static<typeof TurnInterruption>;

/** Answer of `POST .../stop`. */
export const AgentStopped = Strict(
  {
    success: Success,
    tracked_agent_id: TrackedAgentId,
    detail: Detail,
    turn_id: Type.Optional(describe(TurnId, "the turn that was stopped with the agent")),
    manifest_path: Type.Optional(ManifestPath),
    session_root: Type.Optional(SessionRoot),
  },
  { description: "the agent that was stopped" },
);
export type AgentStopped = Static<typeof AgentStopped>;

/** Answer of `POST .../relaunch`. */
export const AgentRelaunched = Strict(
  {
    success: Success,
    tracked_agent_id: TrackedAgentId,
    in_place: Type.Boolean({
      description: "true: in its tmux session, which continues; false: in a new one",
    }),
    request_admission: Type.Union([RequestAdmission, Type.Null()], {
      description: "admission of its gateway afterwards; null without a gateway",
    }),
    detail: Detail,
  },
  { description: "how the program was started again" },
);
export type AgentRelaunched = Static<typeof AgentRelaunched>;

/** Body of the remote attach, which is not offered. */
export const RemoteAttach = Strict(
  {
    schema_version: optionalVersion,
    tui_tracking_timings: Type.Optional(
      describe(
        Type.Partial(TrackingTimings, { additionalProperties: false }),
        "timings of the terminal tracker, in seconds",
      ),
    ),
  },
  { description: "body of an operation that is not offered" },
);

/** Body of `POST /svc/agents/headless/launches`. */
export const HeadlessLaunch = Strict(
  {
    schema_version: optionalVersion,
    tool: NonBlank("claude, codex, gemini, opencode or demo"),
    working_directory: NonBlank("absolute path of a folder", {
      ...enforced({ pattern: patterns.absolutePath }),
    }),
    agent_def_dir: NonBlank("absolute path of the folder with roles/<role>/system-prompt.md", {
      ...enforced({ pattern: patterns.absolutePath }),
    }),
    brain_manifest_path: NonBlank("absolute path of a brain manifest, schema 3, YAML or JSON", {
      ...enforced({ pattern: patterns.absolutePath }),
    }),
    role_name: NonBlank("a role of agent_def_dir"),
    agent_name: Type.Optional(NonBlank("default: the role and six random characters")),
    agent_id: Type.Optional(NonBlank("default: derived from the name")),
    headless_display_style: Type.Optional({ ...DisplayStyle, description: "default: plain" }),
    headless_display_detail: Type.Optional({ ...DisplayDetail, description: "default: concise" }),
    mailbox: Type.Optional(
      Strict(
        {
          transport: Type.Optional(Type.Literal("filesystem", { description: "always filesystem" })),
          filesystem_root: Type.Optional(
            NonBlank("absolute path of a mailbox root", { ...enforced({ pattern: patterns.absolutePath }) }),
          ),
          principal_id: Type.Optional(NonBlank("default: the agent's name")),
          address: Type.Optional(
            NonBlank("default: NAME@svc.localhost", {
              ...enforced({ maxLength: 200, pattern: patterns.address }),
            }),
          ),
        },
        { description: "registers a mailbox for the agent; none without it" },
      ),
    ),
  },
  { description: "the definition of a headless agent" },
);
export type HeadlessLaunch = Static<typeof HeadlessLaunch>;

/** Answer of `POST /svc/agents/headless/launches`. */
export const HeadlessLaunched = Strict(
  {
    success: Success,
    tracked_agent_id: TrackedAgentId,
    identity: AgentIdentity,
    manifest_path: ManifestPath,
    session_root: SessionRoot,
    detail: Detail,
  },
  { description: "the headless agent that was made" },
);
export type HeadlessLaunched = Static<typeof HeadlessLaunched>;

/** Events of the stream of all agents beside those of their gateways. */
export const fleetEventKinds = {
  agent_seen: "an agent appeared",
  agent_changed: "the lifecycle state of an agent changed, or it is a new generation",
  agent_gone: "an agent disappeared",
  gateway_connected: "the server follows the events of a gateway",
  gateway_lost: "a gateway does not answer",
  gateway_unfollowed: "the server does not follow the events of a gateway: the limit is reached",
  stream_gap: "the reader missed events before this one",
} as const;
export type FleetEventKind = keyof typeof fleetEventKinds;

/** One event of `GET /svc/events`: the fields of the gateway's event, and the agent that it concerns. */
export const FleetEvent = Type.Object(
  {
    kind: Type.String({
      description: "one of the kinds that the stream lists; readers ignore unknown kinds",
    }),
    at_utc: EventTime,
    agent_id: Nullable(Type.String({ description: "id of the agent; null for an event without an agent" })),
    agent_name: Nullable(
      Type.String({ description: "name of the agent; null for an event without an agent" }),
    ),
    tracked_agent_id: Nullable(
      Type.String({ description: "canonical id of the agent; null for an event without an agent" }),
    ),
  },
  { additionalProperties: Type.Unknown(), description: "something that happened at one agent" },
);
export type FleetEvent = Static<typeof FleetEvent>;
