import { join } from "node:path";
import type { TerminalState } from "../../src/protocol/terminal.ts";
import { profileFor } from "../../src/services/terminal/profiles/profile.ts";
import type { ControlConnection } from "../../src/services/terminal/tmux/control.ts";
import { createTracker, type Tracker } from "../../src/services/terminal/tracker.ts";
import { type Bench, durationRows, type Row, wallMs, withLimit } from "./bench.ts";
import { effort } from "./effort.ts";
import { type BenchAgent, type BenchFixture, createBenchFixture } from "./fixture.ts";
import { type Edge, edgeOf, type Witness } from "./state-edges.ts";

const rounds = effort(8, 1);
const workMs = 1200;

/**
 * From the agent's repaint to the state we tell, for a turn's begin and end, beside a poller that reads the
 * same screen with the same eyes every 500 ms and believes it at once. Another process polls and dates the
 * repaints.
 */
const bench: Bench = {
  name: "state",
  async run() {
    await using fixture = await createBenchFixture();
    const agent = await fixture.launch("watched");
    const { latencies, polled } = await measureEdges(fixture, agent, { rounds });
    return (["busy", "ready"] as const).flatMap((kind) => rowsOf(kind, latencies[kind], polled[kind]));
  },
};

export default bench;

type Latencies = Record<Edge["kind"], number[]>;

/**
 * `around`: is run around each round, with the tracker and the connection that it uses; the first round
 * counts for nothing.
 */
export async function measureEdges(
  fixture: BenchFixture,
  agent: BenchAgent,
  options: {
    rounds: number;
    around?: (watched: {
      tracker: Tracker;
      control: ControlConnection;
      round: number;
    }) => Promise<() => Promise<void>>;
    into?: (round: number) => Latencies;
  },
): Promise<{ latencies: Latencies; polled: Latencies }> {
  const { clock, processes } = fixture.tmux;
  const session = agent.manifest.tmux_session_name;
  const control = await fixture.tmux.control(session);
  const typist = await fixture.tmux.control(session);
  const tracker = createTracker({
    control,
    tmux: fixture.tmux.tmux,
    processes,
    clock,
    profile: profileFor("demo", []),
    manifest: agent.manifest,
    sessionRoot: agent.sessionRoot,
    log: { line: (text) => console.error(text) },
  });
  await using witness = startWitness(fixture.tmux.socket, session, agent.paneId);
  const edges: Edge[] = [];
  let known: Edge["kind"] | null = null;
  let told = Promise.withResolvers<void>();
  tracker.subscribe((state: TerminalState) => {
    const kind = edgeOf(state);
    if (kind === null || kind === known) return;
    known = kind;
    edges.push({ kind, atMs: wallMs() });
    told.resolve();
    told = Promise.withResolvers();
  });
  const reaches = async (kind: Edge["kind"]) => {
    while (known !== kind) await told.promise;
  };
  tracker.start();
  await witness.ready;
  await reaches("ready");
  const latencies: Latencies = { busy: [], ready: [] };
  const polled: Latencies = { busy: [], ready: [] };
  for (let round = -1; round < options.rounds; round++) {
    const after = await options.around?.({ tracker, control, round });
    edges.length = 0;
    // Turns begin anywhere between two polls.
    await Bun.sleep(600 + Math.random() * 500);
    const text = `SILENT ${workMs + Math.round(Math.random() * 500)}`;
    await typist.run([["send-keys", "-t", agent.paneId, "-l", text]]);
    await Bun.sleep(150);
    const pressedMs = wallMs();
    await typist.run([["send-keys", "-t", agent.paneId, "Enter"]]);
    await reaches("busy");
    await reaches("ready");
    const seen = await witness.since(pressedMs);
    await after?.();
    if (round < 0) continue;
    for (const kind of ["busy", "ready"] as const) {
      const ours = edges.find((edge) => edge.kind === kind)?.atMs ?? Number.NaN;
      (options.into?.(round) ?? latencies)[kind].push(ours - seen.painted[kind]);
      polled[kind].push(seen.polled[kind] - seen.painted[kind]);
    }
  }
  await tracker.stop();
  return { latencies, polled };
}

function rowsOf(kind: Edge["kind"], ours: number[], poller: number[]): Row[] {
  const longest = { metric: `${kind}_edge_max_ms`, value: Math.max(...ours), unit: "ms" };
  return [...durationRows(`${kind}_edge`, ours, poller), withLimit(longest, Math.max(...poller))];
}

function startWitness(socket: string, session: string, paneId: string) {
  const ready = Promise.withResolvers<void>();
  let answer: ((seen: Witness) => void) | null = null;
  const script = join(import.meta.dir, "state-witness.ts");
  const child = Bun.spawn([process.execPath, script, socket, session, paneId], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc(message: "ready" | Witness) {
      if (message === "ready") ready.resolve();
      else answer?.(message);
    },
  });
  return {
    ready: ready.promise,
    /** What was painted and polled since then, once the poller has seen both edges. */
    since(atMs: number): Promise<Witness> {
      const seen = new Promise<Witness>((resolve) => {
        answer = resolve;
      });
      child.send(atMs);
      return seen;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}
