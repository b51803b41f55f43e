import { type Static, Type } from "@sinclair/typebox";
import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { Detail } from "./fields.ts";
import { noticeMaxChars } from "./mail.ts";
import { RemedyRecord } from "./remedy.ts";
import {
  describe,
  ErrorBody,
  maxPage,
  NonBlank,
  Nullable,
  SchemaVersion1,
  Strict,
  StringEnum,
  shortList,
  Timestamp,
} from "./wire.ts";

/** The mail notifier. Source: contract 2.6, 4.1 (notifier rules); rulings 3, 13, 17. */

export const NotifierMode = StringEnum(["any_inbox", "unread_only"], {
  description: "which mail wakes the agent; any_inbox: all mail in the inbox; unread_only: unread mail in it",
});
export const ContextErrorPolicy = StringEnum(["continue_current", "clear_context"], {
  description: "step before a wake-up prompt when the context is degraded: continue, or clear it first",
});
export const ContextAction = StringEnum(["none", "compact"], {
  description: "step before each wake-up prompt; compact: the tool's compact command is sent",
});
export const WakePolicy = StringEnum(["every_poll", "on_change"], {
  description:
    "when mail that already woke the agent wakes it again; every_poll: on each poll that finds eligible mail; on_change: a new message at once, an unchanged one after a pause that doubles from 5 minutes to an hour",
});

const timeOfDay = (description: string) =>
  Type.String({ pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$", description });

export const QuietHours = Strict(
  {
    start: timeOfDay("HH:MM; the first time without a wake-up"),
    end: timeOfDay("HH:MM, other than `start`; an earlier time than `start` is on the next day"),
    time_zone: NonBlank("IANA name, such as Europe/Berlin or UTC"),
  },
  { description: "daily hours in which the agent is not woken" },
);
export type QuietHours = Static<typeof QuietHours>;

const intervalSeconds = Type.Number({ minimum: 1, maximum: 86_400, description: "seconds between polls" });
const perMessageChars = Type.Integer({
  description: "maximum length of a notice in characters; a longer one is cut",
  minimum: 1,
  maximum: noticeMaxChars,
});
const totalChars = Type.Integer({
  description: "maximum characters of all notices of one prompt",
  minimum: 0,
  maximum: 65_536,
});
const maxTokens = 64;
const Tokens = Type.Array(NonBlank("a shared token"), {
  maxItems: maxTokens,
  description: "tokens that the verifier accepts; never shown again",
});

const config = {
  mode: NotifierMode,
  appendix_text: Type.String({ description: "guidance in each wake-up prompt, rendered unchanged" }),
  context_error_policy: ContextErrorPolicy,
  pre_notification_context_action: ContextAction,
  notify_block_render: StringEnum(["enabled", "disabled"], {
    description: "whether a wake-up prompt shows the notices of senders; disabled: none",
  }),
  notify_block_auth_mode: StringEnum(["permissive-log", "required"], {
    description: "which notices are shown; required: only those that the verifier passed",
  }),
  notify_block_auth_verifier: StringEnum(["none", "shared-token"], {
    description: "how notices are verified: not at all, or by a shared token",
  }),
  notify_block_shared_tokens: Tokens,
  notify_block_per_message_chars: perMessageChars,
  notify_block_total_chars: totalChars,
  wake_policy: WakePolicy,
  min_gap_seconds: Type.Number({
    minimum: 0,
    maximum: 86_400,
    description: "minimum time between two wake-ups; 0: no minimum",
  }),
  max_wakes_per_hour: Type.Integer({
    minimum: 0,
    maximum: 3600,
    description: "maximum wake-ups within an hour; 0: no limit",
  }),
  max_hops: Type.Integer({
    minimum: 0,
    maximum: 1000,
    description:
      "a message after this many replies wakes nobody, since agents that answer each other would never end; 0: no limit",
  }),
  quiet_hours: Nullable(QuietHours),
  require_attestation: StringEnum(["none", "verified"], {
    description:
      "which mail wakes the agent; verified: only mail with a valid signature of its sender's mailbox",
  }),
};

/** The stored settings. */
export const NotifierConfig = Strict({
  enabled: Type.Boolean({ description: "whether polls run" }),
  interval_seconds: Nullable(
    describe(intervalSeconds, "seconds between polls; null before the first setting"),
  ),
  ...config,
});
export type NotifierConfig = Static<typeof NotifierConfig>;

/** An omitted field, or null for a notify field, keeps its value. */
export const NotifierUpdate = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    enabled: Type.Optional(
      Type.Boolean({ description: "omitted: unchanged, or true for a notifier that was never configured" }),
    ),
    interval_seconds: Type.Optional(intervalSeconds),
    mode: Type.Optional(NotifierMode),
    appendix_text: Type.Optional(Type.String({ maxLength: 65_536, description: '"" clears it' })),
    context_error_policy: Type.Optional(ContextErrorPolicy),
    pre_notification_context_action: Type.Optional(ContextAction),
    notify_block_render: Type.Optional(Nullable(config.notify_block_render)),
    notify_block_auth_mode: Type.Optional(Nullable(config.notify_block_auth_mode)),
    notify_block_auth_verifier: Type.Optional(Nullable(config.notify_block_auth_verifier)),
    notify_block_shared_tokens: Type.Optional(Nullable(Tokens)),
    notify_block_per_message_chars: Type.Optional(Nullable(perMessageChars)),
    notify_block_total_chars: Type.Optional(Nullable(totalChars)),
    wake_policy: Type.Optional(WakePolicy),
    min_gap_seconds: Type.Optional(config.min_gap_seconds),
    max_wakes_per_hour: Type.Optional(config.max_wakes_per_hour),
    max_hops: Type.Optional(config.max_hops),
    require_attestation: Type.Optional(config.require_attestation),
    quiet_hours: Type.Optional(
      Type.Union([QuietHours, Type.Literal("none")], {
        description: "daily hours without a wake-up; none: no such hours",
      }),
    ),
  },
  { description: "settings to change; an absent field keeps its value" },
);
export type NotifierUpdate = Static<typeof NotifierUpdate>;

