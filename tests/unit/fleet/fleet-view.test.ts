import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { type AgentLiveness, AgentState, AgentStateDetail } from "../../../src/protocol/agents.ts";
import type { TurnRequest } from "../../../src/protocol/turn-files.ts";
import { createFleetReader, sessionBy } from "../../../src/services/fleet/fleet-reader.ts";
import { createFleetView } from "../../../src/services/fleet/fleet-view.ts";
import { createGatewayClient } from "../../../src/services/fleet/gateway-client.ts";
import type { FleetLink } from "../../../src/services/fleet/links.ts";
import type { Liveness } from "../../../src/services/fleet/liveness.ts";
import { createTurnDirectories } from "../../../src/services/headless/turn-directory.ts";
import { toTimestamp } from "../../../src/system/clock.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";
import {
  createFakeDirectory,
  liveLink,
  lostLink,
  noLink,
  readingOf,
  sampleKnown,
} from "../../support/fleet-fakes.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";
import { createScratch } from "../../support/scratch.ts";
import { sampleManifest } from "../../support/session-samples.ts";

type Facts = { link?: "live" | FleetLink; alive?: AgentLiveness; seen?: boolean; programs?: boolean };

function setup({ link = noLink, alive = "alive", seen = true, programs = true }: Facts = {}) {
  const gateway = createGatewayBundle({ start: false });
  giveTerminal(gateway.agent);
  const watched = giveTerminal(createFakeAgent());
  const scratch = createScratch();
  const client = createGatewayClient({
    clock: gateway.clock,
    baseUrl: "http://127.0.0.1:4000",
    token: null,
    respectProxyEnvironment: false,
    fetch: async (url, init) => gateway.app.fetch(new Request(url, init)),
  });
  const linkOf = ({ manifest }: { manifest: { agent_name: string } }): FleetLink =>
    ["worker", "served"].includes(manifest.agent_name) ? (link === "live" ? liveLink(client) : link) : noLink;
  const looked: string[] = [];
  const batch = sampleKnown("batch", { headless: true });
  if (batch.found) {
    batch.found = {
      ...batch.found,
      sessionRoot: scratch.folder,
      manifestPath: scratch.path("manifest.json"),
    };
  }
  const liveness: Liveness = {
    of: async ({ lifecycle }) => (lifecycle.state === "stopped" ? "gone" : alive),
  };
  const machine = {
    files: scratch.files,
    clock: gateway.clock,
    processes: { tree: async () => [], alive: () => false } as never,
  };
  const reader = createFleetReader({
    ...machine,
    sessionOf: sessionBy(liveness.of),
    links: { read: readingOf(linkOf) },
    terminals: {
      async state({ manifest }) {
        looked.push(manifest.agent_name);
        return seen ? watched.state : null;
      },
    },
    tools: [],
    tmuxFor: () =>
      ({
        panes: async () => (programs ? [{ paneId: "%0", windowIndex: 0, panePid: 1, dead: false }] : []),
      }) as never,
  });
  const view = createFleetView({
    ...machine,
    directory: createFakeDirectory([
      batch,
      sampleKnown("old", { stopped: true }),
      sampleKnown("served", { headless: true }),
      sampleKnown("worker"),
      { ...sampleKnown("lost"), found: null, problem: { state: "refused", why: "its manifest is gone" } },
    ]),
    links: {
      to: async (agent) => linkOf(agent),
      claims: ({ manifest }) => manifest.agent_name === "worker" && link === "live",
      doubt: () => void looked.push("doubted"),
    },
    liveness,
    reader,
    locks: { hold: async <T>(_: string, work: () => Promise<T>) => work() } as never,
    providerOf: () => null,
  });
  return {
    view,
    looked,
    gateway,
    scratch,
    turns: createTurnDirectories({ files: scratch.files, sessionRoot: scratch.folder }),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      scratch[Symbol.dispose]();
    },
  };
}

const request: TurnRequest = {
  schema_version: 1,
  turn_id: "turn-1",
  turn_index: 1,
  tracked_agent_id: "session-batch",
  request_id: null,
  requested_at_utc: "2026-11-21T04:47:00.000+00:00",
  life: null,
  tool: "demo",
  executable: "/bin/demo",
  args: [],
  working_directory: "/",
  role_prompt: null,
  prompt: "hello",
  session: { mode: "new" },
  model: null,
  display_style: "plain",
  display_detail: "concise",
};
const launched = {
  runner_start: null,
  child_pid: null,
  child_start: null,
  launched_at_utc: "2026-11-21T04:47:00.000+00:00",
};

const healthOf = (state: AgentState) => state.gateway?.gateway_health ?? null;
const kindsOf = (state: AgentState) => state.diagnostics.map(({ kind }) => kind);

