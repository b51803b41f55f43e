import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AcpLaunch } from "../../src/protocol/acp-launch.ts";
import type { TurnRequest } from "../../src/protocol/turn-files.ts";
import { type AcpBridgeDeps, createAcpBridge } from "../../src/services/extensions/bridges/acp/bridge.ts";
import { readBridge } from "../../src/services/headless/acp-files.ts";
import { answerQuestion, handToBridge } from "../../src/services/headless/acp-hand-over.ts";
import { headlessProvider } from "../../src/services/headless/providers.ts";
import { interruptTurn } from "../../src/services/headless/settle-turn.ts";
import { createTurnDirectories, type TurnDirectory } from "../../src/services/headless/turn-directory.ts";
import { createTurnReader } from "../../src/services/headless/turn-reader.ts";
import { createClock } from "../../src/system/clock.ts";
import { createLocks } from "../../src/system/locks.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { createFolderWatch } from "../../src/system/watch.ts";
import { createScratch } from "./scratch.ts";
import { until } from "./until.ts";

const gateway = join(import.meta.dir, "hostile/svc-gateway.ts");
const hostile = join(import.meta.dir, "hostile-acp.ts");

/** A session with the bridge of an ACP agent in this process, and turns in its folder. */
export function acpFixture(options: { agent?: readonly string[]; limits?: AcpBridgeDeps["limits"] } = {}) {
  const scratch = createScratch();
  const { files } = scratch;
  const clock = createClock();
  const locks = createLocks({ clock });
  const processes = createProcesses({ steps: quietSteps });
  const sessionRoot = scratch.folder;
  const log = scratch.path("agent.log");
  const settling = { files, clock, locks, processes, providerOf: headlessProvider };
  const turns = createTurnDirectories({ files, sessionRoot });
  const reader = createTurnReader({ files, turns });
  const env = { PATH: process.env["PATH"] ?? "", HOME: scratch.folder };
  const demo = [gateway, "gateway", "demo-agent", "--acp", "--log", log, "--state", scratch.path("state")];
  const shown: string[] = [];
  const started: { bridge: ReturnType<typeof createAcpBridge>; done: Promise<void> }[] = [];
  let count = 0;

  function startBridge(life: string | null = "life"): void {
    const bridge = createAcpBridge({
      ...settling,
      sessionRoot,
      life,
      env,
      version: "0",
      watch: createFolderWatch(),
      show: (text) => void shown.push(text),
      ...(options.limits ? { limits: options.limits } : {}),
    });
    started.push({ bridge, done: bridge.run() });
  }

  function create(prompt: string, changes: Partial<TurnRequest> & { acp?: AcpLaunch } = {}): TurnDirectory {
    count += 1;
    return turns.create({
      schema_version: 1,
      turn_id: `turn-${count}`,
      turn_index: count,
      tracked_agent_id: "session",
      request_id: null,
      requested_at_utc: "2026-01-01T00:00:00.000+00:00",
      life: "life",
      tool: "demo-acp",
      executable: process.execPath,
      args: [...(options.agent ? [hostile, ...options.agent] : demo)],
      working_directory: scratch.folder,
      role_prompt: null,
      prompt,
      session: { mode: "new" },
      model: null,
      display_style: "plain",
      display_detail: "concise",
      acp: { mode: null, policy: [] },
      ...changes,
    });
  }

  const deps = { ...settling, sessionRoot };

  async function begin(prompt: string, changes: Partial<TurnRequest> & { acp?: AcpLaunch } = {}) {
    const turn = create(prompt, changes);
    await handToBridge(deps, { turn, life: "life" }, async () => startBridge());
    return turn;
  }

  const ended = (turn: TurnDirectory) => until(`the end of ${turn.turnId}`, () => turn.result(), 30_000);

  return {
    files,
    clock,
    processes,
    scratch,
    turns,
    shown,
    deps,
    settling,
    sessionRoot,
    create,
    begin,
    ended,
    startBridge,
    run: async (prompt: string, changes: Partial<TurnRequest> & { acp?: AcpLaunch } = {}) =>
      ended(await begin(prompt, changes)),
    question: (turn: TurnDirectory) =>
      until("a question", () => {
        const path = join(turn.paths.folder, "question.json");
        return existsSync(path)
          ? (JSON.parse(readFileSync(path, "utf8")) as { decision: { id: string; question: string } })
              .decision
          : null;
      }),
    answer: (turn: TurnDirectory, option: string | number) => answerQuestion(deps, turn, { option }),
    interrupt: (turn: TurnDirectory) => interruptTurn(settling, turn, "gateway"),
    events: (turn: TurnDirectory) => [...(reader.events(turn.turnId, 0) ?? [])],
    /** What the agent was asked, prompt by prompt. */
    runs: () =>
      existsSync(log)
        ? readFileSync(log, "utf8")
            .trimEnd()
            .split("\n")
            .map(
              (line) => JSON.parse(line) as { pid: number; session_id: string; turn: number; prompt: string },
            )
        : [],
    agentPid: () => readBridge(files, sessionRoot)?.child_pid ?? null,
    async stopBridges(options = { interrupt: true }) {
      for (const { bridge } of started) bridge.stop(options);
      await Promise.all(started.map(({ done }) => done));
    },
    async [Symbol.asyncDispose]() {
      for (const { bridge } of started) bridge.stop({ interrupt: true });
      await Promise.allSettled(started.map(({ done }) => done));
      scratch[Symbol.dispose]();
    },
  };
}
