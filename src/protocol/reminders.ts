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
 * Reminders of one gateway: kept in its memory and gone when it stops, but for durable ones. Source: contract
 * 2.3, 3.3, 4.3; `durable`, `independent`, `cron` and firings are additional (ruling 17).
 */

/** Keys need no idle agent: at a finer cadence they would keep the gateway busy and fill its event log. */
const leastIntervalSeconds = 0.1;

/** How many one gateway holds: the effective one is looked for among all of them. */
export const maxReminders = 5000;

/** Characters of their texts that one gateway holds, in memory and in the answer that lists them. */
export const maxReminderChars = 2 * 2 ** 20;

/** Some 3,000 years: what lies further ahead cannot be written as a timestamp. */
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
  paused: Type.Optional(Type.Boolean({ default: false, description: "delivers nothing and still blocks" })),
  start_after_seconds: orNull(
    seconds("due so long after this request; exactly one of start_after_seconds and deliver_at_utc"),
  ),
  deliver_at_utc: orNull(
    Type.String({
      description:
        "due at this moment of the years 1970 to 5999, RFC 3339, UTC without an offset; one that is past is due at once; exactly one of start_after_seconds and deliver_at_utc",
      examples: ["2026-11-21T04:47:00+00:00"],
      ...enforced({ pattern: patterns.dueTime }),
    }),
  ),
  interval_seconds: orNull(
    Type.Number({
      minimum: leastIntervalSeconds,
      maximum: maxSeconds,
      description: "with mode repeat, and only then: from one due time to the next",
    }),
  ),
  cron: orNull(
    Type.String({
      maxLength: 200,
      description:
        "with mode repeat, instead of interval_seconds and of a first due time: minute, hour, day of month, month, day of week",
      examples: ["30 9 * * 1-5"],
      ...enforced({ pattern: patterns.cron }),
    }),
  ),
  time_zone: orNull(
    Type.String({
      maxLength: 100,
      description: "of `cron`: an IANA name; UTC when absent",
      examples: ["Europe/Berlin"],
    }),
  ),
  durable: orNull(
    Type.Boolean({
      description:
        "kept on disk: a gateway that starts again has it, and delivers once what fell due meanwhile; absent: true with `cron`, else false",
    }),
  ),
  independent: orNull(
    Type.Boolean({
      description: "blocks no other reminder and is blocked by none; absent: true with `cron`, else false",
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

/** What a caller says of a reminder. Rules across fields are checked by the service. */
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
    paused: Type.Boolean({ description: "whether it delivers nothing while it still blocks the others" }),
    selection_state: StringEnum(["effective", "blocked"], {
      description: "only the effective reminder is delivered",
    }),
    delivery_state: StringEnum(["scheduled", "overdue", "executing"], {
      description: "overdue by the clock alone, also while paused or blocked",
    }),
    created_at_utc: describe(Timestamp, "when it was created"),
    next_due_at_utc: describe(Timestamp, "when it is due next"),
    interval_seconds: Nullable(
      Type.Number({ description: "seconds from one due time to the next; null for one_off and with cron" }),
    ),
    last_started_at_utc: Nullable(
      describe(Timestamp, "when it was last delivered; null when it was not yet"),
    ),
    blocked_by_reminder_id: Nullable(Type.String({ description: "the effective reminder" })),
    waiting: Type.Optional({ ...Waiting, description: "why a reminder that may be delivered is overdue" }),
    durable: Type.Optional(Type.Literal(true, { description: "kept on disk; absent when it is not" })),
    independent: Type.Optional(
      Type.Literal(true, { description: "blocks no other and is blocked by none; absent when it is not so" }),
    ),
    cron: Type.Optional(Type.String({ description: "when it is due, instead of an interval" })),
    time_zone: Type.Optional(Type.String({ description: "of `cron`" })),
    last_request_id: Type.Optional(Type.String({ description: "of its last delivery; absent before it" })),
  },
  { description: "one reminder of the live gateway" },
);
export type ReminderRecord = Static<typeof ReminderRecord>;

/** A delivery that has ended, of a reminder that may be gone. */
export const ReminderFiring = Strict(
  {
    request_id: Type.String({
      description: "names the delivery in events and in the record of a headless turn",
    }),
    reminder_id: Type.String({ description: "the reminder, which may be gone" }),
    title: Type.String({ description: "of the reminder then, at most 120 characters" }),
    due_at_utc: describe(Timestamp, "when it was due"),
    started_at_utc: describe(Timestamp, "when the delivery began"),
    finished_at_utc: describe(Timestamp, "when the delivery ended"),
    outcome: StringEnum(["delivered", "failed", "unknown"], {
      description: "unknown: the gateway ended during the delivery, which is not repeated",
    }),
    detail: Nullable(Type.String({ description: "why it was not delivered" })),
  },
  { description: "one delivery of a reminder, ended" },
);
export type ReminderFiring = Static<typeof ReminderFiring>;

/** Deliveries that a list shows. */
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
        description: "the newest deliveries that have ended, newest first; absent when there was none",
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
    description: `Answers with the created ones, in their order. They live in the gateway's memory and make no queue rows: the effective one (smallest ranking, then oldest) is delivered when it is due, the queue is empty and, for a prompt, the agent can begin a turn. A durable one survives a restart of the gateway; what fell due meanwhile is delivered once. A delivery that a crash cut short is not repeated. An independent one blocks no other and is blocked by none. With \`cron\` it is due at times of the calendar in \`time_zone\`: those that the clocks skip are due once when they go forward, one that they repeat is due once; hours that begin with \`*\` leave out what is skipped and go on through both. A gateway holds at most ${maxReminders}; 409 then.`,
    body: ReminderCreateRequest,
    status: 200,
    response: ReminderList,
    errors: { 409: ErrorBody, 422: ValidationErrorBody, 503: ErrorBody },
  }),
  listReminders: endpoint({
    method: "GET",
    path: "/v1/reminders",
    summary: "The reminders of the live gateway",
    description: "In the order in which they become effective, with the newest deliveries that have ended.",
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
    description: "A delivery under way goes on to its end; nothing follows it.",
    status: 200,
    response: ReminderDeleted,
    errors: { 404: ErrorBody },
  }),
} as const;
