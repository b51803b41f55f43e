import { expect, test } from "bun:test";
import type { AgentState } from "../../../src/protocol/agents.ts";
import { unusableFacts } from "../../../src/services/fleet/attention-facts.ts";
import type { KnownAgent } from "../../../src/services/fleet/directory.ts";
import type { AgentReading } from "../../../src/services/fleet/fleet-reader.ts";
import { createFleetStates, createSharedLooks } from "../../../src/services/fleet/fleet-states.ts";
import type { GatewayClient } from "../../../src/services/fleet/gateway-client.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createFakeDirectory, liveLink, noLink, sampleKnown } from "../../support/fleet-fakes.ts";

const idle = ({ identity }: KnownAgent) =>
  ({ identity: { ...identity, has_gateway: true }, turn: { phase: "ready" } }) as AgentState;

/** `served`: by a gateway that answers; `silent`: by one that never does. */
function setup({ served = ["one", "two"], silent = [] as string[], failing = [] as string[] } = {}) {
  const clock = createFakeClock();
  const agents = [
    sampleKnown("one"),
    sampleKnown("two"),
    sampleKnown("bare"),
    sampleKnown("batch", { headless: true }),
    sampleKnown("old", { stopped: true }),
    {
      ...sampleKnown("lost"),
      found: null,
      problem: { state: "refused" as const, why: "its manifest is gone" },
    },
  ];
  const looked: string[] = [];
  const asked: string[] = [];
  let seq = 0;
  const events = { position: () => `a-${seq}` };
  const looks = createSharedLooks({
    clock,
    events,
    async look(agent) {
      const { agent_name: name } = agent.record;
      looked.push(name);
      if (silent.includes(name)) return new Promise(() => {});
      const isServed = served.includes(name);
      return {
        facts: unusableFacts(agent.record, { state: "refused", why: "" }),
        reading: {
          state: idle(agent),
          gateway: isServed ? liveLink({} as GatewayClient) : noLink,
        } as AgentReading,
        turnBeganAtUtc: isServed ? "2026-01-01T00:00:00.000+00:00" : null,
      };
    },
  });
  const states = createFleetStates({
    clock,
    looks,
    events,
    directory: createFakeDirectory(agents),
    links: {
      claims: ({ manifest }) => [...served, ...silent, ...failing, "batch"].includes(manifest.agent_name),
    },
    view: {
      identityOf: async ({ identity }) => identity,
      async stateOf(agent) {
        const { agent_name: name } = agent.record;
        asked.push(name);
        if (failing.includes(name)) throw new Error("its gateway is silent");
        return idle(agent);
      },
    },
    attention: async () => [],
  });
  const happen = () => {
    seq += 1;
  };
  const look = (name: string) => {
    const agent = agents.find(({ record }) => record.agent_name === name);
    return agent ? looks.at(agent, clock.monotonicMs()) : null;
  };
  return { clock, states, looks, looked, asked, happen, look };
}

const brief = (list: Awaited<ReturnType<ReturnType<typeof setup>["states"]["list"]>>) =>
  list.agents.map(({ identity, state, failure }) => [
    identity.agent_name,
    state?.turn.phase ?? null,
    ...(failure === null ? [] : [failure]),
  ]);

test("all agents are in one answer, those with a gateway with their states", async () => {
  const { states, asked } = setup({ failing: ["bare"] });
  const list = await states.list({});
  expect(brief(list)).toEqual([
    ["one", "ready"],
    ["two", "ready"],
    ["bare", null, "its gateway is silent"],
    ["batch", "ready"],
    ["old", null],
    ["lost", null],
  ]);
  expect(list.agents[0]?.turn_began_at_utc).toBe("2026-01-01T00:00:00.000+00:00");
  // What nobody looked at as for its state is asked for it.
  expect(asked.toSorted()).toEqual(["bare", "batch"]);
});

test("the agents that are named, and what waits where it is asked for", async () => {
  const { states, looked } = setup();
  const list = await states.list({ agents: ["id-two", "id-nobody"], attention: true });
  expect(brief(list)).toEqual([["two", "ready"]]);
  expect(list.attention).toEqual([]);
  expect(looked).toEqual(["two"]);
  expect(await states.list({})).not.toHaveProperty("attention");
});

test("a look of others counts up to the age that the caller allows, with the position from before it", async () => {
  const { clock, states, looked, happen, look } = setup();
  happen();
  await look("one");
  happen();
  await clock.advance(300);
  expect((await states.list({ agents: ["id-one"], maxAgeMs: 500 })).after).toBe("a-1");
  expect(looked).toEqual(["one"]);
  await clock.advance(300);
  expect((await states.list({ agents: ["id-one"], maxAgeMs: 500 })).after).toBe("a-2");
  await clock.advance(1);
  expect((await states.list({ agents: ["id-one"] })).after).toBe("a-2");
  expect(looked).toEqual(["one", "one", "one"]);
});

test("who asks at the same time shares one look", async () => {
  const { states, looked } = setup();
  await Promise.all([states.list({ agents: ["id-one"] }), states.list({ agents: ["id-one"] })]);
  expect(looked).toEqual(["one"]);
});

test("an agent that does not answer holds up the others for a second at most", async () => {
  const { clock, states } = setup({ silent: ["one"], served: ["two"] });
  const asked = states.list({ agents: ["id-one", "id-two"] });
  await clock.advance(1_000);
  expect(brief(await asked)).toEqual([
    ["one", null],
    ["two", "ready"],
  ]);
});

test("agents of other hosts come last, without a state", async () => {
  const { clock, looks } = setup();
  const away = { ...sampleKnown("away").identity, agent_id: "id-away@hel1", has_gateway: true, host: "hel1" };
  const states = createFleetStates({
    clock,
    looks,
    directory: createFakeDirectory([sampleKnown("one")]),
    events: { position: () => "a-0" },
    links: { claims: () => true },
    view: { identityOf: async ({ identity }) => identity, stateOf: async (agent) => idle(agent) },
    attention: async () => [],
    others: async () => [away],
  });
  expect(brief(await states.list({}))).toEqual([
    ["one", "ready"],
    ["away", null],
  ]);
  expect(brief(await states.list({ agents: ["id-away@hel1"] }))).toEqual([["away", null]]);
});
