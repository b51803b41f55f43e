import type { TurnResult } from "../../protocol/turn-files.ts";
import { type Clock, pollUntil, sleep, timestampNow } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import type { Locks } from "../../system/locks.ts";
import type { Processes } from "../../system/processes.ts";
import type { InterruptOutcome } from "../agent/agent.ts";
import { isSameProcess } from "../sessions/process-tree.ts";
import { livingAgent, livingBridge, readBridge } from "./acp-files.ts";
import { endProvider } from "./end-provider.ts";
import { boundsOfRecords, createLineSplitter } from "./line-splitter.ts";
import type { HeadlessProvider, TurnSummary } from "./provider.ts";
import { headlessProvider } from "./providers.ts";
import { createTurnDirectories, type TurnDirectory } from "./turn-directory.ts";
import { decideVerdict } from "./verdict.ts";

export interface SettleDeps {
  files: Files;
  clock: Clock;
  locks: Locks;
  processes: Processes;
  providerOf: (tool: string) => HeadlessProvider | null;
}

/** Whether the process that runs the turn lives; false also before there is one. */
export function isRunnerAlive(processes: Processes, turn: TurnDirectory): boolean {
  const facts = turn.process();
  if (!facts || !processes.alive(facts.runner_pid)) return false;
  return facts.runner_start === null || processes.startToken(facts.runner_pid) === facts.runner_start;
}

/** Whether anything of the turn lives: its runner, or the tool that a dead one left. */
export function isTurnAlive(processes: Processes, turn: TurnDirectory): boolean {
  if (isRunnerAlive(processes, turn)) return true;
  const { child_pid: pid, child_start: startToken } = turn.process() ?? {};
  return Boolean(pid && startToken && isSameProcess(processes, { pid, startToken }));
}

/**
 * Gives a turn whose runner is gone the final state that its output proves, and ends the processes that the
 * runner left behind. Does nothing while a runner holds the turn. A turn that has its final state gets the
 * exit code that is missing if the writer of the state ended before it could. `unbegun`: also a turn that no
 * runner has claimed, which none can run afterwards. Resolves with the final state, or null when the turn is
 * not ours to settle.
 */
export async function settleTurn(
  deps: SettleDeps,
  turn: TurnDirectory,
  options: { unbegun?: string } = {},
): Promise<TurnResult | null> {
  const { locks, processes } = deps;
  const before = turn.result();
  if (before) {
    turn.completeRecord(before);
    return before;
  }
  if (isRunnerAlive(processes, turn)) return null;
  if (!turn.process() && options.unbegun === undefined) return null;
  return locks.hold(turn.paths.lock, async () => {
    const settled = turn.result();
    if (settled) return settled;
    const facts = turn.process();
    if (!facts && options.unbegun === undefined) return null;
    if (facts?.child_pid && facts.child_start) {
      await endProvider(deps, { pid: facts.child_pid, startToken: facts.child_start });
    }
    deps.files.removeLeftovers("file:leftovers", turn.paths.folder);
    const result = facts ? await judgeDead(deps, turn) : judgeUnbegun(deps, turn, options.unbegun ?? "");
    turn.saveResult(result);
    return result;
  });
}

const nothing = { returncode: null, signal: null, session_id: null, history_summary: null, usage: null };

function judgeUnbegun(deps: SettleDeps, turn: TurnDirectory, why: string): TurnResult {
  return {
    ...nothing,
    schema_version: 1,
    status: turn.interrupt() ? "interrupted" : "failed",
    completed_at_utc: timestampNow(deps.clock),
    completion_source: "not_started",
    error: why,
  };
}

async function judgeDead(deps: SettleDeps, turn: TurnDirectory): Promise<TurnResult> {
  const summary = (await summarize(deps, turn)) ?? silent;
  const verdict = decideVerdict({
    summary,
    exitCode: null,
    signal: null,
    exited: false,
    interruptRequested: turn.interrupt() !== null,
  });
  return {
    ...nothing,
    schema_version: 1,
    status: verdict.status,
    completed_at_utc: timestampNow(deps.clock),
    completion_source: verdict.completionSource,
    session_id: summary.sessionId,
    history_summary: summary.historySummary,
    error: verdict.error,
    usage: summary.usage ? { ...summary.usage } : null,
  };
}

const silent: TurnSummary = {
  sessionId: null,
  terminal: null,
  errorText: null,
  resultText: null,
  historySummary: null,
  usage: null,
  writesTerminal: false,
};

const partBytes = 1024 * 1024;

