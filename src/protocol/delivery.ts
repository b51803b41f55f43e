import { type Static, Type } from "@sinclair/typebox";
import { attentionKinds } from "./attention.ts";
import { patterns } from "./enforced.ts";
import { AgentName } from "./fields.ts";
import { QuietHours } from "./notifier.ts";
import {
  describe,
  maxPage,
  NonBlank,
  Nullable,
  SchemaVersion1,
  Strict,
  StringEnum,
  Timestamp,
} from "./wire.ts";

/** Deliveries of attention items to the outside (additional; ruling 17). */

/** Optional fields of a delivered item; agent, reason and question are always there. */
const includable = ["options", "command", "evidence"] as const;

const seconds = (maximum: number, description: string) => Type.Integer({ minimum: 1, maximum, description });
const timeLimit = Type.Optional(seconds(120, "time limit of one attempt; default: 10"));
const secretFile = (what: string) =>
  NonBlank(`file with ${what}, mode 0600; relative to the folder of the rule file`);

export const CommandTarget = Strict(
  {
    argv: Type.Array(Type.String({ maxLength: 4096 }), {
      minItems: 1,
      maxItems: 64,
      description: "program and arguments; no shell reads them",
    }),
    timeout_seconds: timeLimit,
  },
  { description: "runs a program, which reads the delivery as JSON from its standard input" },
);
export type CommandTarget = Static<typeof CommandTarget>;

export const WebhookTarget = Strict(
  {
    url: NonBlank("https, or http on this machine"),
    secret_file: secretFile("the key of the signature (`whsec_` and base64)"),
    timeout_seconds: timeLimit,
  },
  { description: "POST of the delivery, signed by the convention Standard Webhooks" },
);
export type WebhookTarget = Static<typeof WebhookTarget>;

export const NtfyTarget = Strict(
  {
    url: NonBlank("address of the topic; https, or http on this machine"),
    title: Type.Optional(NonBlank("default: what waits, in one line")),
    priority: Type.Optional(Type.Integer({ minimum: 1, maximum: 5, description: "1 to 5, default: 3" })),
    tags: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), { maxItems: 16, description: "tags of ntfy" }),
    ),
    token_file: Type.Optional(secretFile("an access token")),
    timeout_seconds: timeLimit,
  },
  { description: "publishes to a topic of an ntfy server" },
);
export type NtfyTarget = Static<typeof NtfyTarget>;

export const MailTarget = Strict(
  {
    to: Type.String({ pattern: patterns.address, maxLength: 200, description: "who gets the mail" }),
    from: Type.String({ pattern: patterns.address, maxLength: 200, description: "address of the account" }),
    jmap_url: NonBlank("session address of the JMAP server; https, or http on this machine"),
    login_identity: Type.Optional(NonBlank("name of the login; default: `from`")),
    password_file: secretFile("the password"),
  },
  { description: "mail through an account of a JMAP server" },
);
export type MailTarget = Static<typeof MailTarget>;

export const deliveryTargets = ["command", "webhook", "ntfy", "mail"] as const;
export const DeliveryTargetKind = StringEnum(deliveryTargets, { description: "how it is sent" });
export type DeliveryTargetKind = Static<typeof DeliveryTargetKind>;

export const DeliveryRule = Strict({
  reasons: Type.Optional(
    Type.Array(StringEnum(attentionKinds), {
      minItems: 1,
      maxItems: attentionKinds.length,
      description: "kinds of items; default: all",
    }),
  ),
  agents: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      minItems: 1,
      maxItems: 64,
      description: "names of agents, `*` and `?` as wildcards; default: all",
    }),
  ),
  quiet_hours: Type.Optional({
    ...QuietHours,
    description: "daily hours without a delivery; their items are sent together at the end",
  }),
  digest: Type.Optional(
    seconds(
      86_400,
      "collects the items of this many seconds, counted from the first item, into one delivery",
    ),
  ),
  include: Type.Optional(
    Type.Array(StringEnum(includable), {
      maxItems: includable.length,
      description: "data beyond agent, reason and question",
    }),
  ),
  command: Type.Optional(CommandTarget),
  webhook: Type.Optional(WebhookTarget),
  ntfy: Type.Optional(NtfyTarget),
  mail: Type.Optional(MailTarget),
});
export type DeliveryRule = Static<typeof DeliveryRule>;

