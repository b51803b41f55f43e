import { type Clock, sleep, timestampNow } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import type { Locks } from "../../system/locks.ts";
import type { Processes } from "../../system/processes.ts";
import type { InterruptOutcome } from "../agent/agent.ts";
import { headlessProvider } from "./providers.ts";
import { endProvider, isRunnerAlive, type SettleDeps, settleTurn } from "./settle-turn.ts";
import { createTurnDirectories, type TurnDirectory } from "./turn-directory.ts";
export interface StopDeps extends SettleDeps {
  clock: Clock;
  processes: Processes;
}

/** How long the runner may take to write the final state once its tool is gone. */
const settleMs = 5000;
/** How long a tool may take to be started at all. */
const startMs = 10_000;
const pollIntervalMs = 20;

/**
 * Interrupts a turn and proves it: the wish is on disk first, then the tool's processes are ended by ever stronger
 * signals, then the turn has its final state. A tool that ended by itself meanwhile is `no_op`.
 */
export async function interruptTurn(
  deps: StopDeps,
  turn: TurnDirectory,
  by: "gateway" | "stop",
): Promise<InterruptOutcome> {
  const { clock } = deps;
  if (turn.result()) return { outcome: "no_op", detail: "the turn has ended already" };
  turn.saveInterrupt({ requested_at_utc: timestampNow(clock), requested_by: by });
  const deadlineMs = clock.monotonicMs() + startMs;
  while (isStarting(deps, turn) && clock.monotonicMs() < deadlineMs) await sleep(clock, pollIntervalMs);
  const { child_pid: pid, child_start: startToken } = turn.process() ?? {};
  const end = pid && startToken ? await endProvider(deps, { pid, startToken }) : null;
  if (end && end.surviving.length > 0) {
    return { outcome: "failed", detail: `these processes live on: ${end.surviving.join(", ")}` };
  }
  const result = await awaitResult(deps, turn);
  if (!result) return { outcome: "failed", detail: "the tool was ended; its turn has no final state yet" };
  if (result.status !== "interrupted") {
    return { outcome: "no_op", detail: `the turn had ended by itself: ${result.status}` };
  }
  const how = end?.after ? `with ${end.after}` : "before the tool did anything";
  return { outcome: "interrupted", detail: `turn ${turn.turnId} was stopped ${how}` };
}

/** No tool yet, and one may still come. */
function isStarting({ processes }: StopDeps, turn: TurnDirectory): boolean {
  const process = turn.process();
  if (turn.result() || process?.child_pid) return false;
  return process === null || isRunnerAlive(processes, turn);
}

async function awaitResult(deps: StopDeps, turn: TurnDirectory) {
  const { clock } = deps;
  const deadlineMs = clock.monotonicMs() + settleMs;
  for (;;) {
    const result = turn.result() ?? (await settleTurn(deps, turn));
    if (result || clock.monotonicMs() >= deadlineMs) return result;
    await sleep(clock, pollIntervalMs);
  }
}

/**
 * Ends every turn of a session that has no final state yet, as an interrupt does; none can begin afterwards, unless a
 * gateway still serves this instance of the agent. Returns the ids of the turns that had to be ended.
 */
export async function stopTurns(
  deps: { files: Files; clock: Clock; processes: Processes; locks: Locks },
  sessionRoot: string,
): Promise<string[]> {
  const settling = { ...deps, providerOf: headlessProvider };
  const open = createTurnDirectories({ files: deps.files, sessionRoot })
    .all()
    .filter((turn) => turn.request() && !turn.result());
  for (const turn of open) {
    // First of all, so that a runner that claims its turn just now ends it itself.
    turn.saveInterrupt({ requested_at_utc: timestampNow(deps.clock), requested_by: "stop" });
    if (turn.process()) await interruptTurn(settling, turn, "stop");
    else await settleTurn(settling, turn, { unbegun: "the agent was stopped before it began" });
  }
  return open.map((turn) => turn.turnId);
}
