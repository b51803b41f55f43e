import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TurnRequest } from "../../../src/protocol/turn-files.ts";
import { handToBridge } from "../../../src/services/headless/acp-hand-over.ts";
import { headlessProvider } from "../../../src/services/headless/providers.ts";
import { interruptTurn, settleTurn, stopTurns } from "../../../src/services/headless/settle-turn.ts";
import { createTurnDirectories } from "../../../src/services/headless/turn-directory.ts";
import { createClock, sleep } from "../../../src/system/clock.ts";
import { createFiles } from "../../../src/system/files.ts";
import { createIds } from "../../../src/system/ids.ts";
import { createLocks } from "../../../src/system/locks.ts";
import { createProcesses } from "../../../src/system/processes.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createScratch } from "../scratch.ts";
import { until } from "../until.ts";
import type { World } from "./engine.ts";

const prompts = ["hello", "work\nSLOW 80", "think\nTOOL look\nSLOW 30", "wait\nSLOW 20000", "ask\nASK rm x"];

export const acpWorld: World = {
  name: "acp",
  summary: `turns of an ACP agent, while its process or its bridge is killed or the turn is interrupted, are settled as a
gateway does: each turn has one final state, and no process is left behind`,
  size: { rounds: 1000 },
  async start(run) {
    const { folder } = run.stack.use(createScratch());
    const program = join(run.dist, "svc-gateway");
    const clock = createClock();
    const files = createFiles({ ids: createIds(), steps: quietSteps });
    const processes = createProcesses({ steps: quietSteps });
    const locks = createLocks({ clock });
    const deps = { clock, files, processes, locks, providerOf: headlessProvider, sessionRoot: folder };
    const directories = createTurnDirectories({ files, sessionRoot: folder });
    const state = join(folder, "conversations");
    let turns = 0;
    run.stack.defer(() => {
      for (const pid of processesOf(folder)) processes.signal(pid, "SIGKILL");
    });

    function startBridge(): void {
      run.count("bridges_started");
      const child = Bun.spawn([program, "gateway", "turn-bridge", "--acp", folder, "life"], {
        stdin: "ignore",
        stdout: "ignore",
        stderr: "ignore",
        detached: true,
        env: { PATH: process.env["PATH"] ?? "", HOME: folder },
      });
      child.unref();
    }

    const requestOf = (index: number, prompt: string): TurnRequest => ({
      schema_version: 1,
      turn_id: `turn-${index}`,
      turn_index: index,
      tracked_agent_id: "session",
      request_id: null,
      requested_at_utc: "2026-01-01T00:00:00.000+00:00",
      life: "life",
      tool: "demo-acp",
      executable: program,
      args: ["gateway", "demo-agent", "--acp", "--state", state],
      working_directory: folder,
      role_prompt: null,
      prompt,
      session: { mode: "new" },
      model: null,
      display_style: "plain",
      display_detail: "concise",
      acp: { mode: null, policy: [] },
    });

    const signal = (pid: number, figure: string) => {
      if (processes.signal(pid, "SIGKILL")) run.count(figure);
    };

    async function runTurn(index: number, prompt: string, dice: number, afterMs: number): Promise<void> {
      const turn = directories.create(requestOf(index, prompt));
      await handToBridge(deps, { turn, life: "life" }, async () => startBridge());
      const isEndless = prompt.includes("20000") || prompt.includes("ASK");
      await sleep(clock, afterMs);
      const interrupt = async () => {
        await interruptTurn(deps, turn, "gateway");
        run.count("interrupts");
      };
      const running = turn.process();
      if (dice === 0 && running?.child_pid) signal(running.child_pid, "agents_killed");
      else if (dice === 1) {
        await until("its bridge", () => turn.process() ?? turn.result(), 20_000);
        const bridge = turn.process();
        if (bridge) signal(bridge.runner_pid, "bridges_killed");
      } else if (dice === 2 || isEndless) await interrupt();
      if (dice === 0 && isEndless && !turn.result()) await interrupt();
      const result = await until(
        `one final state of ${turn.turnId}`,
        async () => turn.result() ?? (await settleTurn(deps, turn)),
        30_000,
      );
      // As a gateway does: a bridge may have died between the state and the exit code.
      await settleTurn(deps, turn);
      run.count(result.status);
    }

    return {
      load: [],
      faults: {
        next() {
          const index = ++turns;
          const prompt = prompts[Math.floor(run.faultRandom() * prompts.length)] ?? "hello";
          const dice = Math.floor(run.faultRandom() * 4);
          const afterMs = Math.floor(run.faultRandom() * 250);
          return { target: `turn-${index}`, inject: () => runTurn(index, prompt, dice, afterMs) };
        },
      },
      async judge() {
        await stopTurns(deps, folder);
        const host = join(folder, "acp", "host.json");
        const bridge = existsSync(host)
          ? (JSON.parse(readFileSync(host, "utf8")) as { runner_pid: number })
          : null;
        if (bridge && processes.alive(bridge.runner_pid)) processes.signal(bridge.runner_pid, "SIGTERM");
        await run.expect("the end of every process", () => processesOf(folder).length === 0, 20_000);
        const ended = directories.all().filter((turn) => turn.result() && files.exists(turn.paths.exitCode));
        run.count("turns", ended.length);
        if (ended.length !== turns) run.problem(`${ended.length} of ${turns} turns have a final state`);
      },
    };
  },
};

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
