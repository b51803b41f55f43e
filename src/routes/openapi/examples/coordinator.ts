import { turnRecord } from "./gateway.ts";
import { diagnostics, stability, surface } from "./terminal.ts";

/** Examples of bodies of the coordination server, by component. Each is an instance of its schema. */

const agent = "local_interactive-20261121-044700Z-1a2b3c4d";
const { tracked_agent_id, turn_id, turn_index } = turnRecord;

const ledgerSums = {
  turns: 12,
  turns_not_covered: 1,
  input_tokens: 18_240,
  cached_input_tokens: 16_000,
  cache_write_tokens: 1_200,
  output_tokens: 640,
  reasoning_tokens: 0,
  cost_micro_usd: 36_700,
  unpriced_tokens: 0,
};

const identity = {
  tracked_agent_id: "5f4dcc3b5aa765d61d8327deb882cf99",
  transport: "tui",
  tool: "claude",
  session_name: "SVC-worker-1795236420000",
  terminal_id: agent,
  runtime_session_id: agent,
  tmux_session_name: "SVC-worker-1795236420000",
  tmux_window_name: "agent",
  manifest_path: `/home/me/.svc/runtime/sessions/local_interactive/${agent}/manifest.json`,
  session_root: `/home/me/.svc/runtime/sessions/local_interactive/${agent}`,
  agent_name: "worker",
  agent_id: "5f4dcc3b5aa765d61d8327deb882cf99",
  lifecycle_state: "active",
  backend: "local_interactive",
  generation_id: "5d0b6c1e-8f1d-4b52-9a57-0c3a4be5d7f1",
  has_gateway: true,
  has_mailbox: false,
  published_at: "2026-11-21T04:47:00.000+00:00",
  lease_expires_at: "2126-11-21T04:47:00.000+00:00",
  liveness: "alive",
};
const state = {
  tracked_agent_id: identity.tracked_agent_id,
  identity,
  availability: "available",
  turn: { phase: "ready", active_turn_id: null },
  last_turn: { result: "success", turn_id: null, turn_index: null, updated_at_utc: null },
  diagnostics: [],
  mailbox: null,
  gateway: {
    gateway_health: "healthy",
    managed_agent_connectivity: "connected",
    managed_agent_recovery: "idle",
    request_admission: "open",
    active_execution: "idle",
    queue_depth: 0,
    gateway_host: "127.0.0.1",
    gateway_port: 43117,
  },
};
const binding = {
  transport: "filesystem",
  principal_id: "SVC-worker",
  address: "worker@svc.localhost",
  bindings_version: "2026-11-21T04:40:00.000001+00:00",
};
const root = "/home/me/.svc/mailbox";

const attentionItem = {
  id: "permission-3f9a2b1c04de",
  kind: "permission",
  agent_id: identity.agent_id,
  agent_name: "worker",
  tracked_agent_id: identity.tracked_agent_id,
  address: null,
  since_utc: "2026-11-21T04:49:30.000+00:00",
  age_seconds: 42,
  epoch: 3,
  reason: '"worker" asks for permission: Do you want to proceed? (Bash: rm -r build)',
  question: "Do you want to proceed?",
  subject: { action: "Bash", text: "rm -r build" },
  evidence: ["Bash command", "rm -r build", "Do you want to proceed?"],
  answers: [
    { answer: "1", label: "Yes" },
    { answer: "2", label: "No" },
  ],
  next: "Choose one of its answers",
  command: "svc-mgr attention answer permission-3f9a2b1c04de ANSWER",
};

