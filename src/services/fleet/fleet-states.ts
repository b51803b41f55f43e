import type { AgentStateEntry, AgentStateList } from "../../protocol/agent-states.ts";
import type { AgentIdentity } from "../../protocol/agents.ts";
import type { AttentionItem } from "../../protocol/attention.ts";
import { maxListed } from "../../protocol/wire.ts";
import { type Clock, withinTime } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import { isRunning } from "../sessions/find.ts";
import { askEach } from "./ask-each.ts";
import type { Directory, KnownAgent } from "./directory.ts";
import type { FollowedFleet } from "./fleet-events.ts";
import type { AgentLook } from "./fleet-reader.ts";
import type { FleetReadings } from "./fleet-view.ts";
import type { Links } from "./links.ts";

interface SharedLook extends AgentLook {
  /** Of the events at all agents when the look began. */
  position: string;
  beganMs: number;
}

/** One look at an agent for all who ask at the same time. */
type SharedLooks = ReturnType<typeof createSharedLooks>;

/** How old a look may be that is still given to somebody. */
const maxSharedMs = 5000;

export function createSharedLooks(deps: {
  clock: Clock;
  look: (agent: KnownAgent) => Promise<AgentLook>;
  events: Pick<FollowedFleet, "position">;
}) {
  const { clock } = deps;
  /** In the order in which they began. */
  const begun = new Map<
    string,
    { record: KnownAgent["record"]; beganMs: number; look: Promise<SharedLook> }
  >();

  function forgetOld(nowMs: number): void {
    for (const [id, { beganMs }] of begun) {
      if (nowMs - beganMs <= maxSharedMs) return;
      begun.delete(id);
    }
  }

  return {
    /** A look that began at `sinceMs` or later, by the monotonic clock. Rejects as the look does. */
    at(agent: KnownAgent, sinceMs: number): Promise<SharedLook> {
      const { record } = agent;
      const beganMs = clock.monotonicMs();
      forgetOld(beganMs);
      const before = begun.get(record.agent_id);
      if (before && before.beganMs >= sinceMs && before.record === record) return before.look;
      const position = deps.events.position();
      const look = deps.look(agent).then((found) => ({ ...found, position, beganMs }));
      begun.delete(record.agent_id);
      begun.set(record.agent_id, { record, beganMs, look });
      return look;
    },
  };
}

/** All agents in one answer, those of this machine with their states. */
export type FleetStates = ReturnType<typeof createFleetStates>;

const noState = { state: null, turn_began_at_utc: null } as const;
/** Who asks for all of them draws what is known, and asks for the others one by one. */
const answerMs = 1000;

export function createFleetStates(deps: {
  clock: Clock;
  directory: Pick<Directory, "agents">;
  links: Pick<Links, "claims">;
  view: Pick<FleetReadings, "identityOf" | "stateOf">;
  looks: SharedLooks;
  events: Pick<FollowedFleet, "position">;
  /** What waits for a person. Never rejects. */
  attention: () => Promise<AttentionItem[]>;
  /** The agents of other hosts, which have no state here. */
  others?: () => Promise<AgentIdentity[]>;
}) {
  const { clock, directory, view } = deps;
  const unknown = async (agent: KnownAgent, failure: string | null) => ({
    identity: await view.identityOf(agent),
    ...noState,
    failure,
  });

  async function entryOf(agent: KnownAgent, sinceMs: number, began: (look: SharedLook) => void) {
    try {
      const mayBeServed = agent.found !== null && isRunning(agent.record);
      const shared =
        mayBeServed && agent.identity.transport === "tui" ? await deps.looks.at(agent, sinceMs) : null;
      if (shared?.reading?.gateway.state === "live") {
        began(shared);
        const { state } = shared.reading;
        return { identity: state.identity, state, turn_began_at_utc: shared.turnBeganAtUtc, failure: null };
      }
      if (agent.found === null || !deps.links.claims(agent.found)) return await unknown(agent, null);
      const state = await view.stateOf(agent);
      return { identity: state.identity, state, turn_began_at_utc: null, failure: null };
    } catch (error) {
      return unknown(agent, messageOf(error));
    }
  }

  return {
    /**
     * `agents`: ids, all without it. Looks that others began within `maxAgeMs` count; see `AgentStateList`.
     * Never rejects.
     */
    async list({
      agents,
      maxAgeMs = 0,
      attention = false,
    }: {
      agents?: readonly string[];
      maxAgeMs?: number;
      attention?: boolean;
    }): Promise<AgentStateList> {
      const nowMs = clock.monotonicMs();
      const sinceMs = nowMs - maxAgeMs;
      const wanted = agents && new Set(agents);
      const known = directory
        .agents()
        .filter(({ record }) => wanted?.has(record.agent_id) ?? true)
        .slice(0, maxListed);
      let oldest = { beganMs: nowMs, position: deps.events.position() };
      const [answered, items] = await Promise.all([
        askEach<KnownAgent, AgentStateEntry>(known, {
          clock,
          eachMs: answerMs,
          allMs: answerMs,
          ask: (agent) =>
            entryOf(agent, sinceMs, (look) => {
              if (look.beganMs < oldest.beganMs) oldest = look;
            }),
          late: (agent) => unknown(agent, null),
        }),
        attention ? withinTime(clock, answerMs, deps.attention()) : null,
      ]);
      const others = (await deps.others?.().catch(() => [])) ?? [];
      const foreign = others
        .filter((one) => wanted?.has(one.agent_id ?? one.tracked_agent_id) ?? true)
        .map((identity) => ({ identity, ...noState, failure: null }));
      return {
        after: oldest.position,
        agents: [...answered, ...foreign].slice(0, maxListed),
        ...(items === null ? {} : { attention: items }),
      };
    },
  };
}
