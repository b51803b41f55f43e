import { type Static, Type } from "@sinclair/typebox";
import { endpoint } from "./endpoint.ts";
import { enforced, exactlyOne, keySequencePattern, patterns } from "./enforced.ts";
import { Detail } from "./fields.ts";
import { Waiting } from "./gateway.ts";
import {
  describe,
  ErrorBody,
  maxSequence,
  NonBlank,
  Nullable,
  SchemaVersion1,
  Strict,
  StringEnum,
  Timestamp,
  ValidationErrorBody,
  visiblePattern,
} from "./wire.ts";

/**
 * Reminders of one gateway. They are in its memory and end with it, except durable ones. Source: contract
 * 2.3, 3.3, 4.3; `durable`, `independent`, `cron` and firings are additional (ruling 17).
 */

/** Keys need no idle agent: a shorter interval would keep the gateway busy and fill its event log. */
const minIntervalSeconds = 0.1;

/** Reminders of one gateway at most: the search for the effective one reads all of them. */
export const maxReminders = 5000;

/** Characters of all reminder texts of one gateway at most, in memory and in the list. */
export const maxReminderChars = 2 * 2 ** 20;

/** About 3,000 years; a later time has no timestamp. */
const maxSeconds = 100_000_000_000;

const seconds = (description: string) =>
  Type.Number({ exclusiveMinimum: 0, maximum: maxSeconds, description });
const orNull = <T extends Parameters<typeof Nullable>[0]>(schema: T) => Type.Optional(Nullable(schema));

const ReminderMode = StringEnum(["one_off", "repeat"], {
  description: "repeat: due again and again; one_off: due once",
});

const definition = {
  mode: ReminderMode,
  title: NonBlank("for people; never given to the agent"),
  prompt: orNull(NonBlank("the text to submit; exactly one of prompt and send_keys")),
  send_keys: orNull(
    Strict(
      {
        sequence: NonBlank("text and <[Key]> tokens as for /v1/control/send-keys", {
          maxLength: maxSequence,
          ...enforced({ allOf: [{ pattern: visiblePattern }, { pattern: keySequencePattern }] }),
        }),
        ensure_enter: Type.Optional(
          Type.Boolean({
            default: true,
            description: "true: exactly one <[Enter]> ends what is pressed; false: exactly the sequence",
          }),
        ),
      },
      { description: "keys to press; exactly one of prompt and send_keys" },
    ),
  ),
  ranking: Type.Integer({
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "the smallest is effective and blocks all others; may be negative",
  }),
  paused: Type.Optional(
    Type.Boolean({ default: false, description: "delivers nothing but still blocks others" }),
  ),
  start_after_seconds: orNull(
    seconds(
      "seconds from this request to the due time; exactly one of start_after_seconds and deliver_at_utc",
    ),
  ),
  deliver_at_utc: orNull(
    Type.String({
      description:
        "due time in the years 1970 to 5999, RFC 3339, UTC without an offset; a past time is due at once; exactly one of start_after_seconds and deliver_at_utc",
      examples: ["2026-11-21T04:47:00+00:00"],
      ...enforced({ pattern: patterns.dueTime }),
    }),
  ),
  interval_seconds: orNull(
    Type.Number({
      minimum: minIntervalSeconds,
      maximum: maxSeconds,
      description: "seconds from one due time to the next; with mode repeat, and only then",
    }),
  ),
  cron: orNull(
    Type.String({
      maxLength: 200,
      description:
        "minute, hour, day of month, month, day of week; with mode repeat, instead of interval_seconds and a first due time",
      examples: ["30 9 * * 1-5"],
      ...enforced({ pattern: patterns.cron }),
    }),
  ),
  time_zone: orNull(
    Type.String({
      maxLength: 100,
      description: "time zone of `cron`, an IANA name; UTC when absent",
      examples: ["Europe/Berlin"],
    }),
  ),
  durable: orNull(
    Type.Boolean({
      description:
        "stored on disk and kept over restarts of the gateway, which delivers once a reminder that fell due meanwhile; absent: true with `cron`, else false",
    }),
  ),
  independent: orNull(
    Type.Boolean({
      description:
        "neither blocks other reminders nor is blocked by them; absent: true with `cron`, else false",
    }),
  ),
} as const;

