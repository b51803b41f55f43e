import { type Clock, sleep } from "../../system/clock.ts";
import { sha256 } from "../../system/digest.ts";
import { ServiceError, wrapRefusal } from "../../system/errors.ts";
import type { Processes, ProcessFacts } from "../../system/processes.ts";
import { isBlank } from "../terminal/screen.ts";
import type { Tmux, TmuxPane } from "../terminal/tmux/command.ts";
import { readPaneOnce } from "../terminal/tmux/pane-reader.ts";
import { paneTail } from "../terminal/tmux/screen.ts";
import type { LaunchTool } from "./launch-tools.ts";

/** Who makes or joins a tmux session, and for which agent: on the session from its first moment with us. */
export interface LaunchMark {
  pid: number;
  startToken: string;
  manifestPath: string;
  /** Null in the mark of an earlier version. */
  agent: MarkedAgent | null;
}

interface MarkedAgent {
  agentName: string;
  /** A joined session is the person's: it is not ours to end. */
  origin: "launched" | "joined";
  /** As `registryKey`: an agent of another registry is none of ours. */
  registryKey: string;
}

interface MarkedSession {
  agentName: string;
  origin: MarkedAgent["origin"];
  registryRoot: string;
  manifestPath: string;
}

/** Stands for a registry root in a mark: of one length, and without the separator. */
export const registryKey = (registryRoot: string): string => sha256(registryRoot).slice(0, 16);

/** The mark of a launch or join by this process. */
export function launchMark(processes: Processes, session: MarkedSession): string {
  const pid = processes.selfPid();
  const { agentName, origin, manifestPath } = session;
  const maker = `${pid} ${processes.startToken(pid) ?? "-"}`;
  return `${maker} ${registryKey(session.registryRoot)} ${origin} ${agentName} ${manifestPath}`;
}

const current = /^(\d+) (\S+) ([0-9a-f]{16}) (launched|joined) (\S+) (\/.+)$/s;
const earlier = /^(\d+) (\S+) (\/.+)$/s;

/** Null for what we did not write. Pure. */
export function parseLaunchMark(mark: string): LaunchMark | null {
  const [, pid, startToken, key, origin, agentName, manifestPath] = current.exec(mark) ?? [];
  if (startToken !== undefined && key !== undefined && agentName !== undefined && manifestPath) {
    const agent = { agentName, registryKey: key, origin: origin === "joined" ? origin : "launched" } as const;
    return { pid: Number(pid), startToken, manifestPath, agent };
  }
  const [, oldPid, oldToken, oldPath] = earlier.exec(mark) ?? [];
  if (oldToken === undefined || oldPath === undefined) return null;
  return { pid: Number(oldPid), startToken: oldToken, manifestPath: oldPath, agent: null };
}

/**
 * How long the tool's program may take to occupy the pane; once it is there, the limits below are its own.
 */
const occupyMs = 10_000;
/** A program that rejects its arguments says so, and goes a moment later. */
const stayMs = 300;
/**
 * However long it takes to load, it is not taken for started before it shows something, unless it shows
 * nothing at all.
 */
const silentMs = 5000;
const pollIntervalMs = 10;
const tailRows = 20;

/**
 * The tool's process once it is in the pane and has drawn its composer or a question; one whose screen cannot
 * be read so, once it has shown something and stayed for a moment after. Throws `dispatch_failed` with the
 * end of the screen when it ended or never came, and when `signal` aborts.
 */
export async function awaitProcessReady(
  deps: { clock: Clock; processes: Processes; tmux: Tmux },
  tool: LaunchTool,
  pane: TmuxPane,
  signal?: AbortSignal,
): Promise<ProcessFacts> {
  const { clock, processes } = deps;
  const deadlineMs = clock.monotonicMs() + occupyMs;
  let seenMs = Number.POSITIVE_INFINITY;
  let shownMs = Number.POSITIVE_INFINITY;
  for (;;) {
    if (signal?.aborted) throw new ServiceError("dispatch_failed", "the launch was interrupted and undone");
    const tree = await processes.tree(pane.panePid);
    const found = tree.find(tool.occupies);
    const nowMs = clock.monotonicMs();
    if (found) {
      seenMs = Math.min(seenMs, nowMs);
      const shown = await screenOf(deps, tool, pane);
      if (shown === "own") return found;
      if (shown === "something") shownMs = Math.min(shownMs, nowMs);
      if (nowMs - Math.max(seenMs, shownMs) >= stayMs || nowMs - seenMs >= silentMs) return found;
    } else {
      seenMs = Number.POSITIVE_INFINITY;
      shownMs = Number.POSITIVE_INFINITY;
    }
    const ended = tree[0] === undefined || isLoginShell(tree[0]);
    if (ended || (!found && nowMs >= deadlineMs)) {
      const tail = await paneTail(deps.tmux, pane.paneId, tailRows).catch((error) => {
        // The pane gets a shell when the program ends: one that is gone was ended by another hand.
        throw wrapRefusal(error, "dispatch_failed", (why) => paneLost(tool.tool, why));
      });
      const what = ended ? "ended at once" : `was not seen within ${occupyMs / 1000} s`;
      throw new ServiceError("dispatch_failed", `${tool.tool} ${what}. Its screen ended with:\n${tail}`);
    }
    await sleep(clock, pollIntervalMs);
  }
}

/** `own`: what only the tool draws that has taken its arguments and runs. */
async function screenOf(
  deps: { clock: Clock; processes: Processes; tmux: Tmux },
  { profile }: LaunchTool,
  { paneId }: TmuxPane,
): Promise<"own" | "something" | "nothing"> {
  const seen = await readPaneOnce(deps, paneId).catch(() => null);
  if (seen === null || seen.rows.every(isBlank)) return "nothing";
  if (profile === null) return "something";
  // Most commands list agents or ask one, and never read a screen.
  const { detect } = await import("../terminal/detect/detect.ts");
  const { promptVisible, awaitingDecision } = detect(seen, profile);
  return promptVisible || awaitingDecision !== null ? "own" : "something";
}

function paneLost(tool: string, why: string): string {
  return `the tmux pane in which ${tool} was started has gone (${why}): its session or the tmux server has ended. Launch it again`;
}

/** What the launch script of the terminal becomes when the program has ended. */
function isLoginShell({ argv }: ProcessFacts): boolean {
  return argv.length === 2 && argv[1] === "-l";
}
