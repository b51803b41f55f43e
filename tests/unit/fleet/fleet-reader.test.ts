import { describe, expect, test } from "bun:test";
import type { AgentLiveness } from "../../../src/protocol/agents.ts";
import type { CurrentInstance } from "../../../src/protocol/files.ts";
import { diagnose, type Problem } from "../../../src/services/fleet/diagnose.ts";
import { listSnapshots } from "../../../src/services/fleet/fleet-list.ts";
import { createFleetReader, sessionBy } from "../../../src/services/fleet/fleet-reader.ts";
import { createGatewayClient } from "../../../src/services/fleet/gateway-client.ts";
import type { GatewayLink } from "../../../src/services/fleet/gateway-link.ts";
import { type FleetLink, toFleetLink } from "../../../src/services/fleet/links.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";
import { liveLink, lostLink, noLink, readingOf, sampleKnown } from "../../support/fleet-fakes.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";
import { createScratch } from "../../support/scratch.ts";

describe("the condition of a gateway", () => {
  const instance = { pid: 7 } as CurrentInstance;
  const healthy = { state: "healthy", instance } as GatewayLink;
  const stale = { state: "stale", instance, why: "no answer" } as const;
  const absent = { state: "absent", why: "none runs" } as const;
  test.each<{ id: string; found: GatewayLink; runs: boolean; want: FleetLink["state"] }>([
    { id: "it answers", found: healthy, runs: true, want: "live" },
    { id: "it does not answer and its process lives", found: stale, runs: true, want: "silent" },
    { id: "its record names a process that is gone", found: stale, runs: false, want: "dead" },
    { id: "no record names one", found: absent, runs: false, want: "none" },
  ])("$id: $want", ({ found, runs, want }) => {
    expect(toFleetLink(found, () => runs).state).toBe(want);
  });
});

interface Machine {
  gateway: "live" | FleetLink;
  /** Null: tmux refuses. */
  session: AgentLiveness | null;
  programs?: boolean;
  damaged?: boolean;
}

function setup({ gateway: link, session, programs = true, damaged = false }: Machine, headless = false) {
  const gateway = createGatewayBundle({ start: false });
  if (!headless) giveTerminal(gateway.agent);
  const scratch = createScratch();
  const known = sampleKnown("worker", { headless, mailbox: false });
  if (known.found) known.found = { ...known.found, sessionRoot: scratch.folder };
  const { queue, gatewayRoot } = sessionPaths(scratch.folder);
  scratch.files.ensureDirectory("x", gatewayRoot);
  if (damaged) scratch.files.write("x", queue, "no database");
  const client = createGatewayClient({
    clock: gateway.clock,
    baseUrl: "http://127.0.0.1:4000",
    token: null,
    respectProxyEnvironment: false,
    fetch: async (url, init) => gateway.app.fetch(new Request(url, init)),
  });
  const reader = createFleetReader({
    files: scratch.files,
    clock: gateway.clock,
    processes: { tree: async () => [] },
    links: { read: readingOf(() => (link === "live" ? liveLink(client) : link)) },
    sessionOf: sessionBy(async () => session ?? Promise.reject(new Error("tmux: permission denied"))),
    tools: [],
    tmuxFor: () =>
      ({
        panes: async () => (programs ? [{ paneId: "%0", windowIndex: 0, panePid: 1, dead: false }] : []),
      }) as never,
  });
  return {
    known,
    reader,
    list: async () => {
      const [snapshot] = await listSnapshots({ reader, openers: {} as never, clock: gateway.clock }, [known]);
      if (!snapshot) throw new Error("nothing was listed");
      return snapshot;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      scratch[Symbol.dispose]();
    },
  };
}

/** The state of the coordination server, the row of a list and what both say is wrong. */
interface Want {
  availability: string;
  gateway: string | null;
  listed: string | null;
  diagnostics: string[];
  problems: Problem[];
}