export const coordinatorExamples: Readonly<Record<string, readonly unknown[]>> = {
  AttentionAnswerRequest: [{ schema_version: 1, answer: "1", epoch: 3 }],
  DeliveryList: [
    {
      schema_version: 1,
      deliveries: [
        {
          sequence: 17,
          delivery_id: "dlv_5b1f0c1e8a9d4c53b0a2e7d46f0819aa",
          rule: "phone",
          target: "ntfy",
          state: "pending",
          attempts: 2,
          created_at_utc: "2026-11-21T04:49:30.000+00:00",
          next_attempt_at_utc: "2026-11-21T04:50:21.000+00:00",
          ended_at_utc: null,
          last_error: "status 503",
          items: [{ id: attentionItem.id, epoch: 3, agent_name: "worker", kind: "permission" }],
        },
      ],
      next_before: null,
    },
  ],
  AttentionAnswered: [{ status: "ok", id: attentionItem.id, answer: { answer: "1", label: "Yes" } }],
  AttentionEvent: [
    { kind: "attention_list", at_utc: "2026-11-21T04:50:12.000+00:00", items: [attentionItem] },
  ],
  AttentionList: [{ schema_version: 1, items: [attentionItem] }],
  AgentHistory: [
    {
      tracked_agent_id: identity.tracked_agent_id,
      entries: [
        {
          recorded_at_utc: "2026-11-21T04:49:30.000+00:00",
          summary: "turn_phase: active -> ready",
          availability: "available",
          turn_phase: "ready",
          last_turn_result: "success",
          turn_id: null,
        },
      ],
    },
  ],
  AgentIdentity: [identity],
  AgentList: [{ agents: [identity] }],
  ListHostsAnswer: [
    {
      schema_version: 1,
      local_host: "desk",
      version: "0.1.0",
      carriers: [
        {
          via: "ssh",
          host: "build-3",
          address: "user@build-3",
          connected: true,
          server_version: null,
          latency_ms: null,
          reconnects: 0,
          open_calls: 0,
          repeated_calls: 0,
          dropped_messages: 0,
          unreadable_entries: 0,
        },
      ],
      hosts: [
        {
          host: "build-3",
          via: "ssh",
          state: "live",
          since_utc: "2026-11-21T04:47:00.000+00:00",
          agents: 12,
          version: "0.1.0",
        },
      ],
    },
  ],
  AgentRequest: [
    { schema_version: 1, request_kind: "submit_prompt", prompt: "Run the tests." },
    { schema_version: 1, request_kind: "interrupt" },
  ],
  AgentState: [state],
  AgentStateList: [
    {
      after: "6b1f09c2-41",
      agents: [{ identity, state, turn_began_at_utc: null, failure: null }],
      attention: [attentionItem],
    },
  ],
  AgentStateDetail: [
    {
      tracked_agent_id: identity.tracked_agent_id,
      identity,
      summary_state: state,
      detail: {
        transport: "tui",
        terminal_id: agent,
        canonical_terminal_state_route: `/svc/agents/${identity.tracked_agent_id}/state`,
        canonical_terminal_history_route: `/svc/agents/${identity.tracked_agent_id}/history`,
        diagnostics,
        probe_snapshot: null,
        parsed_surface: null,
        surface,
        stability,
      },
    },
  ],
  AgentRelaunched: [
    {
      success: true,
      tracked_agent_id,
      in_place: true,
      request_admission: "open",
      detail: "started again in its tmux session",
    },
  ],
  AgentStopped: [{ success: true, tracked_agent_id, detail: "the agent was stopped" }],
  AgentSubmission: [
    {
      success: true,
      tracked_agent_id,
      request_id: "gwreq-20261121-044700Z-4b1f0a6c",
      request_kind: "submit_prompt",
      disposition: "accepted",
      detail: "the request was queued",
    },
  ],
  CoordinatorHealth: [{ status: "ok", svc_service: "svc-coord" }],
  CoordinatorInstance: [
    {
      schema_version: 1,
      status: "ok",
      pid: 4711,
      api_base_url: "http://127.0.0.1:9891",
      server_root: "/home/me/.svc/runtime/svc_servers/127.0.0.1-9891",
      started_at_utc: "2026-11-21T04:40:00.000+00:00",
    },
  ],
  FleetEvent: [
    {
      kind: "agent_seen",
      at_utc: "2026-11-21T04:47:00.000+00:00",
      agent_id: identity.agent_id,
      agent_name: "worker",
      tracked_agent_id: identity.tracked_agent_id,
    },
  ],
  FleetLedger: [
    {
      schema_version: 1,
      rows: [{ agent: "worker", day: "2026-11-21", ...ledgerSums }],
      total: ledgerSums,
      prices_dated: "2026-11-20",
      unpriced_models: ["gpt-next"],
      not_covered: ["claude: titles of conversations are not counted"],
      not_read: [{ agent: "reviewer", why: "queue.sqlite is damaged" }],
    },
  ],
  HeadlessLaunch: [
    {
      schema_version: 1,
      tool: "claude",
      working_directory: "/home/me/project",
      agent_def_dir: "/home/me/agents",
      brain_manifest_path: "/home/me/agents/brain.yaml",
      role_name: "tester",
    },
  ],
  HeadlessLaunched: [
    {
      success: true,
      tracked_agent_id: identity.tracked_agent_id,
      identity,
      manifest_path: identity.manifest_path,
      session_root: identity.session_root,
      detail: "the agent was made",
    },
  ],
  MailResolveLive: [
    {
      source: "manifest_binding",
      ...binding,
      mailbox: {
        ...binding,
        filesystem: {
          root,
          mailbox_kind: "in_root",
          mailbox_path: `${root}/mailboxes/worker@svc.localhost`,
          inbox_path: `${root}/mailboxes/worker@svc.localhost/inbox`,
          sqlite_path: `${root}/index.sqlite`,
          local_sqlite_path: `${root}/mailboxes/worker@svc.localhost/mailbox.sqlite`,
        },
      },
      gateway: null,
    },
  ],
  RemoteAttach: [{ schema_version: 1 }],
  ShutdownAnswer: [{ status: "ok" }],
  TurnHandle: [
    {
      success: true,
      tracked_agent_id,
      turn_id,
      turn_index,
      status: "active",
      detail: "the turn was begun",
    },
  ],
  TurnInterruption: [
    { success: true, tracked_agent_id, detail: "the turn was interrupted", turn_id, turn_index },
  ],
  TurnSubmission: [{ schema_version: 1, prompt: "Run the tests.", chat_session: { mode: "auto" } }],
};