/** Why mail does not wake the agent (additional; ruling 17). */
export const WakeObstacle = Strict(
  {
    reason: StringEnum(
      [
        "disabled",
        "unsupported",
        "request_admission",
        "active_execution",
        "typing_lease",
        "queue_depth",
        "readiness",
        "budget",
        "quiet_hours",
        "max_wakes_per_hour",
        "min_gap_seconds",
        "wake_policy",
        "max_hops",
        "require_attestation",
        "poll_error",
        "pre_notification_context_error",
        "context_recovery_error",
        "busy_skip",
        "empty",
      ],
      {
        description:
          "a state of the gateway, a setting of the notifier or the outcome of its last poll; empty: that poll found no eligible mail",
      },
    ),
    detail: Detail,
  },
  { description: "one thing that keeps mail from waking the agent" },
);
export type WakeObstacle = Static<typeof WakeObstacle>;

export const NotifierStatus = Strict(
  {
    schema_version: SchemaVersion1,
    ...NotifierConfig.properties,
    notify_block_shared_tokens: Type.Array(Type.String(), {
      maxItems: maxTokens,
      description: "masked, one entry for each token",
    }),
    supported: Type.Boolean({ description: "whether the agent has a usable mailbox" }),
    support_error: Nullable(Type.String({ description: "why the notifier cannot run; null when it can" })),
    support_remedy: Type.Optional(RemedyRecord),
    last_poll_at_utc: Nullable(describe(Timestamp, "when the last poll ran; null when none has")),
    last_notification_at_utc: Nullable(
      describe(Timestamp, "when a wake-up prompt was last queued; null when none was"),
    ),
    last_error: Nullable(Type.String({ description: "error of the last poll; null when it succeeded" })),
    wake_obstacles: Type.Optional(
      Type.Array(WakeObstacle, {
        ...shortList,
        description:
          "what keeps mail from waking the agent, the first cause first; agent and queue as of now, mail as of the last poll; empty when nothing does",
      }),
    ),
  },
  { description: "settings and last results of the mail notifier" },
);
export type NotifierStatus = Static<typeof NotifierStatus>;

export const NotifierOutcome = StringEnum(
  [
    "enqueued",
    "empty",
    "busy_skip",
    "wake_held",
    "poll_error",
    "pre_notification_context_error",
    "context_recovery_error",
  ],
  {
    description:
      "what the poll decided; wake_held: wake_policy, min_gap_seconds, max_wakes_per_hour, quiet_hours, max_hops or require_attestation held the wake-up back, or the notifier was disabled during the poll; `detail` says which",
  },
);
export type NotifierOutcome = Static<typeof NotifierOutcome>;

export const RenderedBlockEntry = Strict(
  {
    message_ref: Type.String({ description: "opaque reference of a message" }),
    rendered: Type.Boolean({ description: "whether the notice went into the prompt" }),
    auth_scheme: Type.String({ description: "`notify_auth.scheme` of the message; none without one" }),
    auth_outcome: StringEnum(["skipped", "passed", "failed"], {
      description: "what the verifier of `notify_auth` decided",
    }),
    auth_detail: Nullable(Type.String({ description: "why the verifier decided so; never holds a token" })),
    block_chars: Type.Integer({ description: "characters of the notice as rendered" }),
    block_truncated: Type.Boolean({ description: "whether the notice was cut" }),
  },
  { description: "how the notice of one message was handled" },
);
export type RenderedBlockEntry = Static<typeof RenderedBlockEntry>;

