import { renderJson } from "../../../../protocol/json.ts";
import { pollUntil, sleep, timestampNow } from "../../../../system/clock.ts";
import { messageOf } from "../../../../system/errors.ts";
import {
  bridgePaths,
  livingAgent,
  livingBridge,
  readBridge,
  readNextTurn,
} from "../../../headless/acp-files.ts";
import { toSummary } from "../../../headless/display.ts";
import { endProvider } from "../../../headless/end-provider.ts";
import { createTurnDirectories, type TurnDirectory } from "../../../headless/turn-directory.ts";
import { type AgentSession, createAgentSession } from "./agent-session.ts";
import { type RunTurnDeps, runTurn } from "./run-turn.ts";

export interface AcpBridgeDeps extends Omit<RunTurnDeps, "session"> {
  sessionRoot: string;
  /** The instance of the agent, as in its manifest: turns of another instance are left alone. */
  life: string | null;
  /** The environment that the agent process gets. */
  env: Record<string, string>;
  version: string;
}

/** Some file systems lose notices of changes; a turn waits at most this long to be found. */
const pollIntervalMs = 1000;
/** How long a previous bridge of the session may take to end. */
const previousBridgeMs = 15_000;
/** How long an agent may take to end once its standard input is closed. */
const exitMs = 1500;

/**
 * The process beside an ACP agent: it starts the agent with the first turn, runs the turns of the session one
 * after the other, and outlives the gateway. Its state is in the session's folder. A session has only one.
 */
export function createAcpBridge(deps: AcpBridgeDeps) {
  const { clock, files, processes, locks, watch, sessionRoot } = deps;
  const paths = bridgePaths(sessionRoot);
  const turns = createTurnDirectories({ files, sessionRoot });
  let stopping = false;
  let wake = () => {};
  let current: TurnDirectory | null = null;

  function saveRecord(session: AgentSession | null): void {
    const self = processes.selfPid();
    const record = {
      schema_version: 1,
      life: deps.life,
      runner_pid: self,
      runner_start: processes.startToken(self),
      child_pid: session?.process()?.pid ?? null,
      child_start: session?.process()?.startToken ?? null,
    };
    files.write("file:acp-host", paths.host, renderJson(record), { durable: false });
  }

  /** Ends the previous bridge of this session, if it does not end by itself, and its agent process. */
  async function endPreviousBridge(): Promise<void> {
    const previous = readBridge(files, sessionRoot);
    const bridge = livingBridge(processes, previous);
    if (bridge) {
      await pollUntil(clock, { intervalMs: 20, limitMs: previousBridgeMs }, () =>
        stopping || !livingBridge(processes, previous) ? true : null,
      );
      if (stopping) return;
      if (livingBridge(processes, previous)) await endProvider(deps, bridge, "SIGKILL");
    }
    const agent = livingAgent(processes, previous);
    if (agent) await endProvider(deps, agent);
  }

  function nextTurn(): TurnDirectory | null {
    const id = readNextTurn(files, sessionRoot);
    const turn = id === null ? null : turns.find(id);
    if (!turn || turn.process() || turn.result()) return null;
    const request = turn.request();
    return request && request.life === deps.life ? turn : null;
  }

  async function idle(): Promise<void> {
    const timer = new AbortController();
    wake = () => timer.abort();
    await sleep(clock, pollIntervalMs, timer.signal);
  }

  async function serve(session: AgentSession): Promise<void> {
    const unwatch = watch.watchFolder(paths.folder, () => wake());
    try {
      while (!stopping) {
        const turn = nextTurn();
        if (!turn) {
          await idle();
          continue;
        }
        current = turn;
        try {
          await runTurn({ ...deps, session }, turn);
        } catch (error) {
          // The gateway settles the turn; this agent process is in an unknown state.
          deps.show(`\n[turn ${turn.turnId}: ${toSummary(messageOf(error))}]\n`);
          await session.end("SIGINT");
        }
        current = null;
      }
    } finally {
      unwatch();
    }
  }

  function interrupt(): void {
    current?.saveInterrupt({ requested_at_utc: timestampNow(clock), requested_by: "pane" });
  }

  return {
    /**
     * Runs turns until `stop`. Resolves when the agent process has ended; rejects when another bridge keeps the
     * session.
     */
    async run(): Promise<void> {
      files.ensureDirectory("file:acp-folder", paths.folder);
      await endPreviousBridge();
      if (stopping) return;
      await locks.hold(paths.lock, async () => {
        const session: AgentSession = createAgentSession({ ...deps, onProcess: () => saveRecord(session) });
        saveRecord(null);
        try {
          await serve(session);
        } finally {
          await session.close(exitMs);
          files.removeFile("file:acp-host", paths.host);
        }
      });
    },
    /** Runs no further turn; `interrupt`: interrupts the running one too. */
    stop(options: { interrupt: boolean }): void {
      stopping = true;
      if (options.interrupt) interrupt();
      wake();
    },
    /** Interrupts the running turn, as a person in the pane does. */
    interrupt,
  };
}
