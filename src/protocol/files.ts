import { type Static, Type } from "@sinclair/typebox";
import { ExecutionMode, protocolVersion } from "./gateway.ts";
import { TrackingTimings } from "./terminal.ts";
import { Nullable, SchemaVersion1, Strict, StringEnum, Timestamp } from "./wire.ts";

/**
 * Files of sessions and of the registry. Source: contract 2.7, 2.8; spec/gateway.md 2.7;
 * spec/coordination.md.
 */

export const CurrentInstance = Strict({
  schema_version: SchemaVersion1,
  protocol_version: Type.Literal(protocolVersion),
  pid: Type.Integer(),
  process_start: Type.Optional(
    Type.String({ description: "additional: distinguishes the process from a later one with its id" }),
  ),
  host: Type.String(),
  port: Type.Integer(),
  execution_mode: ExecutionMode,
  managed_agent_instance_epoch: Type.Integer(),
  managed_agent_instance_id: Type.Optional(Type.String()),
  tmux_window_id: Type.Optional(Type.String()),
  tmux_window_index: Type.Optional(Type.String()),
  tmux_pane_id: Type.Optional(Type.String()),
});
export type CurrentInstance = Static<typeof CurrentInstance>;

const DiagnosticLogging = Strict({
  enabled: Type.Optional(Type.Boolean()),
  max_bytes: Type.Optional(Type.Integer({ minimum: 1, maximum: 2 ** 30 })),
  backup_count: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
});

/** Settings of the flight recorder (additional; decision 81). */
export const DesiredRecorder = Strict({
  enabled: Type.Boolean(),
  max_bytes: Type.Optional(
    Type.Integer({
      minimum: 2 ** 20,
      maximum: 2 ** 40,
      description: "bytes on disk; the oldest recordings are removed beyond it; default 256 MiB",
    }),
  ),
  max_age_seconds: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 10 * 366 * 86_400,
      description: "recordings that ended longer ago are removed; default 7 days",
    }),
  ),
});
export type DesiredRecorder = Static<typeof DesiredRecorder>;

export const DesiredConfig = Strict({
  schema_version: SchemaVersion1,
  desired_host: Type.Optional(Type.String()),
  desired_port: Type.Optional(Type.Integer({ minimum: 0, maximum: 65535 })),
  desired_execution_mode: ExecutionMode,
  desired_token_required: Type.Optional(
    Type.Boolean({
      description: "additional: every gateway of this session requires a token, independent of its starter",
    }),
  ),
  desired_tui_tracking_timings: Type.Optional(Type.Partial(TrackingTimings)),
  desired_diagnostic_logging: Type.Optional(DiagnosticLogging),
  desired_attachment_roots: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: 64,
      description: "folders from which mail may take attachments, besides the agent's working directory",
    }),
  ),
  desired_recorder: Type.Optional({
    ...DesiredRecorder,
    description: "additional: whether the agent is recorded, and how much is kept",
  }),
  desired_otlp_endpoint: Type.Optional(
    Type.String({
      maxLength: 2048,
      description:
        "additional: base address of the collector that gets traces; without it no traces are sent",
    }),
  ),
  reconciled_instance_id: Type.Optional(
    Type.String({
      description: "additional: no request waited when this instance of the agent was launched",
    }),
  ),
});
export type DesiredConfig = Static<typeof DesiredConfig>;

/** attach.json: bootstrap state of a gateway, rebuilt from the manifest, which is the authority. */
export const AttachContract = Strict({
  schema_version: SchemaVersion1,
  attach_identity: Type.String(),
  backend: Type.String(),
  tmux_session_name: Type.String(),
  working_directory: Type.String(),
  backend_metadata: Type.Object(
    { session_id: Type.Optional(Type.String()), tool: Type.String() },
    { additionalProperties: true },
  ),
  manifest_path: Type.Optional(Type.String()),
  agent_def_dir: Type.Optional(Type.String()),
  runtime_session_id: Type.Optional(Type.String()),
  desired_host: Type.Optional(Type.String()),
  desired_port: Type.Optional(Type.Integer({ minimum: 0, maximum: 65535 })),
});
export type AttachContract = Static<typeof AttachContract>;

/**
 * gateway_manifest.json: the published data of a session's gateway, derived and never the authority. The five
 * live fields are all present or all absent; the three tmux handles exist only for a live auxiliary window.
 */
