import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TurnRequest } from "../../src/protocol/turn-files.ts";
import { handToBridge } from "../../src/services/headless/acp-hand-over.ts";
import { headlessProvider } from "../../src/services/headless/providers.ts";
import { interruptTurn, settleTurn, stopTurns } from "../../src/services/headless/settle-turn.ts";
import { createTurnDirectories } from "../../src/services/headless/turn-directory.ts";
import { createClock, sleep } from "../../src/system/clock.ts";
import { createFiles } from "../../src/system/files.ts";
import { createIds } from "../../src/system/ids.ts";
import { createLocks } from "../../src/system/locks.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { until } from "./until.ts";

export interface AcpCrashFigures {
  turns: number;
  completed: number;
  failed: number;
  interrupted: number;
  agentsKilled: number;
  bridgesKilled: number;
  interrupts: number;
  bridgesStarted: number;
}

const prompts = ["hello", "work\nSLOW 80", "think\nTOOL look\nSLOW 30", "wait\nSLOW 20000", "ask\nASK rm x"];

/**
 * Runs turns of the scripted ACP agent while its process or its bridge is killed at random moments, or the
 * turn is interrupted, and settles each as a gateway does. `wrong`: what broke the promise of one final state
 * a turn and no process left behind.
 */
export async function runAcpCrash(options: {
  program: string;
  turns: number;
  random: () => number;
  onTurn?: (done: number, problems: number) => void;
}): Promise<{ wrong: string[]; figures: AcpCrashFigures }> {
  const folder = mkdtempSync(join(tmpdir(), "svc-acp-crash-"));
  const clock = createClock();
  const files = createFiles({ ids: createIds(), steps: quietSteps });
  const processes = createProcesses({ steps: quietSteps });
  const locks = createLocks({ clock });
  const deps = { clock, files, processes, locks, providerOf: headlessProvider, sessionRoot: folder };
  const directories = createTurnDirectories({ files, sessionRoot: folder });
  const figures: AcpCrashFigures = {
    turns: 0,
    completed: 0,
    failed: 0,
    interrupted: 0,
    agentsKilled: 0,
    bridgesKilled: 0,
    interrupts: 0,
    bridgesStarted: 0,
  };
  const wrong: string[] = [];
  const within = (max: number) => Math.floor(options.random() * max);
  const state = join(folder, "conversations");

  function startBridge(): void {
    figures.bridgesStarted += 1;
    const child = Bun.spawn([options.program, "gateway", "turn-bridge", "--acp", folder, "life"], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
      detached: true,
      env: { PATH: process.env["PATH"] ?? "", HOME: folder },
    });
    child.unref();
  }

  async function runOne(index: number): Promise<void> {
    const prompt = prompts[within(prompts.length)] ?? "hello";
    const request: TurnRequest = {
      schema_version: 1,
      turn_id: `turn-${index}`,
      turn_index: index,
      tracked_agent_id: "session",
      request_id: null,
      requested_at_utc: "2026-01-01T00:00:00.000+00:00",
      life: "life",
      tool: "demo-acp",
      executable: options.program,
      args: ["gateway", "demo-agent", "--acp", "--state", state],
      working_directory: folder,
      role_prompt: null,
      prompt,
      session: { mode: "new" },
      model: null,
      display_style: "plain",
      display_detail: "concise",
      acp: { mode: null, policy: [] },
    };
    const turn = directories.create(request);
    await handToBridge(deps, { turn, life: "life" }, async () => startBridge());
    const fault = within(4);
    const endless = prompt.includes("20000") || prompt.includes("ASK");
    await sleep(clock, within(250));
    const running = turn.process();
    if (fault === 0 && running?.child_pid) {
      if (processes.signal(running.child_pid, "SIGKILL")) figures.agentsKilled += 1;
    } else if (fault === 1) {
      const runner =
        (await until("its bridge", () => turn.process() ?? turn.result(), 20_000)) && turn.process();
      if (runner && processes.signal(runner.runner_pid, "SIGKILL")) figures.bridgesKilled += 1;
    } else if (fault === 2 || endless) {
      await interruptTurn(deps, turn, "gateway");
      figures.interrupts += 1;
    }
    if (fault === 0 && endless && !turn.result()) {
      await interruptTurn(deps, turn, "gateway");
      figures.interrupts += 1;
    }
    const result = await until(
      `one final state of ${turn.turnId}`,
      async () => turn.result() ?? (await settleTurn(deps, turn)),
      30_000,
    );
    // As a gateway does: a bridge may have died between the state and the exit code.
    await settleTurn(deps, turn);
    figures.turns += 1;
    figures[result.status] += 1;
  }

  try {
    for (let index = 1; index <= options.turns; index++) {
      try {
        await runOne(index);
      } catch (error) {
        wrong.push(`turn-${index}: ${error instanceof Error ? error.message : String(error)}`);
      }
      options.onTurn?.(index, wrong.length);
    }
    await stopTurns(deps, folder);
    const host = join(folder, "acp", "host.json");
    const bridge = existsSync(host)
      ? (JSON.parse(readFileSync(host, "utf8")) as { runner_pid: number })
      : null;
    if (bridge && processes.alive(bridge.runner_pid)) processes.signal(bridge.runner_pid, "SIGTERM");
    const left = () => processesOf(folder);
    await until("the end of every process", () => left().length === 0, 20_000).catch(() => {
      wrong.push(`${left().length} processes are left: ${left().join(", ")}`);
    });
    const ended = directories.all().filter((turn) => turn.result() && files.exists(turn.paths.exitCode));
    if (ended.length !== options.turns)
      wrong.push(`${ended.length} of ${options.turns} turns have a final state`);
    return { wrong, figures };
  } finally {
    for (const pid of processesOf(folder)) processes.signal(pid, "SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Processes whose arguments name the folder: bridges and agents of this run. */
function processesOf(folder: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder);
      } catch {
        return false;
      }
    })
    .map(Number);
}