describe("a list, the state of an agent and its attention say the same", () => {
  const silent = lostLink("silent");
  const dead = lostLink("dead");
  test.each<{ id: string; headless?: boolean; given: Machine; want: Want }>([
    {
      id: "it is served",
      given: { gateway: "live", session: "alive" },
      want: {
        availability: "available",
        gateway: "healthy",
        listed: "available",
        diagnostics: [],
        problems: [],
      },
    },
    {
      id: "it is served, and its tmux server does not answer: its gateway sees it",
      headless: true,
      given: { gateway: "live", session: null },
      want: {
        availability: "available",
        gateway: "healthy",
        listed: "available",
        diagnostics: ["tmux_probe_error: tmux: permission denied"],
        problems: [],
      },
    },
    {
      id: "no gateway serves it: the files of its queue",
      given: { gateway: noLink, session: "alive" },
      want: {
        availability: "available",
        gateway: "not_attached",
        listed: "available",
        diagnostics: [],
        problems: ["gateway_missing"],
      },
    },
    {
      id: "its gateway is silent: nothing is known of its queue",
      given: { gateway: silent, session: "alive" },
      want: {
        availability: "available",
        gateway: null,
        listed: "available",
        diagnostics: ["gateway_unreachable: no answer"],
        problems: ["gateway_silent"],
      },
    },
    {
      id: "its gateway is silent and its queue is damaged: the damage too",
      given: { gateway: silent, session: "alive", damaged: true },
      want: {
        availability: "available",
        gateway: null,
        listed: "available",
        diagnostics: ["gateway_unreachable: no answer"],
        problems: ["queue_unusable", "gateway_silent"],
      },
    },
    {
      id: "its gateway has died",
      given: { gateway: dead, session: "alive" },
      want: {
        availability: "available",
        gateway: "not_attached",
        listed: "available",
        diagnostics: ["gateway_unreachable: no answer"],
        problems: ["gateway_dead"],
      },
    },
    {
      id: "its program has left its pane",
      given: { gateway: noLink, session: "alive", programs: false },
      want: {
        availability: "unavailable",
        gateway: "not_attached",
        listed: "unavailable",
        diagnostics: [],
        problems: ["program_ended"],
      },
    },
    {
      id: "its session is gone",
      headless: true,
      given: { gateway: noLink, session: "gone" },
      want: {
        availability: "unavailable",
        gateway: "not_attached",
        listed: null,
        diagnostics: ["tmux_session_missing: its tmux session is gone"],
        problems: ["session_gone"],
      },
    },
    {
      id: "neither tmux nor a gateway says anything",
      given: { gateway: silent, session: "unknown" },
      want: {
        availability: "unavailable",
        gateway: null,
        listed: null,
        diagnostics: ["gateway_unreachable: no answer", "tmux_probe_error: its tmux server does not answer"],
        problems: ["session_unknown"],
      },
    },
  ])("$id", async ({ given, headless = false, want }) => {
    await using at = setup(given, headless);
    const { reading, facts } = await at.reader.look(at.known);
    const listed = await at.list();
    if (!reading) throw new Error("it cannot be opened");
    const { state } = reading;
    expect<Want>({
      availability: state.availability,
      gateway: state.gateway?.gateway_health ?? null,
      listed: listed.state?.availability ?? null,
      diagnostics: state.diagnostics.map(({ kind, message }) => `${kind}: ${message}`),
      problems: diagnose(facts).map(({ problem }) => problem),
    }).toEqual(want);
    expect(listed.attention).toEqual(facts);
    const [first] = diagnose(facts).filter(({ severity }) => severity !== "notice");
    expect(listed.problem?.detail).toBe(first?.detail);
  });

  test("an agent that cannot be opened has its problem and no state", async () => {
    await using at = setup({ gateway: "live", session: "alive" });
    const problem = { state: "refused", why: "its manifest is gone" } as const;
    const lost = { ...at.known, found: null, problem };
    const { reading, facts } = await at.reader.look(lost);
    expect([reading, diagnose(facts).map(({ problem }) => problem)]).toEqual([null, ["unusable"]]);
  });
});