export const GatewayManifest = Strict({
  ...AttachContract.properties,
  gateway_pid: Type.Optional(Type.Integer()),
  gateway_host: Type.Optional(Type.String()),
  gateway_port: Type.Optional(Type.Integer()),
  gateway_protocol_version: Type.Optional(Type.Literal(protocolVersion)),
  gateway_execution_mode: Type.Optional(ExecutionMode),
  gateway_tmux_window_id: Type.Optional(Type.String()),
  gateway_tmux_window_index: Type.Optional(Type.String()),
  gateway_tmux_pane_id: Type.Optional(Type.String()),
});
export type GatewayManifest = Static<typeof GatewayManifest>;

const open = { additionalProperties: true } as const;

/** Mailbox binding of a session (contract 2.8, `payload.launch_plan.mailbox`). */
export const MailboxBinding = Type.Object(
  {
    transport: Type.String(),
    principal_id: Type.String(),
    address: Type.String(),
    bindings_version: Type.String(),
    filesystem_root: Type.Optional(Type.String()),
    mailbox_kind: Type.Optional(StringEnum(["in_root", "symlink"])),
    mailbox_path: Type.Optional(Nullable(Type.String())),
    jmap_url: Type.Optional(Type.String()),
    management_url: Type.Optional(Nullable(Type.String())),
    login_identity: Type.Optional(Type.String()),
    credential_ref: Type.Optional(Type.String({ description: "names a secret; never the secret" })),
    credential_file: Type.Optional(Type.String({ description: "additional: file that holds the secret" })),
  },
  open,
);
export type MailboxBinding = Static<typeof MailboxBinding>;

const LaunchPlan = Type.Object(
  {
    backend: Type.String(),
    tool: Type.String(),
    executable: Type.String(),
    args: Type.Array(Type.String()),
    working_directory: Type.String(),
    home_selector: Type.Object(
      { env_var: Nullable(Type.String()), home_path: Nullable(Type.String()) },
      open,
    ),
    env_var_names: Type.Array(Type.String(), { description: "names only, never values" }),
    role_injection: Type.Object(
      { method: Nullable(Type.String()), role_name: Nullable(Type.String()) },
      open,
    ),
    metadata: Type.Record(Type.String(), Type.Unknown()),
    mailbox: Type.Optional(MailboxBinding),
  },
  open,
);

const tmuxSocket = Type.Optional(
  Type.String({
    description:
      "additional: path of the tmux server's socket. Earlier records: SVC_TMUX_SOCKET at launch, perhaps a name, absent for the person's own server",
  }),
);

const primaryTmux = {
  primary_window_index: Type.Literal("0"),
  primary_window_role: Type.Literal("managed_agent_surface"),
  primary_window_name: Type.Optional(Type.String()),
  primary_window_id: Type.Optional(Type.String()),
  primary_pane_id: Type.Optional(Type.String()),
};

/**
 * The session manifest, version 4: the durable authority for attach, resume, relaunch and mailbox. Unknown
 * keys are kept, so that a later version of us loses nothing on rewrite. It never holds a live host or port,
 * nor a secret. Source: spec/coordination.md "Manifest, roots, env"; ruling 16.
 */