const acrossFields = enforced({
  allOf: [
    exactlyOne(["prompt", "string"], ["send_keys", "object"]),
    {
      anyOf: [
        {
          required: ["cron"],
          properties: {
            mode: { const: "repeat" },
            cron: { type: "string" },
            interval_seconds: { type: "null" },
            start_after_seconds: { type: "null" },
            deliver_at_utc: { type: "null" },
          },
        },
        {
          properties: { cron: { type: "null" }, time_zone: { type: "null" } },
          allOf: [
            exactlyOne(["start_after_seconds", "number"], ["deliver_at_utc", "string"]),
            {
              anyOf: [
                {
                  required: ["interval_seconds"],
                  properties: { mode: { const: "repeat" }, interval_seconds: { type: "number" } },
                },
                { properties: { mode: { const: "one_off" }, interval_seconds: { type: "null" } } },
              ],
            },
          ],
        },
      ],
    },
  ],
});

/** The definition of a reminder in a request. The service checks rules across fields. */
export const ReminderDefinition = Strict(definition, {
  ...acrossFields,
  description:
    "a prompt or keys, due after some seconds or at a time, once or with an interval: exactly one of each pair; or due by a cron expression",
});
export type ReminderDefinition = Static<typeof ReminderDefinition>;

export const ReminderCreateRequest = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    reminders: Type.Array(ReminderDefinition, {
      minItems: 1,
      maxItems: maxReminders,
      description: "all of them are created or none",
    }),
  },
  { description: "reminders to create" },
);

export const ReminderUpdateRequest = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    ...definition,
  },
  { ...acrossFields, description: "the whole definition, as for a new reminder" },
);

export const ReminderRecord = Strict(
  {
    schema_version: SchemaVersion1,
    reminder_id: Type.String({ description: "id of the reminder" }),
    mode: ReminderMode,
    delivery_kind: StringEnum(["prompt", "send_keys"], {
      description: "what is delivered: a prompt or keys",
    }),
    title: Type.String({ description: "short text for people" }),
    prompt: Nullable(Type.String({ description: "the text to submit; null for keys" })),
    send_keys: Nullable(
      Strict(
        {
          sequence: Type.String({ description: "text and <[Key]> tokens" }),
          ensure_enter: Type.Boolean({ description: "true: exactly one <[Enter]> ends what is pressed" }),
        },
        { description: "the keys to press; null for a prompt" },
      ),
    ),
    ranking: Type.Integer({ description: "the smallest is effective" }),
    paused: Type.Boolean({ description: "whether the reminder delivers nothing but still blocks others" }),
    selection_state: StringEnum(["effective", "blocked"], {
      description: "only the effective reminder is delivered",
    }),
    delivery_state: StringEnum(["scheduled", "overdue", "executing"], {
      description: "overdue: the due time has passed, also while paused or blocked",
    }),
    created_at_utc: describe(Timestamp, "when it was created"),
    next_due_at_utc: describe(Timestamp, "when it is due next"),
    interval_seconds: Nullable(
      Type.Number({ description: "seconds from one due time to the next; null for one_off and with cron" }),
    ),
    last_started_at_utc: Nullable(describe(Timestamp, "when its last delivery began; null before the first")),
    blocked_by_reminder_id: Nullable(Type.String({ description: "the effective reminder" })),
    waiting: Type.Optional({
      ...Waiting,
      description: "why an overdue reminder waits that is neither paused nor blocked",
    }),
    durable: Type.Optional(Type.Literal(true, { description: "stored on disk; absent when not" })),
    independent: Type.Optional(
      Type.Literal(true, { description: "neither blocks others nor is blocked; absent when not" }),
    ),
    cron: Type.Optional(
      Type.String({ description: "calendar times of the reminder, instead of an interval" }),
    ),
    time_zone: Type.Optional(Type.String({ description: "time zone of `cron`" })),
    last_request_id: Type.Optional(
      Type.String({ description: "id of its last delivery; absent before the first" }),
    ),
  },
  { description: "one reminder of the live gateway" },
);
export type ReminderRecord = Static<typeof ReminderRecord>;

