import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { memoryMegabytes } from "../../bench/fixture.ts";
import { type BuiltAgent, createBuiltFixture, launchBuilt } from "../built-agent.ts";
import { startCoordinator } from "../coord-server.ts";
import type { World } from "./engine.ts";
import { drive, driveTurns, follow } from "./soak-traffic.ts";

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

export const soakWorld: World = {
  name: "soak",
  summary: `agents work on everything at once, prompts, keys, mail with wake-ups, reminders, turns, streams and the live list:
memory and descriptors stay flat, files bounded`,
  // A fifth of the agents is headless, at least one.
  size: { seconds: 1200, agents: 10 },
  async start(run) {
    const { stack } = run;
    const fixture = stack.use(createBuiltFixture(run.dist));
    const headlessCount = Math.max(1, Math.round(run.size.agents / 5));
    const terminalCount = run.size.agents - headlessCount;
    const mailbox = ["--mailbox-root", join(fixture.folder, "mail")];
    const terminals: BuiltAgent[] = [];
    const headless: BuiltAgent[] = [];
    for (let index = 0; index < terminalCount; index++)
      terminals.push(await launchBuilt(fixture, `agent-${index}`, mailbox));
    for (let index = 0; index < headlessCount; index++)
      headless.push(await launchBuilt(fixture, `batch-${index}`, ["--headless"]));
    const agents = [...terminals, ...headless];
    stack.defer(async () => {
      for (const agent of agents) {
        const ended = await agent.stop();
        if (ended !== 0) run.problem(`the gateway of ${agent.name} ended with ${ended}`);
      }
    });
    for (const agent of agents) await agent.serve();
    const server = stack.use(await startCoordinator(fixture));
    await fixture.startSession("watch", [...fixture.command("svc-mgr"), "agents", "watch"]);
    const watchPid = Number(await fixture.tmux("display-message", "-p", "-t", "=watch:0.0", "#{pane_pid}"));
    for (const [index, agent] of terminals.entries()) if (index % 2 === 0) await wakeByMail(agent);
    const beganMs = performance.now();
    const samples: Sample[] = [];
    const sampleEveryMs = Math.min(5000, (run.size.seconds * 1000) / 40);
    async function sample(): Promise<void> {
      while (run.isOn()) {
        samples.push({ atMs: performance.now() - beganMs, counts: countsOf(agents, server.pid, watchPid) });
        await pause(sampleEveryMs);
      }
    }
    const deps = { run, server, pauseMs };
    const neighbourOf = (index: number) => `agent-${(index + 1) % terminals.length}`;
    return {
      load: [
        ...terminals.map((agent, index) => () => drive(agent, neighbourOf(index), deps)),
        ...headless.map((agent) => () => driveTurns(agent, deps)),
        () => follow("fleet stream", () => `${server.baseUrl}/svc/events`, 60_000, deps),
        ...agents.map(
          (agent) => () => follow("event stream", () => `${agent.client()?.baseUrl}/v1/events`, 30_000, deps),
        ),
        sample,
      ],
      status() {
        const counts = samples.at(-1)?.counts ?? {};
        const memory = (name: string) => `${name} ${(counts[`memory of ${name}`] ?? 0).toFixed(0)} MB`;
        return ["the gateways", "the coordinator", "the watch"].map(memory).join(", ");
      },
      async judge() {
        for (const agent of agents) {
          const isEmpty = async () => {
            const reply = await agent.client()?.call("status", {});
            return reply?.kind === "ok" && reply.body.queue_depth === 0;
          };
          await run.expect(`the queue of ${agent.name} to be empty`, isEmpty, 120_000);
        }
        if (server.complaints() !== "") run.problem(`the coordinator complains: ${server.complaints()}`);
        for (const agent of agents) (await boundProblems(agent)).forEach(run.problem);
        const isLong = run.size.seconds >= judgedFromSeconds;
        for (const { name, first, last, growth, allowed, flat } of judge(samples, toleranceOf)) {
          run.figures[`${name}, last`] = last;
          run.figures[`${name}, growth`] = growth;
          if (flat || (!isLong && name.startsWith("memory"))) continue;
          const span = `${first.toFixed(1)} to ${last.toFixed(1)}`;
          run.problem(`${name} grows by ${growth.toFixed(1)}, more than ${allowed.toFixed(1)}: ${span}`);
        }
        const sizes = agents.map((agent) => Math.round(bytesBelow(agent.sessionRoot) / 1024));
        run.count("largest_session_kilobytes", Math.max(...sizes));
      },
    };
  },
};

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

/** One look: when (ms since the run began), and what was counted, by name. */
export interface Sample {
  atMs: number;
  counts: Readonly<Record<string, number>>;
}

/**
 * How much a count may grow over the second half of a run: a share of its mean there, or so much, whichever
 * is more.
 */
export interface Tolerance {
  share: number;
  absolute: number;
}

export interface Verdict {
  name: string;
  first: number;
  last: number;
  most: number;
  /** By the line of least squares through the second half, over that half. */
  growth: number;
  allowed: number;
  flat: boolean;
}

/**
 * Whether each count that `toleranceOf` knows is flat: the first half is left to warm up, in the second the
 * line of least squares may rise by no more than is tolerated. Falling is flat. Pure.
 */
export function judge(
  samples: readonly Sample[],
  toleranceOf: (name: string) => Tolerance | null,
): Verdict[] {
  const end = samples.at(-1)?.atMs ?? 0;
  const names = new Set(samples.flatMap(({ counts }) => Object.keys(counts)));
  return [...names].sort().flatMap((name) => {
    const tolerance = toleranceOf(name);
    const all = samples.flatMap(({ atMs, counts }) =>
      counts[name] === undefined ? [] : [{ x: atMs, y: counts[name] }],
    );
    const half = all.filter(({ x }) => x >= end / 2);
    if (!tolerance || half.length < 2) return [];
    const mean = half.reduce((sum, { y }) => sum + y, 0) / half.length;
    const growth = slopeOf(half) * ((half.at(-1)?.x ?? 0) - (half[0]?.x ?? 0));
    const allowed = Math.max(tolerance.absolute, tolerance.share * mean);
    return [
      {
        name,
        first: half[0]?.y ?? 0,
        last: half.at(-1)?.y ?? 0,
        most: Math.max(...all.map(({ y }) => y)),
        growth,
        allowed,
        flat: growth <= allowed,
      },
    ];
  });
}

/** Of the line of least squares; 0 when all points lie at one x. */
function slopeOf(points: readonly { x: number; y: number }[]): number {
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  const square = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  const product = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0);
  return square === 0 ? 0 : product / square;
}
