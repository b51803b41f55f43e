import type { Manifest } from "../../protocol/files.ts";
import { type Clock, pollUntil } from "../../system/clock.ts";
import type { Processes } from "../../system/processes.ts";
import type { Tmux, TmuxPane } from "../terminal/tmux/command.ts";
import type { LaunchTool } from "./launch-tools.ts";

/** A process, identified beyond its id, which a later process may get. */
export interface KnownProcess {
  pid: number;
  startToken: string;
}

/** `pid` and its descendants as they are now. Take it before ending anything: orphans leave the tree. */
export async function knownTree(processes: Processes, pid: number): Promise<KnownProcess[]> {
  const tree = await processes.tree(pid);
  return tree.flatMap((one) => toKnown(processes, one) ?? []);
}

export function isSameProcess(processes: Processes, known: KnownProcess): boolean {
  return processes.alive(known.pid) && processes.startToken(known.pid) === known.startToken;
}

/**
 * What a launch or join found as the agent's program, while it lives, in whatever pane or in none. An agent
 * may write its manifest: a process that is not its tool's program is none of it.
 */
export async function recordedProgram(
  { processes, tools }: { processes: Processes; tools: readonly LaunchTool[] },
  { runtime, tool: name }: Manifest,
): Promise<KnownProcess | null> {
  const { agent_pid: pid, agent_start_token: startToken } = runtime;
  if (typeof pid !== "number" || typeof startToken !== "string") return null;
  const known = { pid, startToken };
  if (!isSameProcess(processes, known)) return null;
  const [program] = await processes.tree(pid);
  const tool = tools.find((one) => one.tool === name);
  return program && tool?.occupies(program) ? known : null;
}

/** A process that has just been seen; null when it has gone. */
export function toKnown(processes: Processes, seen: { pid: number } | null): KnownProcess | null {
  const startToken = seen && processes.startToken(seen.pid);
  return startToken ? { pid: seen.pid, startToken } : null;
}

/** True once none of `known` lives; false when some still do after `timeoutMs`. */
export async function waitForEnd(
  deps: { processes: Processes; clock: Clock },
  known: readonly KnownProcess[],
  timeoutMs: number,
): Promise<boolean> {
  const { processes, clock } = deps;
  const hasEnded = await pollUntil(clock, { intervalMs: pollMs, limitMs: timeoutMs }, () =>
    known.some((one) => isSameProcess(processes, one)) ? null : true,
  );
  return hasEnded === true;
}

/**
 * Ends exactly the processes given: TERM, up to `graceMs` for them to leave, then KILL and up to 1 s more. An
 * id that another process got meanwhile is left alone. Returns those that live on, normally none.
 */
export async function endProcesses(
  deps: { processes: Processes; clock: Clock },
  known: readonly KnownProcess[],
  graceMs: number,
): Promise<KnownProcess[]> {
  const { processes } = deps;
  const left = () => known.filter((one) => isSameProcess(processes, one));
  for (const one of left()) processes.signal(one.pid, "SIGTERM");
  if (await waitForEnd(deps, known, graceMs)) return [];
  for (const one of left()) processes.signal(one.pid, "SIGKILL");
  await waitForEnd(deps, known, 1000);
  return left();
}

/**
 * Ends the first process of a pane and everything below it. What is below goes first, so that an agent that
 * saves its work on TERM still has its terminal; then the first one, which gets HUP too: once the agent has
 * left it is an interactive shell, and that ignores TERM.
 */
export async function endTree(
  deps: { processes: Processes; clock: Clock },
  rootPid: number,
  graceMs: number,
): Promise<{ ended: number; surviving: number[] }> {
  const { processes } = deps;
  const [root, ...below] = await knownTree(processes, rootPid);
  if (!root) return { ended: 0, surviving: [] };
  const surviving = await endProcesses(deps, below, graceMs);
  if (isSameProcess(processes, root)) processes.signal(root.pid, "SIGTERM");
  if (!(await waitForEnd(deps, [root], shellMs)) && isSameProcess(processes, root)) {
    processes.signal(root.pid, "SIGHUP");
  }
  surviving.push(...(await endProcesses(deps, [root], graceMs)));
  return { ended: 1 + below.length - surviving.length, surviving: surviving.map((one) => one.pid) };
}

const shellMs = 100;
const pollMs = 20;

interface EndedSession {
  /** Processes of the pane that were ended, and those that even KILL did not end (normally none). */
  ended: number;
  surviving: number[];
  /** False when there was none to end. */
  sessionEnded: boolean;
}

/**
 * Ends what runs in `pane` (null: nothing is known to), then its session. Idempotent. `label` names the step,
 * as for `Tmux.killSession`.
 */
export async function endSession(
  deps: { processes: Processes; clock: Clock; tmux: Tmux },
  label: string,
  session: string,
  pane: TmuxPane | null,
  graceMs: number,
): Promise<EndedSession> {
  const { tmux } = deps;
  // The id of a dead pane's process may be another process's by now.
  const alive = pane?.dead === false ? pane : null;
  // Else the session would go with its last process, at a moment that is not ours to choose (see
  // `TmuxMutex`).
  if (alive) await tmux.keepPane(label, alive.paneId, true);
  const tree = alive ? await endTree(deps, alive.panePid, graceMs) : { ended: 0, surviving: [] };
  const killed = await tmux.killSession(label, session);
  return { ...tree, sessionEnded: killed || pane !== null };
}
