import { join } from "node:path";
import type { TurnProcess } from "../../src/protocol/turn-files.ts";
import { type BuiltAgent, createBuiltFixture, launchBuilt } from "./built-agent.ts";
import { type CoordServer, startCoordinator } from "./coord-server.ts";
import { crashFindings } from "./crash-findings.ts";
import { type Asked, crashLoad } from "./crash-load.ts";
import { fileProblems } from "./fault-story.ts";
import { randomFrom } from "./load.ts";

/** A third of the processes die so soon after they began, the others so soon after they serve. */
const longestStartMs = 120;
const longestServiceMs = 500;
/** The history grows with the run: it is read whole only so often. */
const filesEvery = 25;

export interface CrashOptions {
  cycles: number;
  seed: number;
  /** Folder of the executables. */
  dist: string;
  onCycle?: (done: number, wrong: number) => void;
  /** Ends the run after the present cycle; what was asked for by then is checked as ever. */
  signal?: AbortSignal;
}

export interface CrashReport {
  /** What must never be; empty when all went well. */
  wrong: string[];
  figures: Record<string, number>;
}

type Victim = "worker" | "batch" | "bridge" | "coordinator";

/**
 * Kills the gateways of a terminal and of a headless agent, the bridges of its turns and the coordination
 * server, one or several at a random moment of each cycle, under prompts, mail and turns; what was killed is
 * started again on the same files. At the end everything that was asked for is compared with what became of
 * it.
 */
export async function runCrash(options: CrashOptions): Promise<CrashReport> {
  await using fixture = createBuiltFixture(options.dist);
  const random = randomFrom(options.seed);
  const worker = await launchBuilt(fixture, "worker", ["--mailbox-root", join(fixture.folder, "mail")]);
  const batch = await launchBuilt(fixture, "batch", ["--headless"]);
  const asked: Asked = { requests: [], mails: [], archived: [], turns: [] };
  const wrong: string[] = [];
  const deaths = { worker: 0, batch: 0, bridge: 0, coordinator: 0 };
  const startMs: number[] = [];
  let server: CoordServer | null = null;
  let on = true;
  let cycles = 0;

  const serve = async (agent: BuiltAgent) => {
    const begunMs = performance.now();
    if (await agent.serve()) startMs.push(performance.now() - begunMs);
  };
  const startServer = async () => {
    server = await startCoordinator(fixture);
  };
  try {
    await Promise.all([serve(worker), serve(batch), startServer()]);
    const load = crashLoad({
      worker,
      batch,
      random,
      asked,
      coordinator: () => server,
      on: () => on,
    });
    for (; cycles < options.cycles && !options.signal?.aborted; cycles++) {
      try {
        await cycle();
      } catch (error) {
        wrong.push(`cycle ${cycles + 1}: ${error instanceof Error ? error.message : error}`);
        if (wrong.length > 20) break;
        await Promise.all([revive(worker), revive(batch)]);
      }
      options.onCycle?.(cycles + 1, wrong.length);
    }
    on = false;
    await load;
    const crashes = deaths.worker;
    wrong.push(...(await crashFindings({ worker, batch, server, asked, crashes, fixture })));
  } finally {
    on = false;
    for (const agent of [worker, batch]) await agent.kill();
    await kill(server);
  }
  startMs.sort((left, right) => left - right);
  return {
    wrong,
    figures: {
      cycles,
      killed_worker_gateways: deaths.worker,
      killed_headless_gateways: deaths.batch,
      killed_bridges: deaths.bridge,
      killed_coordinators: deaths.coordinator,
      requests: asked.requests.length,
      accepted_requests: asked.requests.filter((one) => one.requestId !== null).length,
      mails: asked.mails.length,
      answered_mails: asked.mails.filter((one) => one.fate === "answered").length,
      turns: asked.turns.length,
      accepted_turns: asked.turns.filter((one) => one.requestId !== null).length,
      start_p50_ms: Math.round(startMs[Math.floor(startMs.length / 2)] ?? 0),
      start_max_ms: Math.round(startMs.at(-1) ?? 0),
    },
  };

  async function cycle(): Promise<void> {
    const victims = chooseVictims();
    const early = random() < 1 / 3;
    if (!early) await Bun.sleep(random() * longestServiceMs);
    for (const victim of victims) await injectFault(victim);
    if (victims.includes("coordinator")) await startServer();
    await Promise.all(
      ([worker, batch] as const)
        .filter((agent) => victims.includes(agent.name as Victim))
        .map((agent) => restart(agent, early)),
    );
    if (cycles % filesEvery === 0) {
      wrong.push(...[worker, batch].flatMap((agent) => fileProblems(agent.sessionRoot)));
    }
  }

  function chooseVictims(): Victim[] {
    const dice = random();
    if (dice < 0.5) return ["worker"];
    if (dice < 0.65) return ["batch"];
    if (dice < 0.75) return ["bridge"];
    if (dice < 0.82) return ["bridge", "batch"];
    if (dice < 0.9) return ["coordinator"];
    return ["worker", "batch", "coordinator"];
  }

  async function injectFault(victim: Victim): Promise<void> {
    if (victim === "coordinator") {
      await kill(server);
      server = null;
      deaths.coordinator += 1;
    } else if (victim === "bridge") {
      if (await killBridge(batch)) deaths.bridge += 1;
    } else if (await (victim === "worker" ? worker : batch).kill()) deaths[victim] += 1;
  }

  /** The new process may die too, before it serves. */
  async function restart(agent: BuiltAgent, early: boolean): Promise<void> {
    if (early) {
      const starting = agent.serve();
      await Bun.sleep(random() * longestStartMs);
      if (await agent.kill()) deaths[agent.name as "worker" | "batch"] += 1;
      await starting;
    }
    await serve(agent);
  }

  async function revive(agent: BuiltAgent): Promise<void> {
    if (!agent.client()) await agent.serve().catch(() => false);
  }
}

async function kill(server: CoordServer | null): Promise<void> {
  server?.signal("SIGKILL");
  await server?.exited;
}

/** The process that runs the tool of the present turn; false when none runs. */
async function killBridge(batch: BuiltAgent): Promise<boolean> {
  const state = await batch.client()?.call("headlessState", {});
  const turnId = state?.kind === "ok" ? state.body.active_turn_id : undefined;
  if (turnId === undefined) return false;
  try {
    const path = join(batch.sessionRoot, "manifest.turn-artifacts", turnId, "process.json");
    const { runner_pid: pid } = (await Bun.file(path).json()) as TurnProcess;
    if (!pid) return false;
    process.kill(pid, "SIGKILL");
    return true;
  } catch {
    // It has not begun, or ended in this moment.
    return false;
  }
}