export const MailSummaryEntry = Strict(
  {
    message_ref: Type.String({ description: "opaque reference of a message" }),
    thread_ref: Nullable(
      Type.String({ description: "opaque reference of the thread; null when there is none" }),
    ),
    created_at_utc: describe(Timestamp, "when it was sent"),
    subject: Type.String({ description: "one line that says what the message is about" }),
  },
  { description: "one message that a poll found" },
);
export type MailSummaryEntry = Static<typeof MailSummaryEntry>;

export const NotifierTrigger = StringEnum(["interval", "doorbell"], {
  description:
    "cause of the poll; interval: the poll was due; doorbell: mail arrived, the gateway started, the notifier was enabled or changed, a busy agent became free, or a limit that held a wake-up back ended",
});
export type NotifierTrigger = Static<typeof NotifierTrigger>;

export const NotifierAuditRow = Strict(
  {
    audit_id: Type.Integer({ description: "number of the row, growing" }),
    poll_time_utc: describe(Timestamp, "when the poll began"),
    trigger: NotifierTrigger,
    outcome: NotifierOutcome,
    detail: Nullable(
      Type.String({ description: "reason of the outcome; null when the outcome says it all" }),
    ),
    unread_count: Nullable(
      Type.Integer({
        description:
          "messages in the inbox that may wake the agent: the newest ones that `mode` selects, without unreadable ones and those that max_hops or require_attestation excludes; `detail` names what is not counted; null when the mailbox could not be read",
      }),
    ),
    unread_digest: Nullable(Type.String({ description: "sha256 of the sorted references" })),
    unread_summary: Type.Array(MailSummaryEntry, {
      ...shortList,
      description: "the oldest messages; unread_count counts all",
    }),
    request_admission: Nullable(
      Type.String({ description: "of the gateway at the poll; null when it was not asked" }),
    ),
    active_execution: Nullable(
      Type.String({ description: "of the gateway at the poll; null when it was not asked" }),
    ),
    queue_depth: Nullable(
      Type.Integer({ description: "of the gateway at the poll; null when it was not asked" }),
    ),
    enqueued_request_id: Nullable(
      Type.String({ description: "the wake-up prompt in the queue; null when none was queued" }),
    ),
    context_error_policy: ContextErrorPolicy,
    pre_notification_context_action: ContextAction,
    context_action_outcome: Nullable(
      Type.String({ description: "result of the context action before the prompt; null without one" }),
    ),
    degraded_tool_name: Nullable(
      Type.String({ description: "the tool that showed a degraded context; null when none" }),
    ),
    degraded_error_type: Nullable(
      Type.String({ description: "which kind of degradation the tool showed; null when none" }),
    ),
    rendered_block_entries: Type.Array(RenderedBlockEntry, {
      ...shortList,
      description: "what became of each notice",
    }),
    prompt_chars: Type.Integer({ description: "characters of the prompt, the cost of waking" }),
  },
  { description: "one poll: its findings and its outcome" },
);
export type NotifierAuditRow = Static<typeof NotifierAuditRow>;

export const NotifierAudit = Strict(
  {
    schema_version: SchemaVersion1,
    rows: Type.Array(NotifierAuditRow, { maxItems: maxPage, description: "newest first" }),
    next_before: Nullable(Type.Integer({ description: "`before` of the next page; null at the end" })),
  },
  { description: "one page of polls" },
);
export type NotifierAudit = Static<typeof NotifierAudit>;

/** The mail notifier's routes (contract 4.1; ruling 13). */
export const notifierEndpoints = {
  readNotifier: endpoint({
    method: "GET",
    path: "/v1/mail-notifier",
    summary: "The settings and the last results of the mail notifier",
    status: 200,
    response: NotifierStatus,
  }),
  updateNotifier: endpoint({
    method: "PUT",
    path: "/v1/mail-notifier",
    summary: "Enable the mail notifier or change it",
    description:
      "Keeps every omitted field, `enabled` and `interval_seconds` included; enables a notifier that was never configured. Enabling is refused, and nothing changes, when the session has no usable mailbox.",
    body: NotifierUpdate,
    status: 200,
    response: NotifierStatus,
    errors: { 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  disableNotifier: endpoint({
    method: "DELETE",
    path: "/v1/mail-notifier",
    summary: "Disable the mail notifier",
    description: "Keeps all settings for a later PUT with `enabled` true. Harmless to repeat.",
    status: 200,
    response: NotifierStatus,
  }),
  notifierAudit: endpoint({
    method: "GET",
    path: "/v1/mail-notifier/audit",
    summary: "What each poll found and decided, newest first",
    description:
      "One row for each poll; the newest 20,000 are kept. A page ends at 8 MiB too; `next_before` continues it.",
    query: Strict({
      limit: Type.Integer({ minimum: 1, maximum: 1000, default: 50, description: "at most this many" }),
      before: Type.Optional(Type.Integer({ minimum: 1, description: "only rows before this audit_id" })),
    }),
    status: 200,
    response: NotifierAudit,
    errors: { 422: RefusedOrInvalid },
  }),
} as const;
