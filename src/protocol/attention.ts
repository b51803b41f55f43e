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
    "question and permission: the agent asks; draft: a prompt waits behind a text in its composer; unknown_request: whether the agent took it is not known; closed_queue: its gateway accepts no work; held_wakes: mail waits and a limit keeps it from waking the agent; budget: it or its team reached one; mail: a person has not read it",
});
export type AttentionKind = Static<typeof AttentionKind>;

export const AttentionAnswer = Strict(
  {
    answer: Type.String({ description: "what to send as `answer`" }),
    label: Type.String({
      description:
        "the option in the agent's words; of a question with several choices behind `[ ]` or `[x]`: to answer it changes that",
    }),
    description: Type.Optional(Type.String({ description: "what the agent says of the option" })),
  },
  { description: "one answer that a question allows" },
);

export const AttentionItem = Strict(
  {
    id: Type.String({
      description:
        "of this condition, also after a restart of the server; a new question or failure has another id",
    }),
    kind: AttentionKind,
    agent_id: Nullable(Type.String({ description: "null for mail that no known agent wrote" })),
    agent_name: Nullable(AgentName),
    tracked_agent_id: Nullable(Type.String({ description: "null for mail" })),
    address: Nullable(Type.String({ description: "of the person whose mail it is; null for other kinds" })),
    since_utc: Type.Union([Timestamp, Type.Null()], {
      description: "when it began or was first seen; null when nobody recorded that",
    }),
    age_seconds: Nullable(
      Type.Number({ description: "since since_utc; null where that is null", minimum: 0 }),
    ),
    epoch: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: "which instance of the agent it is about; null when its gateway does not say",
    }),
    reason: Type.String({ description: "one sentence" }),
    question: Nullable(Type.String({ description: "in the agent's words; empty when it could not be read" })),
    subject: Nullable(
      Strict(
        {
          action: Nullable(Type.String({ description: "the tool call that asks, such as `Bash`" })),
          text: Nullable(Type.String({ description: "the command, file or address that it is about" })),
        },
        { description: "as the agent's tool reported it; null when it reported nothing" },
      ),
    ),
    evidence: Type.Array(Type.String(), { ...shortList, description: "what was seen, one fact each" }),
    answers: Type.Array(AttentionAnswer, {
      ...shortList,
      description: "what can be answered through this API; empty when a person has to act elsewhere",
    }),
    next: Type.String({ description: "what to do, one sentence" }),
    command: Nullable(Type.String({ description: "the command line that does it, where there is one" })),
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
  agent: Type.Optional(NonBlank("only what this agent waits for or wrote; any name or id of it")),
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
        description: "`epoch` of the item that was read; another one by then is refused",
      }),
    ),
  },
  { description: "what a person answers" },
);
export type AttentionAnswerRequest = Static<typeof AttentionAnswerRequest>;

export const AttentionAnswered = Strict(
  {
    status: Type.Literal("ok"),
    id: Type.String({ description: "of the item" }),
    answer: describe(AttentionAnswer, "the option that was chosen"),
  },
  { description: "what was answered" },
);
export type AttentionAnswered = Static<typeof AttentionAnswered>;

export const attentionEventKinds = {
  attention_list: "everything that waits now; the first event of each stream",
  attention_added: "something waits that did not",
  attention_changed: "what waits is still the same and reads otherwise, such as an option that was marked",
  attention_gone: "it waits no more",
} as const;

export const AttentionEvent = Strict(
  {
    kind: StringEnum(Object.keys(attentionEventKinds) as [keyof typeof attentionEventKinds], {
      description: "what kind it is",
    }),
    at_utc: EventTime,
    items: Type.Array(AttentionItem, {
      maxItems: maxListed,
      description: "all items with attention_list, else the one item; of attention_gone as it was last seen",
    }),
  },
  { description: "what waits for a person, or what of it came, changed or went" },
);
export type AttentionEvent = Static<typeof AttentionEvent>;
