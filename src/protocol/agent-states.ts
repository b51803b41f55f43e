import { type Static, Type } from "@sinclair/typebox";
import { AgentIdentity, AgentState } from "./agents.ts";
import { AttentionItem } from "./attention.ts";
import { agentIds, maxListed, Nullable, Strict, Timestamp } from "./wire.ts";

/** All agents in one answer, for who shows them together (additional). */

export const AgentStateEntry = Strict(
  {
    identity: AgentIdentity,
    state: Nullable(AgentState),
    turn_began_at_utc: Nullable({
      ...Timestamp,
      description: "when the turn began that runs now; null also where the look at the agent did not show it",
    }),
    failure: Nullable(
      Type.String({ description: "why there is no state; null also while the agent has not answered yet" }),
    ),
  },
  { description: "an agent, and what it is doing" },
);
export type AgentStateEntry = Static<typeof AgentStateEntry>;

export const AgentStateList = Strict(
  {
    after: Type.String({
      description: "what changed since these states is in `/svc/events` after this position",
    }),
    agents: Type.Array(AgentStateEntry, {
      maxItems: maxListed,
      description: "sorted by transport, then tracked_agent_id; those of other hosts last",
    }),
    attention: Type.Optional(
      Type.Array(AttentionItem, {
        maxItems: maxListed,
        description:
          "what waits for a person, as `GET /svc/attention` lists it; where it was asked for and known in time",
      }),
    ),
  },
  { description: "all agents, and what each is doing" },
);
export type AgentStateList = Static<typeof AgentStateList>;

export const AgentStatesQuery = Strict({
  agents: Type.Optional(agentIds(64, "ids of at most 64 agents, separated by commas; all without it")),
  attention: Type.Optional(Type.Literal("true", { description: "also what waits for a person" })),
  max_age_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 5000,
      default: 0,
      description: "how old a look at an agent may be that the server has already begun for others",
    }),
  ),
});

/** With this the page of the console begins: the server has begun to look when it served the page. */
export const firstLookQuery = { max_age_ms: 5000, attention: "true" } as const;
