import { describe, expect, test } from "bun:test";
import type { KnownAgent } from "../../../src/services/fleet/directory.ts";
import type { FleetStreamItem } from "../../../src/services/fleet/fleet-events.ts";
import {
  createFleetEvents,
  initialRoster,
  next,
  type Roster,
  type RosterStep,
} from "../../../src/services/fleet/fleet-events.ts";
import { createGatewayClient } from "../../../src/services/fleet/gateway-client.ts";
import { messageOf } from "../../../src/system/errors.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createFakeDirectory, liveLink, noLink, sampleKnown } from "../../support/fleet-fakes.ts";
import { createGatewayBundle, type GatewayBundle } from "../../support/gateway-bundle.ts";

/** The fleet of one agent whose gateway may be taken away and given back. */
function setup() {
  const gateway = createGatewayBundle({ start: false });
  const agents: KnownAgent[] = [sampleKnown("worker")];
  let served = true;
  let serving = gateway;
  const client = createGatewayClient({
    clock: gateway.clock,
    baseUrl: "http://127.0.0.1:4000",
    token: null,
    respectProxyEnvironment: false,
    fetch: async (url, init) => serving.app.fetch(new Request(url, init)),
  });
  const events = createFleetEvents({
    directory: createFakeDirectory(agents),
    links: {
      to: async () => (served ? liveLink(client) : noLink),
      claims: ({ manifest }) => served && manifest.agent_name === "worker",
      doubt: () => {},
    },
    clock: gateway.clock,
    ids: { hex: () => "abcd", uuid: () => "u" },
    onError: unexpected,
  });
  const left = new AbortController();
  return {
    gateway,
    agents,
    events,
    serve: (now: boolean, by: GatewayBundle = gateway) => {
      served = now;
      serving = by;
    },
    read(after: string | null = null) {
      const items = events.follow({ after, signal: left.signal });
      return {
        /** The next event that is no heartbeat. */
        async next(): Promise<Extract<FleetStreamItem, { item: "event" }>> {
          for (;;) {
            const { value } = await items.next();
            if (value?.item === "event") return value;
            if (!value) throw new Error("the stream ended");
          }
        },
        end: () => items.return(undefined),
      };
    },
    async [Symbol.asyncDispose]() {
      left.abort();
      await events.stop();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

/** A fault that no test expects ends the run. */
function unexpected(error: unknown): never {
  throw error;
}

const submit = (text: string) => ({ kind: "submit_prompt" as const, payload: { prompt: text } });

describe("what happens at all agents", () => {
  test("is reported with whose it is, under positions that grow", async () => {
    await using at = setup();
    const reader = at.read();
    expect(await reader.next()).toMatchObject({ id: "abcd-1", event: { kind: "gateway_connected" } });
    const accepted = reader.next();
    await at.gateway.queue.accept(submit("hello"));
    expect(await accepted).toMatchObject({
      id: "abcd-2",
      event: {
        kind: "accepted",
        agent_id: "id-worker",
        agent_name: "worker",
        gateway_seq: expect.any(Number),
      },
    });
  });

  test("is reported again after a position that is kept, to any number of readers", async () => {
    await using at = setup();
    const first = at.read();
    await first.next();
    const accepted = first.next();
    await at.gateway.queue.accept(submit("hello"));
    const told = await accepted;
    const again = at.read("abcd-1");
    expect(await again.next()).toEqual(told);
  });

  test.each(["wxyz-1", "abcd-99", "abcd-", "nonsense"])(
    "a position that is not kept (%s) is one gap and then what is to come",
    async (after) => {
      await using at = setup();
      const first = at.read();
      await first.next();
      const reader = at.read(after);
      expect(await reader.next()).toMatchObject({ id: "abcd-1", event: { kind: "stream_gap" } });
      const next = reader.next();
      await at.gateway.queue.accept(submit("hello"));
      expect(await next).toMatchObject({ id: "abcd-2", event: { kind: "accepted" } });
    },
  );

  test("goes on where it was when a gateway comes back: nothing is lost and nothing reported twice", async () => {
    await using at = setup();
    const reader = at.read();
    await reader.next();
    const one = reader.next();
    await at.gateway.queue.accept(submit("one"));
    await one;
    at.serve(false);
    await at.gateway.clock.advance(1000);
    expect(at.gateway.followers()).toBe(0);
    await at.gateway.queue.accept(submit("two"));
    at.serve(true);
    const back = reader.next();
    await at.gateway.clock.advance(1000);
    expect(await back).toMatchObject({ event: { kind: "gateway_connected" } });
    const two = await reader.next();
    expect(two.event.kind).toBe("accepted");
    expect(at.gateway.events.at(-1)).toMatchObject({
      seq: (two.event as { gateway_seq?: number }).gateway_seq,
    });
  });

  test("an agent launched again begins a new log: it is reported from its beginning", async () => {
    await using at = setup();
    const reader = at.read();
    await reader.next();
    for (const text of ["one", "two", "three"]) {
      const told = reader.next();
      await at.gateway.queue.accept(submit(text));
      await told;
    }
    at.serve(false);
    at.agents[0] = sampleKnown("worker", { stopped: true });
    const stopped = reader.next();
    await at.gateway.clock.advance(1000);
    expect(await stopped).toMatchObject({ event: { kind: "agent_changed" } });

    await using later = createGatewayBundle({ start: false });
    await later.queue.accept(submit("first of the new session"));
    const again = sampleKnown("worker", { generationId: "generation-2" });
    if (again.found) again.found = { ...again.found, sessionRoot: "/sessions/later" };
    at.agents[0] = again;
    at.serve(true, later);
    const changed = reader.next();
    await at.gateway.clock.advance(1000);
    expect(await changed).toMatchObject({ event: { kind: "agent_changed", lifecycle_state: "active" } });
    const rest = [await reader.next(), await reader.next()].map(({ event }) => event);
    expect(rest).toMatchObject([{ kind: "gateway_connected" }, { kind: "accepted", gateway_seq: 1 }]);
  });

  test("agents that come, change and go are reported", async () => {
    await using at = setup();
    const reader = at.read();
    await reader.next();
    const seen = reader.next();
    at.agents.push(sampleKnown("new"));
    await at.gateway.clock.advance(1000);
    expect(await seen).toMatchObject({ event: { kind: "agent_seen", agent_name: "new" } });
    const changed = reader.next();
    at.agents[1] = sampleKnown("new", { stopped: true });
    await at.gateway.clock.advance(1000);
    expect(await changed).toMatchObject({ event: { kind: "agent_changed", lifecycle_state: "stopped" } });
    const gone = reader.next();
    at.agents.pop();
    await at.gateway.clock.advance(1000);
    expect(await gone).toMatchObject({ event: { kind: "agent_gone", gone_agent_id: "id-new" } });
  });

  test("an agent that came after a position was given is reported to who reads from there", async () => {
    await using at = setup();
    const position = at.events.position();
    at.agents.push(sampleKnown("new"));
    const reader = at.read(position);
    expect(await reader.next()).toMatchObject({ event: { kind: "agent_seen", agent_name: "new" } });
  });

  test("160 gateways are followed, and of each further one it is reported once that it is not", async () => {
    const clock = createFakeClock();
    const agents = Array.from({ length: 162 }, (_, index) => sampleKnown(`agent-${index}`));
    const events = createFleetEvents({
      directory: createFakeDirectory(agents),
      links: { to: async () => noLink, claims: () => true, doubt: () => {} },
      clock,
      ids: { hex: () => "abcd", uuid: () => "u" },
      onError: unexpected,
    });
    const items = events.follow({ after: null, signal: new AbortController().signal });
    const told = async () => {
      const { value } = await items.next();
      return value?.item === "event" ? [value.event.kind, value.event.agent_name] : value?.item;
    };
    expect([await told(), await told(), events.following()]).toEqual([
      ["gateway_unfollowed", "agent-160"],
      ["gateway_unfollowed", "agent-161"],
      160,
    ]);
    agents.push(sampleKnown("new"));
    const seen = told();
    await clock.advance(1000);
    expect([await seen, await told()]).toEqual([
      ["agent_seen", "new"],
      ["gateway_unfollowed", "new"],
    ]);
    await events.stop();
  });

  test("nobody is followed a minute after the last reader has left, and everybody again after the next", async () => {
    await using at = setup();
    const reader = at.read();
    await reader.next();
    expect(at.gateway.followers()).toBe(1);
    await reader.end();
    await at.gateway.clock.advance(59_000);
    expect(at.gateway.followers()).toBe(1);
    await at.gateway.clock.advance(1000);
    expect([at.gateway.followers(), at.gateway.clock.pending()]).toEqual([0, 0]);
    const later = at.read();
    expect(await later.next()).toMatchObject({ event: { kind: "gateway_connected" } });
  });

  test("a silent stream has a heartbeat every 15 s, and ends with the server", async () => {
    await using at = setup();
    const items = at.events.follow({ after: null, signal: new AbortController().signal });
    await items.next();
    const silent = items.next();
    await at.gateway.clock.advance(15_000);
    expect((await silent).value).toEqual({ item: "heartbeat" });
    const last = items.next();
    await at.events.stop();
    expect((await last).done).toBe(true);
  });
});

test("a fault of a follower or of the loop is reported once, and the loop goes on", async () => {
  const clock = createFakeClock();
  const agents = [sampleKnown("worker")];
  const faults: string[] = [];
  let asked = 0;
  let linkFault: string | null = "links are broken";
  let directoryFault: string | null = null;
  const directory = createFakeDirectory(agents);
  const events = createFleetEvents({
    directory: {
      ...directory,
      agents() {
        if (directoryFault !== null) throw new Error(directoryFault);
        return directory.agents();
      },
    },
    links: {
      async to() {
        asked += 1;
        if (linkFault !== null) throw new Error(linkFault);
        return noLink;
      },
      claims: () => true,
      doubt: () => {},
    },
    clock,
    ids: { hex: () => "abcd", uuid: () => "u" },
    onError: (error) => void faults.push(messageOf(error)),
  });
  const left = new AbortController();
  const items = events.follow({ after: null, signal: left.signal });
  const next = items.next();
  await clock.advance(5000);
  expect(asked).toBeGreaterThan(3);
  expect(faults).toEqual(["events of worker: links are broken"]);
  linkFault = null;
  directoryFault = "the registry is broken";
  await clock.advance(5000);
  expect(faults.slice(1)).toEqual(["look at agents: the registry is broken"]);
  directoryFault = null;
  await clock.advance(2000);
  expect(events.following()).toBe(1);
  agents.push(sampleKnown("new"));
  await clock.advance(1000);
  const { value } = await next;
  expect(value).toMatchObject({ event: { kind: "agent_seen", agent_name: "new" } });
  left.abort();
  await events.stop();
});

describe("the agents that a stream has published", () => {
  const worker = sampleKnown("worker");
  const listed: Roster["agents"] = new Map([
    ["id-worker", { lifecycle: "active", generation: "generation-1", isUnfollowed: false }],
  ]);
  const later: Roster = { isFirst: false, agents: listed };
  const following = (...generations: [id: string, generation: string][]) =>
    new Map(generations.map(([id, generation]) => [id, { generation }]));
  const full = following(...Array.from({ length: 160 }, (_, nth): [string, string] => [`other-${nth}`, "g"]));
  const isFollowed = following(["id-worker", "generation-1"]);
  const cases: {
    id: string;
    roster: Roster;
    agents?: KnownAgent[];
    isServed?: boolean;
    followed?: ReadonlyMap<string, { generation: string }>;
    want: string[];
  }[] = [
    { id: "of the first look nothing is news", roster: initialRoster, want: ["follow worker"] },
    { id: "nothing changed", roster: later, followed: isFollowed, want: [] },
    {
      id: "an agent that came is news",
      roster: { isFirst: false, agents: new Map() },
      want: ["publish agent_seen", "follow worker"],
    },
    {
      id: "another generation is followed afresh",
      roster: later,
      agents: [sampleKnown("worker", { generationId: "generation-2" })],
      followed: isFollowed,
      want: ["publish agent_changed", "leave id-worker", "follow worker"],
    },
    {
      id: "a stopped agent whose gateway has gone",
      roster: later,
      agents: [sampleKnown("worker", { stopped: true })],
      isServed: false,
      followed: isFollowed,
      want: ["publish agent_changed", "leave id-worker"],
    },
    {
      id: "an agent that is gone",
      roster: later,
      agents: [],
      followed: isFollowed,
      want: ["forget id-worker", "publish agent_gone"],
    },
    { id: "too many gateways", roster: later, followed: full, want: ["publish gateway_unfollowed"] },
    {
      id: "too many gateways, published before",
      roster: {
        isFirst: false,
        agents: new Map([
          ["id-worker", { lifecycle: "active", generation: "generation-1", isUnfollowed: true }],
        ]),
      },
      followed: full,
      want: [],
    },
  ];
  const toText = (step: RosterStep) => {
    switch (step.step) {
      case "publish":
        return `publish ${step.kind}`;
      case "follow":
        return `follow ${step.agent.record.agent_name}`;
      default:
        return `${step.step} ${step.agentId}`;
    }
  };

  test.each(cases)("$id", ({ roster, agents = [worker], isServed = true, followed = new Map(), want }) => {
    const sightings = agents.map((agent) => ({ agent, isServed }));
    const after = next(roster, { sightings, followed });
    expect(after.steps.map(toText)).toEqual(want);
    expect(after.roster.isFirst).toBe(false);
    expect([...after.roster.agents.keys()]).toEqual(agents.map(({ record }) => record.agent_id));
  });

  test("an agent is followed once another has gone", () => {
    const sightings = [{ agent: worker, isServed: true }];
    const unfollowed = next(later, { sightings, followed: full }).roster;
    expect(unfollowed.agents.get("id-worker")?.isUnfollowed).toBe(true);
    const after = next(unfollowed, { sightings, followed: new Map() });
    expect(after.roster.agents.get("id-worker")?.isUnfollowed).toBe(false);
    expect(after.steps.map(toText)).toEqual(["follow worker"]);
  });
});