/** An ended delivery; its reminder may be deleted. */
export const ReminderFiring = Strict(
  {
    request_id: Type.String({
      description: "id of the delivery in events and in the record of a headless turn",
    }),
    reminder_id: Type.String({ description: "id of the reminder, which may be deleted" }),
    title: Type.String({ description: "title of the reminder at that time, at most 120 characters" }),
    due_at_utc: describe(Timestamp, "when it was due"),
    started_at_utc: describe(Timestamp, "when the delivery began"),
    finished_at_utc: describe(Timestamp, "when the delivery ended"),
    outcome: StringEnum(["delivered", "failed", "unknown"], {
      description: "unknown: the gateway ended during the delivery, which is not repeated",
    }),
    detail: Nullable(Type.String({ description: "why it was not delivered" })),
  },
  { description: "one ended delivery of a reminder" },
);
export type ReminderFiring = Static<typeof ReminderFiring>;

/** Deliveries in a list at most. */
export const listedFirings = 20;

export const ReminderList = Strict(
  {
    schema_version: SchemaVersion1,
    effective_reminder_id: Nullable(Type.String({ description: "null when there is no reminder" })),
    reminders: Type.Array(ReminderRecord, {
      description: "in the order in which they become effective",
      maxItems: maxReminders,
    }),
    firings: Type.Optional(
      Type.Array(ReminderFiring, {
        maxItems: listedFirings,
        description: "the newest ended deliveries, newest first; absent when there was none",
      }),
    ),
  },
  { description: "reminders, the effective one first" },
);
export type ReminderList = Static<typeof ReminderList>;

export const ReminderDeleted = Strict(
  {
    schema_version: SchemaVersion1,
    status: Type.Literal("ok"),
    action: Type.Literal("delete_reminder"),
    reminder_id: Type.String({ description: "id of the reminder" }),
    deleted: Type.Literal(true),
    detail: Detail,
  },
  { description: "the reminder is gone" },
);
export type ReminderDeleted = Static<typeof ReminderDeleted>;
const path = "/v1/reminders/:reminder_id";

/** The routes of reminders (contract 4.1). */
export const reminderEndpoints = {
  createReminders: endpoint({
    method: "POST",
    path: "/v1/reminders",
    summary: "Create reminders",
    description: `Answers with the created reminders, in their order. Reminders are in the gateway's memory and have no queue rows. The effective one (smallest ranking, then oldest) is delivered when it is due, the queue is empty and, for a prompt, the agent can begin a turn. A durable reminder survives a restart of the gateway; one that fell due meanwhile is delivered once. A delivery that a crash cut short is not repeated. An independent reminder neither blocks others nor is blocked. With \`cron\` a reminder is due at calendar times in \`time_zone\`. When clocks go forward, the skipped times are due together once; when clocks go back, a repeated time is due once. With hours that begin with \`*\`, skipped times are left out and repeated times are due both times. A gateway holds at most ${maxReminders} reminders; a further one gets 409.`,
    body: ReminderCreateRequest,
    status: 200,
    response: ReminderList,
    errors: { 409: ErrorBody, 422: ValidationErrorBody, 503: ErrorBody },
  }),
  listReminders: endpoint({
    method: "GET",
    path: "/v1/reminders",
    summary: "The reminders of the live gateway",
    description: "In the order in which they become effective, with the newest ended deliveries.",
    status: 200,
    response: ReminderList,
  }),
  readReminder: endpoint({
    method: "GET",
    path,
    summary: "One reminder",
    status: 200,
    response: ReminderRecord,
    errors: { 404: ErrorBody },
  }),
  updateReminder: endpoint({
    method: "PUT",
    path,
    summary: "Redefine a reminder",
    description:
      "The whole definition, not a part of it; the due time counts from this request. Refused with 409 while the reminder is being delivered.",
    body: ReminderUpdateRequest,
    status: 200,
    response: ReminderRecord,
    errors: { 404: ErrorBody, 409: ErrorBody, 422: ValidationErrorBody },
  }),
  deleteReminder: endpoint({
    method: "DELETE",
    path,
    summary: "Delete a reminder",
    description: "A running delivery continues to its end; no other follows.",
    status: 200,
    response: ReminderDeleted,
    errors: { 404: ErrorBody },
  }),
} as const;
