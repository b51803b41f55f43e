import { type Static, Type } from "@sinclair/typebox";
import { AgentName, EventTime } from "./fields.ts";
import { RemedyRecord } from "./remedy.ts";
import {
  describe,
  maxListed,
  NonBlank,
  Nullable,
  SchemaVersion1,
  Strict,
  StringEnum,
  shortList,
  Timestamp,
} from "./wire.ts";

/** What waits for a person, over all agents (additional; ruling 17). */

export const attentionKinds = [
  "question",
  "permission",
  "usage_limit",
  "draft",
  "dead_agent",
  "dead_gateway",
  "stuck_agent",
  "failed_request",
  "unknown_request",
  "closed_queue",
  "held_wakes",
  "budget",
  "mail",
] as const;

export const AttentionKind = StringEnum(attentionKinds, {
  description:
    "question and permission: the agent asks; draft: a prompt waits because the composer holds a text; unknown_request: it is not known whether the agent took the request; closed_queue: the gateway accepts no work; held_wakes: mail waits and a limit keeps it from waking the agent; budget: the agent or its team reached a budget; mail: a person has unread mail",
});
export type AttentionKind = Static<typeof AttentionKind>;

export const AttentionAnswer = Strict(
  {
    answer: Type.String({ description: "what to send as `answer`" }),
    label: Type.String({
      description:
        "the option in the agent's words; `[ ]` or `[x]` before it marks a question with several choices, where an answer toggles the option",
    }),
    description: Type.Optional(Type.String({ description: "the agent's description of the option" })),
  },
  { description: "one answer that a question allows" },
);

export const AttentionItem = Strict(
  {
    id: Type.String({
      description:
        "id of this condition; the same after a restart of the server. A new question or failure has another id",
    }),
    kind: AttentionKind,
    agent_id: Nullable(Type.String({ description: "null for mail that no known agent wrote" })),
    agent_name: Nullable(AgentName),
    tracked_agent_id: Nullable(Type.String({ description: "null for mail" })),
    address: Nullable(
      Type.String({ description: "address of the person who has the mail; null for other kinds" }),
    ),
    since_utc: Type.Union([Timestamp, Type.Null()], {
      description: "when it began or was first seen; null when that was not recorded",
    }),
    age_seconds: Nullable(
      Type.Number({ description: "seconds since since_utc; null when that is null", minimum: 0 }),
    ),
    epoch: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: "epoch of the agent's instance; null when the gateway does not report it",
    }),
    reason: Type.String({ description: "one sentence" }),
    question: Nullable(Type.String({ description: "in the agent's words; empty when it could not be read" })),
    subject: Nullable(
      Strict(
        {
          action: Nullable(Type.String({ description: "the tool call that asks, such as `Bash`" })),
          text: Nullable(Type.String({ description: "the command, file or address of the call" })),
        },
        { description: "the tool call behind the item, as the tool reported it; null without a report" },
      ),
    ),
    evidence: Type.Array(Type.String(), { ...shortList, description: "observations, one fact each" }),
    answers: Type.Array(AttentionAnswer, {
      ...shortList,
      description: "the answers that this API accepts; empty when a person has to act elsewhere",
    }),
    next: Type.String({ description: "what to do, one sentence" }),
    command: Nullable(Type.String({ description: "the command line that does it; null without one" })),
    remedy: Type.Optional(RemedyRecord),
  },
  { description: "one thing that waits for a person" },
);
export type AttentionItem = Static<typeof AttentionItem>;

export const AttentionList = Strict(
  {
    schema_version: SchemaVersion1,
    items: Type.Array(AttentionItem, {
      maxItems: maxListed,
      description: "oldest first, those of unknown age before all others; mail last",
    }),
  },
  { description: "what waits for a person" },
);
export type AttentionList = Static<typeof AttentionList>;

export const AttentionQuery = Strict({
  agent: Type.Optional(NonBlank("name or id of an agent: only its items and the mail that it wrote")),
  kind: Type.Optional({ ...AttentionKind, description: "only items of this kind" }),
});
export type AttentionQuery = Static<typeof AttentionQuery>;

export const AttentionAnswerRequest = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    answer: NonBlank("`answer` or `label` of one of the item's answers"),
    epoch: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: "`epoch` of the item; refused when the agent has another epoch by then",
      }),
    ),
  },
  { description: "the answer of a person" },
);
export type AttentionAnswerRequest = Static<typeof AttentionAnswerRequest>;

export const AttentionAnswered = Strict(
  {
    status: Type.Literal("ok"),
    id: Type.String({ description: "id of the item" }),
    answer: describe(AttentionAnswer, "the option that was chosen"),
  },
  { description: "the item and its answer" },
);
export type AttentionAnswered = Static<typeof AttentionAnswered>;

export const attentionEventKinds = {
  attention_list: "all items; the first event of each stream",
  attention_added: "a new item",
  attention_changed: "the same item with another content, such as an option that was marked",
  attention_gone: "an item that no longer waits",
} as const;

export const AttentionEvent = Strict(
  {
    kind: StringEnum(Object.keys(attentionEventKinds) as [keyof typeof attentionEventKinds], {
      description: "kind of the event",
    }),
    at_utc: EventTime,
    items: Type.Array(AttentionItem, {
      maxItems: maxListed,
      description:
        "attention_list: all items; otherwise the one item, for attention_gone as it was last seen",
    }),
  },
  { description: "all items, or one item that was added, changed or removed" },
);
export type AttentionEvent = Static<typeof AttentionEvent>;
