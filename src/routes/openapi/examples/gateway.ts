import type { GatewayStatus } from "../../../protocol/gateway.ts";
import type { NotifierConfig } from "../../../protocol/notifier.ts";
import { toCapabilities } from "../../../services/agui/capabilities.ts";
import { defaultNotifierConfig } from "../../../services/notifier/config.ts";

/** Examples of bodies of a gateway, by component. Each is an instance of its schema. */

const at = (time: string) => `2026-11-21T${time}.000+00:00`;
const epoch = { managed_agent_instance_epoch: 1 };
const requestId = "gwreq-20261121-044700Z-4b1f0a6c";

/** Parts that bodies of the coordination server repeat. */
const status: GatewayStatus = {
  schema_version: 1,
  protocol_version: "v1",
  attach_identity: "local_interactive-20261121-044700Z-1a2b3c4d",
  backend: "local_interactive",
  tmux_session_name: "SVC-worker-1795236420000",
  gateway_health: "healthy",
  managed_agent_connectivity: "connected",
  managed_agent_recovery: "idle",
  request_admission: "open",
  terminal_surface_eligibility: "ready",
  active_execution: "idle",
  execution_mode: "detached_process",
  queue_depth: 0,
  gateway_host: "127.0.0.1",
  gateway_port: 43117,
  ...epoch,
};

const request = {
  schema_version: 1,
  request_id: requestId,
  request_kind: "submit_prompt",
  state: "completed",
  accepted_at_utc: at("04:47:00"),
  started_at_utc: at("04:47:01"),
  finished_at_utc: at("04:49:30"),
  ...epoch,
  error_detail: null,
  result_json: null,
  prompt_length: 19,
  evidence: [
    { step: "accepted", at_utc: at("04:47:00"), proof: "stored" },
    { step: "turn_ended", at_utc: at("04:49:30"), proof: "the screen is ready again" },
  ],
};

const ledgerTokens = {
  input_tokens: 18_240,
  cached_input_tokens: 16_000,
  cache_write_tokens: 1_200,
  output_tokens: 640,
  reasoning_tokens: 0,
};

const ledgerEntry = {
  seq: 42,
  turn_id: "c0ffee1234-7ps",
  request_id: requestId,
  wake_reason: "mail",
  tool: "claude",
  source: "tool",
  status: "completed",
  covered: true,
  usage: [{ model: "claude-opus-4-8", ...ledgerTokens }],
  started_at_utc: at("04:47:01"),
  ended_at_utc: at("04:49:30"),
};

const transcriptTurn = {
  turn_id: "c0ffee1234-7ps",
  source: "tool",
  evidence: "the record of claude, eebe79b4-a5f2-477e-b9b2-2eef30dbdf42.jsonl from byte 10000",
  conversation_id: "eebe79b4-a5f2-477e-b9b2-2eef30dbdf42",
  status: "completed",
  prompt: "run the tests and say what fails",
  prompt_truncated: false,
  answer: "**Nothing fails.** All 214 tests are green.",
  answer_bytes: 44,
  truncated: false,
  answer_next: null,
  remarks: ["I run them."],
  tool_calls: [{ name: "Bash", input: '{"command":"bun test"}', output: "214 pass, 0 fail", status: "ok" }],
  tool_calls_omitted: 0,
  error: null,
  started_at_utc: at("04:47:01"),
  ended_at_utc: at("04:49:30"),
  usage: [
    {
      model: "claude-opus-5-5",
      input_tokens: 18_250,
      cached_input_tokens: 16_900,
      cache_write_tokens: 820,
      output_tokens: 412,
      reasoning_tokens: 130,
    },
  ],
};

