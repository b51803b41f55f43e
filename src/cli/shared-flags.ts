import type { Flags } from "./command.ts";

/** Flags of every command that touches agents: where their records and sessions are. */
export const rootFlags = {
  "runtime-root": { type: "string", description: "folder of the sessions", valueHint: "DIR", hidden: true },
  "registry-root": { type: "string", description: "folder of the registry", valueHint: "DIR", hidden: true },
} satisfies Flags;

/** Flags of `agents single`: which agent is meant. */
export const targetFlags = {
  "agent-name": {
    type: "string",
    description: "the agent's name",
    valueHint: "NAME",
    offers: "agent-names",
  },
  "agent-id": {
    type: "string",
    description: "the agent's id, where a name is not enough",
    valueHint: "ID",
    offers: "agent-ids",
  },
} satisfies Flags;
