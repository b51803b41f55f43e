import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { memoryMegabytes } from "../bench/fixture.ts";
import { type BuiltAgent, createBuiltFixture, launchBuilt } from "./built-agent.ts";
import { startCoordinator } from "./coord-server.ts";
import { randomFrom } from "./load.ts";
import { judge, type Sample, type Tolerance, type Verdict } from "./soak-judgement.ts";
import { drive, driveTurns, follow, type Traffic } from "./soak-traffic.ts";
import { until } from "./until.ts";

export interface SoakOptions {
  seconds: number;
  /** A fifth of them headless, at least one. */
  agents: number;
  seed: number;
  /** Folder of the executables. */
  dist: string;
  /** Default 5 s. */
  sampleEveryMs?: number;
  onSample?: (seconds: number, sample: Sample) => void;
  /** Ends the run early; what was seen by then is judged. */
  signal?: AbortSignal;
}

export interface SoakReport {
  /** What must never be: a leak, a broken answer, a file that grew past its bound. */
  wrong: string[];
  verdicts: Verdict[];
  figures: Record<string, number>;
}

/**
 * What is tolerated over the second half of a run. `memory` is what no other process shares, in MB; the
 * gateways' is summed, since a collector works when it likes. A descriptor more or less is a connection of
 * the moment.
 */
const tolerances: readonly (readonly [RegExp, Tolerance])[] = [
  [/^memory of the gateways$/, { share: 0.1, absolute: 10 }],
  // It keeps the newest 20,000 events, which ten agents make in some twenty minutes.
  [/^memory of the coordinator$/, { share: 0.15, absolute: 16 }],
  [/^memory of the watch$/, { share: 0.15, absolute: 8 }],
  // These hold a connection or two to each gateway.
  [/^descriptors of (the coordinator|the watch)$/, { share: 0, absolute: 10 }],
  [/^descriptors of /, { share: 0, absolute: 4 }],
];
/**
 * Longest pause of one agent between two acts. Dense enough that what fills once (compiled code, histories,
 * caches) has filled within a third of 20 minutes; after that only a leak grows.
 */
const pauseMs = 1500;
/** In a shorter run everything still warms up: memory is then told and not judged. */
const judgedFromSeconds = 300;
/**
 * Contract 8 and the limits of our own files (events, log), in bytes, with one file of each in the making.
 */
const maxEventBytes = 4 * 16 * 2 ** 20;
const maxLogBytes = 4 * 4 * 2 ** 20;
const maxSnapshots = 1000;

/**
 * Agents at work on everything at once, prompts, keys, mail with wake-ups, reminders, turns, streams and the
 * live list, with the built programs, for as long as asked; memory and descriptors must stay flat, files
 * bounded.
 */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  await using fixture = createBuiltFixture(options.dist);
  const random = randomFrom(options.seed);
  const headlessCount = Math.max(1, Math.round(options.agents / 5));
  const terminals: BuiltAgent[] = [];
  const headless: BuiltAgent[] = [];
  for (let index = 0; index < options.agents - headlessCount; index++) {
    terminals.push(
      await launchBuilt(fixture, `agent-${index}`, ["--mailbox-root", join(fixture.folder, "mail")]),
    );
  }
  for (let index = 0; index < headlessCount; index++) {
    headless.push(await launchBuilt(fixture, `batch-${index}`, ["--headless"]));
  }
  const agents = [...terminals, ...headless];
  const traffic: Traffic = { counts: {}, wrong: [] };
  const samples: Sample[] = [];
  try {
    for (const agent of agents) await agent.serve();
    await using server = await startCoordinator(fixture);
    await fixture.startSession("watch", [...fixture.command("svc-mgr"), "agents", "watch"]);
    const watchPid = Number(await fixture.tmux("display-message", "-p", "-t", "=watch:0.0", "#{pane_pid}"));
    for (const [index, agent] of terminals.entries()) {
      if (index % 2 === 0) await wakeByMail(agent);
    }
    const beganMs = performance.now();
    const elapsedMs = () => performance.now() - beganMs;
    const on = () => elapsedMs() < options.seconds * 1000 && !options.signal?.aborted;
    const deps = { ...traffic, server, random, on, pauseMs };
    const streams = [
      follow("fleet stream", () => `${server.baseUrl}/svc/events`, 60_000, deps),
      ...agents.map((agent) =>
        follow("event stream", () => `${agent.client()?.baseUrl}/v1/events`, 30_000, deps),
      ),
    ];
    const look = async () => {
      while (on()) {
        const sample = { atMs: elapsedMs(), counts: countsOf(agents, server.pid, watchPid) };
        samples.push(sample);
        options.onSample?.(Math.round(sample.atMs / 1000), sample);
        await Bun.sleep(options.sampleEveryMs ?? 5000);
      }
    };
    await Promise.all([
      ...terminals.map((agent, index) => drive(agent, neighbourOf(index), deps)),
      ...headless.map((agent) => driveTurns(agent, deps)),
      ...streams,
      look(),
    ]);
    for (const agent of agents) traffic.wrong.push(...(await settle(agent)));
    if (server.complaints() !== "") traffic.wrong.push(`the coordinator complains: ${server.complaints()}`);
    for (const agent of agents) traffic.wrong.push(...(await boundProblems(agent)));
  } finally {
    for (const agent of agents) {
      const ended = await agent.stop();
      if (ended !== 0) traffic.wrong.push(`the gateway of ${agent.name} ended with ${ended}`);
    }
  }
  const long = (samples.at(-1)?.atMs ?? 0) >= judgedFromSeconds * 1000;
  const verdicts = judge(samples, toleranceOf);
  const leaks = verdicts.filter(({ flat, name }) => !flat && (long || !name.startsWith("memory")));
  return {
    wrong: [
      ...new Set(traffic.wrong),
      ...leaks.map(
        ({ name, first, last, growth }) =>
          `${name} grows: ${first.toFixed(1)} to ${last.toFixed(1)}, by ${growth.toFixed(1)} over the second half`,
      ),
    ],
    verdicts,
    figures: {
      seconds: Math.round((samples.at(-1)?.atMs ?? 0) / 1000),
      samples: samples.length,
      ...traffic.counts,
      largest_session_kilobytes: Math.max(
        ...agents.map((agent) => Math.round(bytesBelow(agent.sessionRoot) / 1024)),
      ),
    },
  };

  function neighbourOf(index: number): string {
    return `agent-${(index + 1) % terminals.length}`;
  }
}