export const turnRecord = {
  tracked_agent_id: "claude_headless-20261121-044700Z-1a2b3c4d",
  turn_id: "turn-0a1b2c3d4e5f",
  turn_index: 0,
  status: "completed",
  started_at_utc: at("04:47:01"),
  completed_at_utc: at("04:49:30"),
  returncode: 0,
  completion_source: "process_exit",
  decided_by: "terminal_event",
  stdout_path: null,
  stderr_path: null,
  status_path: null,
  history_summary: "The tests are green.",
  error: null,
};
const refusal = {
  status: "error",
  action: "submit_prompt",
  sent: false,
  admission_policy: "ready_only",
  error_code: "not_ready",
  detail: "the agent is not ready: turn.phase=active",
};
const refused = { detail: "the agent is unavailable" };
const invalid = { detail: [{ type: "missing", loc: ["body", "kind"], msg: "Field required" }] };
const reminder = {
  mode: "repeat",
  title: "look at the build",
  prompt: "Look at the build and report what is red.",
  ranking: 10,
  start_after_seconds: 600,
  interval_seconds: 3600,
};
const reminderRecord = {
  schema_version: 1,
  reminder_id: "greminder-7c3d9e51a0b2",
  mode: "repeat",
  delivery_kind: "prompt",
  title: "look at the build",
  prompt: "Look at the build and report what is red.",
  send_keys: null,
  ranking: 10,
  paused: false,
  selection_state: "effective",
  delivery_state: "scheduled",
  created_at_utc: at("04:47:00"),
  next_due_at_utc: at("04:57:00"),
  interval_seconds: 3600,
  last_started_at_utc: null,
  blocked_by_reminder_id: null,
};
const schedule = {
  mode: "repeat",
  title: "standup",
  prompt: "Report what is open.",
  ranking: 0,
  cron: "30 9 * * 1-5",
  time_zone: "Europe/Berlin",
};
const reminderFiring = {
  request_id: "greminder-7c3d9e51a0b2-1f2e3d",
  reminder_id: "greminder-7c3d9e51a0b2",
  title: "look at the build",
  due_at_utc: at("03:57:00"),
  started_at_utc: at("03:57:00"),
  finished_at_utc: at("03:57:01"),
  outcome: "delivered",
  detail: null,
};
const {
  enabled: _enabled,
  interval_seconds: _intervalSeconds,
  ...notifierSettings
}: NotifierConfig = { ...defaultNotifierConfig, mode: "unread_only" };
const conversation = {
  threadId: "thread-1",
  runId: "run-1",
  messages: [{ id: "message-1", role: "user", content: "Run the tests." }],
  tools: [],
  context: [],
  state: {},
  forwardedProps: {},
};

