/** Examples of bodies about an agent's terminal, by component. Each is an instance of its schema. */

const at = (time: string) => `2026-11-21T${time}.000+00:00`;

export const surface = {
  accepting_input: "yes",
  editing_input: "no",
  ready_posture: "yes",
  pending_input: "no",
};
const turn = { phase: "ready" };
const lastTurn = { result: "success", source: "explicit_input", updated_at_utc: at("04:49:30") };
export const diagnostics = {
  availability: "available",
  transport_state: "tmux_up",
  process_state: "tui_up",
  parse_status: "parsed",
  probe_error: null,
  parse_error: null,
};
export const stability = {
  signature: "5f1d7a84db4a1c0cbbb1f0a36a5e3a9d2c8e4b71",
  stable: true,
  stable_for_seconds: 12.5,
  stable_since_utc: at("04:49:30"),
  screen_since_utc: at("04:49:30"),
};
const observed = {
  diagnostics,
  probe_snapshot: null,
  parsed_surface: null,
  surface,
  turn,
  last_turn: lastTurn,
  chat_context: "current",
  chat_context_diagnostic: null,
  stability,
};
const terminalState = {
  terminal_id: "local_interactive-20261121-044700Z-1a2b3c4d",
  tracked_session: {
    tracked_session_id: "local_interactive-20261121-044700Z-1a2b3c4d",
    session_name: "SVC-worker-1795236420000",
    tool: "claude",
    observed_tool_version: null,
    tmux_session_name: "SVC-worker-1795236420000",
    tmux_window_name: "agent",
    terminal_aliases: [],
    agent_name: "worker",
    agent_id: null,
    manifest_path: null,
    session_root: null,
  },
  ...observed,
  recent_transitions: [],
};

const reasoned = (value: string, reason: string) => ({ value, reason });

const typingLease = {
  holder: "ann",
  since_utc: "2026-11-21T04:47:00.000+00:00",
  until_utc: "2026-11-21T04:48:00.000+00:00",
};

export const terminalExamples: Readonly<Record<string, readonly unknown[]>> = {
  DecisionAnswer: [{ schema_version: 1, option: 1 }],
  DecisionResult: [{ status: "ok", action: "decide", option: { index: 1, text: "Yes, proceed" } }],
  TerminalExplanation: [
    {
      tool: "claude",
      profile_version: "2.1",
      proved_versions: ["2.1.197"],
      tool_version: "2.1.197",
      surface: {
        accepting_input: reasoned("yes", "the prompt is visible"),
        editing_input: reasoned("no", "the composer is empty"),
        ready_posture: reasoned("yes", "the prompt is visible and nothing runs"),
        pending_input: reasoned("no", "no queued row above the composer"),
      },
      title: "idle",
      active_reasons: [],
      fired_rules: [{ rule: "composer", row: 30, seen: "❯" }],
      turn: { phase: "ready", reason: "ready posture" },
      last_turn: lastTurn,
      awaiting_decision: null,
      prompt_ready: { holds: true, failing: [] },
      reports: {
        absence: null,
        received: 2,
        session_id: "5d0b6c1e-8f1d-4b52-9a57-0c3a4be5d7f1",
        last: { kind: "turn_ended", at_utc: at("04:49:30") },
        contradictions: [],
      },
    },
  ],
  TerminalHistory: [
    {
      terminal_id: terminalState.terminal_id,
      tracked_session_id: terminalState.terminal_id,
      entries: [{ recorded_at_utc: at("04:49:42"), ...observed }],
    },
  ],
  TerminalState: [terminalState],
  WaitResult: [
    { schema_version: 1, for: "ready", satisfied: true, waited_seconds: 2.5, state: terminalState },
  ],
  ConsoleSession: [
    { schema_version: 1, surface: "coordinator", agent: null, signed_in: "not_needed", version: "0.1.0" },
  ],
  SignInCode: [
    {
      schema_version: 1,
      sign_in_path:
        "/svc/console/sign-in?code=5d0b6c1e8f1d4b529a570c3a4be5d7f15d0b6c1e8f1d4b529a570c3a4be5d7f1",
      expires_at_utc: "2026-11-21T04:49:00.000+00:00",
    },
  ],
  SignedOut: [{ status: "ok", action: "sign_out" }],
  ScreenEvent: [
    {
      kind: "screen",
      agent_id: "5f4dcc3b5aa765d61d8327deb882cf99",
      at_utc: "2026-11-21T04:47:00.000+00:00",
      epoch: 1,
      revision: 7,
      whole: false,
      width: 110,
      height: 36,
      cursor: { row: 34, column: 2 },
      rows: [
        {
          row: 30,
          runs: [{ text: "Run the tests? " }, { text: "Yes", foreground: "palette:2", bold: true }],
        },
      ],
    },
    {
      kind: "screen_absent",
      agent_id: "5f4dcc3b5aa765d61d8327deb882cf99",
      at_utc: "2026-11-21T04:47:00.000+00:00",
      reason: "no gateway runs for this agent",
    },
  ],
  LeaseGrant: [{ schema_version: 1, lease_id: "7d0b6c1e8f1d4b529a570c3a4be5d7f1", lease: typingLease }],
  LeaseRequest: [{ holder: "ann" }],
  LeaseState: [{ schema_version: 1, lease: typingLease }],
  TypeRequest: [{ lease_id: "7d0b6c1e8f1d4b529a570c3a4be5d7f1", text: "ls\r" }],
  TypeResult: [{ status: "ok", action: "type", lease: typingLease }],
};

