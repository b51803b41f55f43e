import { type Static, Type } from "@sinclair/typebox";
import { AgentIdentity, AgentState } from "./agents.ts";
import { AttentionItem } from "./attention.ts";
import { agentIds, maxListed, Nullable, Strict, Timestamp } from "./wire.ts";

/** The states of all agents in one answer (additional). */

export const AgentStateEntry = Strict(
  {
    identity: AgentIdentity,
    state: Nullable(AgentState),
    turn_began_at_utc: Nullable({
      ...Timestamp,
      description: "when the running turn began; null without one, and when the snapshot did not show it",
    }),
    failure: Nullable(
      Type.String({ description: "why `state` is null; null also while the agent has not answered yet" }),
    ),
  },
  { description: "an agent and its state" },
);
export type AgentStateEntry = Static<typeof AgentStateEntry>;

export const AgentStateList = Strict(
  {
    after: Type.String({
      description: "a position of `/svc/events`; the events after it report every change of these states",
    }),
    agents: Type.Array(AgentStateEntry, {
      maxItems: maxListed,
      description: "sorted by transport, then tracked_agent_id; those of other hosts last",
    }),
    attention: Type.Optional(
      Type.Array(AttentionItem, {
        maxItems: maxListed,
        description: "as `GET /svc/attention` lists it; present when requested and known in time",
      }),
    ),
  },
  { description: "all agents and their states" },
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
      description: "how old the snapshot of an agent may be that the server took for another request",
    }),
  ),
});

/** The first query of the console. The server already took these snapshots when it served the page. */
export const initialStatesQuery = { max_age_ms: 5000, attention: "true" } as const;