/** Reads the stored output once more, piece by piece, so that a gateway answers meanwhile. */
async function summarize(deps: SettleDeps, turn: TurnDirectory): Promise<TurnSummary | null> {
  const request = turn.request();
  const provider = request && deps.providerOf(request.tool);
  if (!provider) return null;
  const parser = provider.parser({ turnIndex: request.turn_index });
  const splitter = createLineSplitter(boundsOfRecords);
  const atUtc = timestampNow(deps.clock);
  for (const part of partsOf(deps.files, turn.paths.stdout, 0)) {
    for (const line of splitter.push(part)) if (!line.truncated) parser.line(line.text, atUtc);
    if (part.length === partBytes) await sleep(deps.clock, 0);
  }
  for (const line of splitter.end()) if (!line.truncated) parser.line(line.text, atUtc);
  parser.end(atUtc);
  return parser.summary();
}

/**
 * A file in pieces from `offset`, at most `maxBytes` in all where given. Reads what is appended meanwhile,
 * too.
 */
export function* partsOf(
  files: Files,
  path: string,
  offset: number,
  limits: { maxBytes?: number | null | undefined; partBytes?: number } = {},
): Generator<Uint8Array> {
  let at = offset;
  const end = offset + (limits.maxBytes ?? Number.POSITIVE_INFINITY);
  while (at < end) {
    const part = files.readPart(path, at, Math.min(end, at + (limits.partBytes ?? partBytes)));
    if (part.length === 0) return;
    at += part.length;
    yield part;
  }
}

export interface StopDeps extends SettleDeps {
  clock: Clock;
  processes: Processes;
}

const pollIntervalMs = 20;

/** How long the runner may take to write the final state once its tool is gone. */
const settleMs = 5000;
/** How long the bridge of an ACP agent may take for a cancel and, after it, all signals. */
const askedMs = 15_000;
/** How long a tool may take to be started at all. */
const startMs = 10_000;

/**
 * Interrupts a turn and proves it: the wish is on disk first, then the tool's processes are ended by ever
 * stronger signals, then the turn has its final state. A tool that ended by itself meanwhile is `no_op`.
 */
export async function interruptTurn(
  deps: StopDeps,
  turn: TurnDirectory,
  by: "gateway" | "stop",
): Promise<InterruptOutcome> {
  const { clock } = deps;
  if (turn.result()) return { outcome: "no_op", detail: "the turn has ended already" };
  turn.saveInterrupt({ requested_at_utc: timestampNow(clock), requested_by: by });
  // The bridge of an ACP agent asks it to stop, and ends its process when it does not.
  const asked = turn.request()?.acp ? await awaitResult(deps, turn, askedMs) : null;
  await pollUntil(clock, { intervalMs: pollIntervalMs, limitMs: startMs }, () =>
    isStarting(deps, turn) ? null : true,
  );
  const { child_pid: pid, child_start: startToken } = turn.process() ?? {};
  const end = !asked && pid && startToken ? await endProvider(deps, { pid, startToken }) : null;
  if (end && end.surviving.length > 0) {
    return { outcome: "failed", detail: `these processes live on: ${end.surviving.join(", ")}` };
  }
  const result = asked ?? (await awaitResult(deps, turn, settleMs));
  if (!result) return { outcome: "failed", detail: "the tool was ended; its turn has no final state yet" };
  if (result.status !== "interrupted") {
    return { outcome: "no_op", detail: `the turn had ended by itself: ${result.status}` };
  }
  if (asked) return { outcome: "interrupted", detail: `turn ${turn.turnId} was cancelled` };
  const how = end?.after ? `with ${end.after}` : "before the tool did anything";
  return { outcome: "interrupted", detail: `turn ${turn.turnId} was stopped ${how}` };
}

/** No tool yet, and one may still come. */
function isStarting({ processes }: StopDeps, turn: TurnDirectory): boolean {
  const process = turn.process();
  if (turn.result() || process?.child_pid) return false;
  return process === null || isRunnerAlive(processes, turn);
}

const awaitResult = (deps: StopDeps, turn: TurnDirectory, limitMs: number) =>
  pollUntil(
    deps.clock,
    { intervalMs: pollIntervalMs, limitMs },
    async () => turn.result() ?? (await settleTurn(deps, turn)),
  );

/**
 * Ends every turn of a session that has no final state yet, as an interrupt does; none can begin afterwards,
 * unless a gateway still serves this instance of the agent. Returns the ids of the turns that had to be
 * ended.
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
  await endOrphan(deps, sessionRoot);
  return open.map((turn) => turn.turnId);
}

/** Ends the ACP agent of a session whose bridge is gone; a living bridge ends its own. */
async function endOrphan(
  deps: { files: Files; clock: Clock; processes: Processes },
  sessionRoot: string,
): Promise<void> {
  const record = readBridge(deps.files, sessionRoot);
  const agent = livingAgent(deps.processes, record);
  if (agent && !livingBridge(deps.processes, record)) await endProvider(deps, agent);
}