/** Examples of mail bodies, by component. Each is an instance of its schema. */

const identity = {
  schema_version: 1,
  transport: "filesystem",
  principal_id: "SVC-worker",
  address: "worker@svc.localhost",
};
const person = (address: string) => ({ address, display_name: null, principal_id: null });
const message = {
  message_ref: "filesystem:20261121-044700Z-9f86d081",
  thread_ref: "filesystem:20261121-044700Z-9f86d081",
  created_at_utc: "2026-11-21T04:47:00.000+00:00",
  subject: "The build is red",
  read: false,
  answered: false,
  archived: false,
  box: "inbox",
  unread: true,
  body_preview: "Two tests fail since noon.",
  body_text: null,
  sender: person("lead@svc.localhost"),
  to: [person("worker@svc.localhost")],
  cc: [],
  reply_to: [],
  attachments: [],
  notify_block: { text: "the build is red", placement: "append" },
  notify_auth: null,
};
const refs = { schema_version: 1, message_refs: [message.message_ref] };
const changed = { ...message, read: true, unread: false };
const body = "Two tests fail since noon. Please look.";

export const mailExamples: Readonly<Record<string, readonly unknown[]>> = {
  MailArchiveRequest: [refs],
  MailLifecycleResult: [{ ...identity, operation: "mark", message_count: 1, messages: [changed] }],
  MailList: [
    {
      ...identity,
      box: "inbox",
      message_count: 1,
      open_count: 1,
      unread_count: 1,
      messages: [message],
      next_cursor: null,
    },
  ],
  MailListRequest: [{ schema_version: 1, box: "inbox", read_state: "unread", limit: 20 }],
  MailMarkRequest: [{ ...refs, read: true }],
  MailMoveRequest: [{ ...refs, destination_box: "later" }],
  MailPostRequest: [{ schema_version: 1, subject: "Stop for today", body_content: body }],
  MailRefRequest: [{ schema_version: 1, message_ref: message.message_ref }],
  MailReplyRequest: [
    { schema_version: 1, message_ref: message.message_ref, body_content: "It is green again." },
  ],
  MailResult: [{ ...identity, operation: "read", message: { ...changed, body_text: body } }],
  MailSendRequest: [
    {
      schema_version: 1,
      to: ["worker@svc.localhost"],
      subject: "The build is red",
      body_content: body,
      notify_block: { text: "the build is red" },
    },
  ],
  MailStatus: [{ ...identity, bindings_version: "2026-11-21T04:40:00.000+00:00" }],
};