export const gatewayExamples: Readonly<Record<string, readonly unknown[]>> = {
  AcceptedRequest: [
    {
      request_id: requestId,
      request_kind: "submit_prompt",
      state: "accepted",
      accepted_at_utc: at("04:47:00"),
      queue_depth: 1,
      ...epoch,
    },
  ],
  AguiCapabilities: [toCapabilities({ status, family: "tui", tool: "claude" })],
  AguiConnectInput: [conversation],
  AguiEvent: [{ type: "TEXT_MESSAGE_CONTENT", messageId: "message-2", delta: "The tests " }],
  AguiRunInput: [conversation],
  AguiDetached: [
    {
      status: "detached",
      connectionId: "agui-0f1e2d3c4b5a69788796a5b4c3d2e1f0",
      detail: "the stream was finished",
      detached: true,
    },
  ],
  AguiNotConnected: [
    {
      status: "not_found",
      connectionId: "agui-0f1e2d3c4b5a69788796a5b4c3d2e1f0",
      detail: "no stream has this id",
      detached: false,
    },
  ],
  ErrorBody: [refused],
  GatewayEvent: [{ seq: 41, kind: "accepted", at_utc: at("04:47:00"), request_id: requestId }],
  GatewayRequest: [
    { schema_version: 1, kind: "submit_prompt", payload: { prompt: "Run the tests." } },
    { schema_version: 1, kind: "interrupt", payload: {} },
  ],
  GatewaySnapshot: [{ schema_version: 1, status, terminal: null, requests: [request] }],
  GatewayStatus: [status],
  HeadlessState: [
    {
      schema_version: 1,
      runtime_resumable: true,
      tmux_session_live: true,
      can_accept_prompt_now: true,
      interruptible: false,
      chat_session: { current: null, startup_default: { mode: "new" }, next_prompt_override: null },
      request_admission: "open",
      active_execution: "idle",
      queue_depth: 0,
    },
  ],
  HealthBody: [{ protocol_version: "v1", status: "ok" }],
  NextPromptSession: [{ schema_version: 1, mode: "new" }],
  NotePromptRequest: [{ prompt: "Run the tests." }],
  NotifierAudit: [
    {
      schema_version: 1,
      rows: [
        {
          audit_id: 7,
          poll_time_utc: at("04:47:00"),
          trigger: "interval",
          outcome: "empty",
          detail: null,
          unread_count: 0,
          unread_digest: null,
          unread_summary: [],
          request_admission: "open",
          active_execution: "idle",
          queue_depth: 0,
          enqueued_request_id: null,
          context_error_policy: "continue_current",
          pre_notification_context_action: "none",
          context_action_outcome: null,
          degraded_tool_name: null,
          degraded_error_type: null,
          rendered_block_entries: [],
          prompt_chars: 0,
        },
      ],
      next_before: null,
    },
  ],
  NotifierStatus: [
    {
      schema_version: 1,
      enabled: true,
      interval_seconds: 60,
      ...notifierSettings,
      supported: true,
      support_error: null,
      last_poll_at_utc: at("04:47:00"),
      last_notification_at_utc: null,
      last_error: null,
    },
  ],
  NotifierUpdate: [
    { schema_version: 1, enabled: true, interval_seconds: 60, mode: "unread_only" },
    { quiet_hours: { start: "22:00", end: "07:00", time_zone: "Europe/Berlin" } },
  ],
  LedgerPage: [{ schema_version: 1, entries: [ledgerEntry], next: 41 }],
  LedgerSummary: [
    {
      schema_version: 1,
      since_utc: at("04:47:00"),
      groups: [
        {
          day: "2026-11-21",
          model: "claude-opus-4-8",
          wake_reason: "mail",
          tool: "claude",
          source: "tool",
          turns: 12,
          turns_not_covered: 1,
          ...ledgerTokens,
        },
      ],
    },
  ],
  OpenApiDocumentAnswer: [{ openapi: "3.1.1" }],
  PromptControlRequest: [{ schema_version: 2, prompt: "Run the tests.", admission_policy: "ready_only" }],
  PromptControlResult: [
    {
      status: "ok",
      action: "submit_prompt",
      sent: true,
      admission_policy: "ready_only",
      detail: "the prompt was typed",
    },
  ],
  PromptRefusalBody: [{ detail: refusal }],
  PromptRefusalBodyOrErrorBody: [{ detail: refusal }, refused],
  PromptRefusalBodyOrValidationErrorBody: [{ detail: refusal }, invalid],
  ReconcileResult: [{ schema_version: 1, managed_agent_instance_epoch: 2, failed_request_ids: [requestId] }],
  RefusedOrInvalid: [refused, invalid],
  ReminderCreateRequest: [
    { schema_version: 1, reminders: [reminder] },
    { schema_version: 1, reminders: [schedule] },
  ],
  ReminderDeleted: [
    {
      schema_version: 1,
      status: "ok",
      action: "delete_reminder",
      reminder_id: "greminder-7c3d9e51a0b2",
      deleted: true,
      detail: "the reminder was deleted",
    },
  ],
  ReminderFiring: [reminderFiring],
  ReminderList: [
    {
      schema_version: 1,
      effective_reminder_id: "greminder-7c3d9e51a0b2",
      reminders: [reminderRecord],
      firings: [reminderFiring],
    },
  ],
  ReminderRecord: [reminderRecord],
  ReminderUpdateRequest: [{ schema_version: 1, ...reminder, paused: true }],
  RequestList: [{ schema_version: 1, requests: [request] }],
  RequestRecord: [request],
  SendKeysRequest: [{ schema_version: 1, sequence: "yes<[Enter]>" }],
  SendKeysResult: [{ status: "ok", action: "control_input", detail: "4 keys were pressed" }],
  TranscriptPage: [
    { schema_version: 1, turns: [transcriptTurn], next: null, gaps: [], damaged_lines: 0 },
    {
      schema_version: 1,
      turns: [],
      next: null,
      gaps: ["the record of claude is not there any more: eebe79b4-a5f2-477e-b9b2-2eef30dbdf42.jsonl"],
      damaged_lines: 0,
    },
  ],
  TranscriptTurn: [transcriptTurn],
  TurnEvents: [
    {
      tracked_agent_id: turnRecord.tracked_agent_id,
      turn_id: turnRecord.turn_id,
      entries: [
        {
          kind: "assistant",
          message: "The tests are green.",
          turn_index: 0,
          timestamp_utc: at("04:49:29"),
          payload: {
            provider: "claude",
            session_id: "5d0b6c1e-8f1d-4b52-9a57-0c3a4be5d7f1",
            data: { text: "The tests are green." },
            provider_event_type: "assistant",
            raw: { type: "assistant" },
          },
        },
      ],
      next: null,
    },
  ],
  TurnList: [{ schema_version: 1, turns: [turnRecord] }],
  TurnStatusRecord: [turnRecord],
  ValidationErrorBody: [invalid],
};