const toleranceOf = (name: string): Tolerance | null =>
  tolerances.find(([pattern]) => pattern.test(name))?.[1] ?? null;

function countsOf(agents: readonly BuiltAgent[], coordinator: number, watch: number): Record<string, number> {
  const counts: Record<string, number> = { "memory of the gateways": 0 };
  for (const agent of agents) {
    const pid = agent.pid() ?? 0;
    counts["memory of the gateways"] =
      (counts["memory of the gateways"] ?? 0) + memoryMegabytes(pid).anonymous;
    counts[`descriptors of ${agent.name}`] = descriptorsOf(pid);
  }
  for (const [name, pid] of [
    ["the coordinator", coordinator],
    ["the watch", watch],
  ] as const) {
    counts[`memory of ${name}`] = memoryMegabytes(pid).anonymous;
    counts[`descriptors of ${name}`] = descriptorsOf(pid);
  }
  return counts;
}

const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Mail to this agent wakes it; it then does a round of its own. */
async function wakeByMail(agent: BuiltAgent): Promise<void> {
  const body = { enabled: true as const, interval_seconds: 30, mode: "unread_only" as const };
  const reply = await agent.client()?.call("updateNotifier", { body, timeoutMs: 60_000 });
  if (reply?.kind !== "ok") throw new Error(`the notifier of ${agent.name}: ${JSON.stringify(reply)}`);
}

/** Waits for what is still under way. */
async function settle(agent: BuiltAgent): Promise<string[]> {
  const empty = async () => {
    const reply = await agent.client()?.call("status", {});
    return reply?.kind === "ok" && reply.body.queue_depth === 0;
  };
  return until(`the queue of ${agent.name} to be empty`, empty, 120_000).then(
    () => [],
    (error: Error) => [error.message],
  );
}

async function boundProblems(agent: BuiltAgent): Promise<string[]> {
  const gateway = join(agent.sessionRoot, "gateway");
  const events = bytesOf(gateway, /^events(\.\d+)?\.jsonl$/);
  const logs = bytesBelow(join(gateway, "logs"));
  const history = await agent.client()?.call("terminalHistory", { query: { limit: maxSnapshots } });
  const snapshots = history?.kind === "ok" ? history.body.entries.length : 0;
  return [
    ...(events > maxEventBytes ? [`the events of ${agent.name} take ${events} bytes`] : []),
    ...(logs > maxLogBytes ? [`the logs of ${agent.name} take ${logs} bytes`] : []),
    ...(snapshots > maxSnapshots ? [`${agent.name} keeps ${snapshots} snapshots`] : []),
  ];
}

function bytesOf(folder: string, names: RegExp): number {
  return readdirSync(folder)
    .filter((name) => names.test(name))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

function bytesBelow(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