export const DeliveryRules = Strict(
  {
    version: Type.Literal(1),
    rules: Type.Record(Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" }), DeliveryRule, {
      additionalProperties: false,
      maxProperties: 64,
      description: "by name; each has exactly one target",
    }),
  },
  { title: "deliveries.yaml", description: "which attention items are delivered, and where to" },
);
export type DeliveryRules = Static<typeof DeliveryRules>;

/** One item, as the outbox stores it and as a target receives it. */
export const DeliveredItem = Strict({
  id: Type.String(),
  epoch: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  agent: Nullable(Type.String()),
  reason: StringEnum(attentionKinds),
  summary: Type.String(),
  question: Nullable(Type.String()),
  since_utc: Type.Union([Timestamp, Type.Null()]),
  options: Type.Optional(
    Type.Array(Strict({ answer: Type.String(), label: Type.String() }), { maxItems: 64 }),
  ),
  command: Type.Optional(Strict({ action: Nullable(Type.String()), text: Nullable(Type.String()) })),
  evidence: Type.Optional(Type.Array(Type.String(), { maxItems: 64 })),
});
export type DeliveredItem = Static<typeof DeliveredItem>;

/** The body that targets of kind command and webhook receive. */
export interface DeliveryBody {
  type: "attention" | "attention.test";
  timestamp: string;
  data: { delivery_id: string; rule: string; items: readonly DeliveredItem[] };
}

export const deliveryStates = ["pending", "delivered", "given_up", "withdrawn"] as const;
export const DeliveryState = StringEnum(deliveryStates, {
  description:
    "given_up: attempts failed for 24 h; withdrawn: all of its items ended before it was delivered, or its rule is gone",
});
export const Delivery = Strict(
  {
    sequence: Type.Integer({ minimum: 1, description: "position in the list" }),
    delivery_id: Type.String({ description: "the same in each attempt" }),
    rule: Type.String({ description: "name of its rule" }),
    target: describe(DeliveryTargetKind, "target of the rule when the delivery was created"),
    state: DeliveryState,
    attempts: Type.Integer({ description: "how often it was attempted", minimum: 0 }),
    created_at_utc: describe(Timestamp, "when it was created"),
    next_attempt_at_utc: Type.Union([Timestamp, Type.Null()], {
      description: "null unless it is pending",
    }),
    ended_at_utc: Type.Union([Timestamp, Type.Null()], {
      description: "when it was delivered, given up or withdrawn; null while it is pending",
    }),
    last_error: Nullable(Type.String({ description: "error of the last failed attempt" })),
    items: Type.Array(
      Strict({
        id: Type.String({ description: "id of the item" }),
        epoch: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description: "epoch of the item" }),
        agent_name: Nullable(AgentName),
        kind: StringEnum(attentionKinds, { description: "kind of the item" }),
      }),
      { maxItems: 100, description: "the items, without text of agents" },
    ),
  },
  { description: "one delivery of a rule" },
);
export type Delivery = Static<typeof Delivery>;

export const DeliveryList = Strict(
  {
    schema_version: SchemaVersion1,
    deliveries: Type.Array(Delivery, { maxItems: maxPage, description: "newest first" }),
    next_before: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description: "`before` of the next page; null on the last one",
    }),
  },
  { description: "deliveries to the outside" },
);
export type DeliveryList = Static<typeof DeliveryList>;

export const DeliveryQuery = Strict({
  before: Type.Optional(Type.Integer({ minimum: 1, description: "only deliveries with a smaller sequence" })),
  limit: Type.Integer({ minimum: 1, maximum: maxPage, default: 100, description: "at most this many" }),
  state: Type.Optional({ ...DeliveryState, description: "only deliveries in this state" }),
});
export type DeliveryQuery = Static<typeof DeliveryQuery>;