export const Manifest = Type.Object(
  {
    schema_version: Type.Literal(4),
    backend: Type.String(),
    tool: Type.String(),
    role_name: Nullable(Type.String()),
    created_at_utc: Timestamp,
    working_directory: Type.String(),
    brain_manifest_path: Nullable(Type.String()),
    agent_name: Type.String(),
    agent_id: Type.String(),
    tmux_session_name: Type.String(),
    registry_generation_id: Type.String(),
    registry_launch_authority: StringEnum(["runtime", "external"]),
    launch_plan: LaunchPlan,
    launch_policy_provenance: Type.Optional(Type.Unknown()),
    backend_state: Type.Record(Type.String(), Type.Unknown()),
    runtime: Type.Object(
      {
        session_id: Type.String(),
        agent_def_dir: Nullable(Type.String()),
        agent_pid: Type.Optional(Nullable(Type.Integer())),
        agent_start_token: Type.Optional(Nullable(Type.String())),
        registry_generation_id: Type.String(),
        registry_launch_authority: StringEnum(["runtime", "external"]),
      },
      open,
    ),
    tmux: Type.Object({ session_name: Type.String(), socket: tmuxSocket, ...primaryTmux }, open),
    interactive: Type.Optional(
      Type.Object(
        {
          turn_index: Type.Integer(),
          working_directory: Type.String(),
          role_bootstrap_applied: Type.Boolean(),
          terminal_id: Type.Optional(Type.String()),
          tmux_window_name: Type.Optional(Type.String()),
        },
        open,
      ),
    ),
    agent_launch_authority: Type.Object(
      {
        backend: Type.String(),
        tool: Type.String(),
        tmux_session_name: Type.String(),
        ...primaryTmux,
        working_directory: Type.String(),
        session_id: Type.String(),
        session_origin: Type.Optional(Type.Literal("joined_tmux")),
        posture_kind: StringEnum([
          "runtime_launch_plan",
          "tui_launch_options",
          "headless_launch_options",
          "unavailable",
        ]),
        launch_args: Type.Optional(Type.Array(Type.String())),
        launch_env: Type.Optional(Type.Array(Type.Unknown())),
      },
      open,
    ),
    system_prompt: Type.Optional(
      Type.Object(
        {
          format: Type.Literal("text"),
          role_name: Type.String(),
          text: Type.String({ description: "text of the agent's role" }),
          sha256: Type.String(),
          source: Type.String(),
        },
        open,
      ),
    ),
    gateway_authority: Type.Object({ attach: Type.Object({}, open), control: Type.Object({}, open) }, open),
    headless: Type.Optional(Type.Object({}, open)),
    local_interactive: Type.Optional(
      Type.Object(
        {
          turn_index: Type.Integer(),
          role_bootstrap_applied: Type.Boolean(),
          working_directory: Type.String(),
        },
        open,
      ),
    ),
  },
  { ...open, description: "session manifest, version 4" },
);
export type Manifest = Static<typeof Manifest>;

/** The `svc.yaml` whose `up` launched an agent: it owns that agent, and no other file does. */
export const TeamOwner = Type.Object(
  {
    file: Type.String({ description: "absolute path of the svc.yaml, without links on the way" }),
    member: Type.String({ description: "the agent's name in that file, without the prefix of the project" }),
  },
  open,
);
export type TeamOwner = Static<typeof TeamOwner>;

export const LifecycleState = StringEnum(["active", "stopped", "relaunching", "retired"], {
  description: "lifecycle of the agent in the registry: active, stopped, relaunching or retired",
});
export type LifecycleState = Static<typeof LifecycleState>;

/** A record of the shared registry, by which programs find an agent. It holds locators and no secrets. */
export const RegistryRecord = Type.Object(
  {
    schema_version: Type.Literal(3),
    agent_name: Type.String(),
    agent_id: Type.String(),
    generation_id: Type.String({ description: "uuid of this instance of the agent" }),
    lifecycle: Type.Object(
      {
        state: LifecycleState,
        relaunchable: Type.Boolean(),
        state_updated_at: Timestamp,
        stopped_at: Type.Optional(Nullable(Timestamp)),
        stop_reason: Type.Optional(Nullable(Type.String())),
      },
      open,
    ),
    identity: Type.Object({ backend: Type.String(), tool: Type.String() }, open),
    runtime: Type.Object(
      {
        manifest_path: Type.String(),
        session_root: Type.Optional(Nullable(Type.String())),
        agent_def_dir: Type.Optional(Nullable(Type.String())),
      },
      open,
    ),
    terminal: Type.Object(
      {
        kind: Type.Literal("tmux"),
        current_session_name: Type.Optional(Nullable(Type.String())),
        last_session_name: Type.String(),
        socket: tmuxSocket,
      },
      open,
    ),
    liveness: Type.Optional(
      Nullable(Type.Object({ published_at: Timestamp, lease_expires_at: Timestamp }, open)),
    ),
    gateway: Type.Optional(
      Nullable(
        Type.Object(
          {
            host: Type.String(),
            port: Type.Integer(),
            state_path: Type.String(),
            protocol_version: Type.String(),
          },
          open,
        ),
      ),
    ),
    mailbox: Type.Optional(Nullable(MailboxBinding)),
    team: Type.Optional({
      ...TeamOwner,
      description:
        "additional: the svc.yaml that owns the agent; absent for an agent that a person launched by hand",
    }),
  },
  { ...open, description: "shared-registry record, version 3" },
);
export type RegistryRecord = Static<typeof RegistryRecord>;