describe("what an agent is doing", () => {
  const cases: {
    id: string;
    facts: Facts;
    ref?: string;
    want: { availability: string; health: string | null; kinds: string[] };
  }[] = [
    {
      id: "with a gateway: what the gateway says",
      facts: { link: "live" },
      want: { availability: "available", health: "healthy", kinds: [] },
    },
    {
      id: "without one: the offline status and what its terminal shows to us",
      facts: {},
      want: { availability: "available", health: "not_attached", kinds: [] },
    },
    {
      id: "whose terminal cannot be watched: whether its program is there",
      facts: { seen: false },
      want: { availability: "available", health: "not_attached", kinds: [] },
    },
    {
      id: "whose program has left its pane",
      facts: { seen: false, programs: false },
      want: { availability: "unavailable", health: "not_attached", kinds: [] },
    },
    {
      id: "whose gateway claims it and is silent: nothing is said of the gateway",
      facts: { link: lostLink("silent"), seen: false },
      want: { availability: "available", health: null, kinds: ["gateway_unreachable"] },
    },
    {
      id: "whose gateway has died: its queue as the files have it",
      facts: { link: lostLink("dead"), seen: false },
      want: { availability: "available", health: "not_attached", kinds: ["gateway_unreachable"] },
    },
    {
      id: "that is headless and served, while its tmux server cannot be asked: its gateway sees it",
      facts: { link: "live", alive: "unknown" },
      ref: "served",
      want: { availability: "available", health: "healthy", kinds: ["tmux_probe_error"] },
    },
    {
      id: "whose tmux server cannot be asked: unavailable, with the reason",
      facts: { alive: "unknown" },
      want: { availability: "unavailable", health: "not_attached", kinds: ["tmux_probe_error"] },
    },
    {
      id: "that was stopped",
      facts: {},
      ref: "old",
      want: { availability: "unavailable", health: "not_attached", kinds: [] },
    },
    {
      id: "that is headless and lives: available between its turns",
      facts: {},
      ref: "batch",
      want: { availability: "available", health: "not_attached", kinds: [] },
    },
    {
      id: "that is headless and whose session is gone",
      facts: { alive: "gone" },
      ref: "batch",
      want: { availability: "unavailable", health: "not_attached", kinds: ["tmux_session_missing"] },
    },
  ];
  test.each(cases)("$id", async ({ facts, ref = "worker", want }) => {
    await using at = setup(facts);
    const state = await at.view.state(ref);
    expect([...Value.Errors(AgentState, state)]).toEqual([]);
    expect<object>({
      availability: state.availability,
      health: healthOf(state),
      kinds: kindsOf(state),
    }).toEqual(want);
    expect(state.mailbox).toEqual({
      transport: "filesystem",
      principal_id: "SVC-worker",
      address: "worker@svc.localhost",
    });
  });

  test.each([
    { id: "whose runner is gone", claimed: true },
    { id: "that no gateway is there to begin", claimed: false },
  ])("a turn $id does not run any more", async ({ claimed }) => {
    await using at = setup();
    const turn = at.turns.create({ ...request, requested_at_utc: toTimestamp(at.gateway.clock.nowMs()) });
    expect((await at.view.state("batch")).turn.phase).toBe("active");
    if (claimed) turn.saveProcess({ ...launched, runner_pid: 1 });
    await at.gateway.clock.advance(10_000);
    const state = await at.view.state("batch");
    expect([state.turn.phase, state.last_turn]).toMatchObject([
      "ready",
      { result: "known_failure", turn_id: "turn-1" },
    ]);
    expect((await at.view.history("batch", 5)).entries).toMatchObject([{ turn_phase: "ready" }]);
  });

  test("a terminal is watched by us only while no gateway does and its session lives", async () => {
    await using served = setup({ link: "live" });
    await served.view.state("worker");
    await using gone = setup({ alive: "gone" });
    await gone.view.state("worker");
    await using bare = setup();
    await bare.view.state("worker");
    expect([served.looked, gone.looked, bare.looked]).toEqual([[], [], ["worker"]]);
  });

  test("an agent whose manifest is lost is listed, and its state is unavailable", async () => {
    await using at = setup();
    const { agents } = await at.view.list({});
    expect(agents.map(({ agent_name, liveness }) => [agent_name, liveness])).toEqual([
      ["batch", "alive"],
      ["old", "gone"],
      ["served", "alive"],
      ["worker", "alive"],
      ["lost", "alive"],
    ]);
    await expect(at.view.state("lost")).rejects.toMatchObject({ reason: "unavailable" });
    const stopped = await at.view.list({ state: "stopped" });
    expect(stopped.agents.map(({ agent_name }) => agent_name)).toEqual(["old"]);
  });
});

describe("the same in detail", () => {
  test.each([
    { id: "a terminal through its gateway", facts: { link: "live" as const }, ref: "worker" },
    { id: "a terminal that we watch", facts: {}, ref: "worker" },
    { id: "a headless agent without a turn", facts: {}, ref: "batch" },
  ])("$id fits the contract", async ({ facts, ref }) => {
    await using at = setup(facts);
    const detail = await at.view.detail(ref);
    expect([...Value.Errors(AgentStateDetail, detail)]).toEqual([]);
    expect(detail.detail.transport).toBe(ref === "batch" ? "headless" : "tui");
    expect((await at.view.history(ref, 5)).entries.length).toBeLessThanOrEqual(5);
  });

  test("a terminal that nobody can see is unavailable", async () => {
    await using at = setup({ seen: false });
    await expect(at.view.detail("worker")).rejects.toMatchObject({ reason: "unavailable" });
    expect(await at.view.history("worker", 5)).toEqual({ tracked_agent_id: "id-worker", entries: [] });
  });

  test("mail of an agent without a mailbox is refused with the remedy", async () => {
    await using at = setup();
    const { launch_plan, ...manifest } = sampleManifest({ agentName: "batch" });
    const { mailbox: _, ...plan } = launch_plan;
    at.scratch.files.write(
      "file:manifest",
      at.scratch.path("manifest.json"),
      JSON.stringify({ ...manifest, launch_plan: plan }),
    );
    await expect(at.view.resolveLive("batch")).rejects.toMatchObject({
      reason: "unavailable",
      data: { remedy: { code: "register_mailbox", agent_name: "batch" } },
    });
  });
});
