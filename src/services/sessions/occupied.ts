import { type Clock, sleep } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Processes, ProcessFacts } from "../../system/processes.ts";
import type { Tmux, TmuxPane } from "../terminal/tmux-command.ts";
import { paneTail } from "../terminal/tmux-screen.ts";
import type { LaunchTool } from "./launch-tools.ts";

/** How long the tool's program may take to occupy the pane; once it is there, the limits below are its own. */
const occupyMs = 10_000;
/** A program that rejects its arguments says so, and goes a moment later. */
const stayMs = 300;
/** However long it takes to load, it is not taken for started before it shows something, unless it shows nothing at all. */
const silentMs = 5000;
const pollIntervalMs = 25;
const tailRows = 20;

/**
 * The tool's process once it is in the pane, has shown something and stayed for a moment after. Throws
 * `dispatch_failed` with the end of the screen when it ended or never came, and when `signal` aborts.
 */
export async function awaitOccupied(
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
      if (shownMs > nowMs && (await showsSomething(deps.tmux, pane))) shownMs = nowMs;
      if (nowMs - Math.max(seenMs, shownMs) >= stayMs || nowMs - seenMs >= silentMs) return found;
    } else {
      seenMs = Number.POSITIVE_INFINITY;
      shownMs = Number.POSITIVE_INFINITY;
    }
    const ended = tree[0] === undefined || isLoginShell(tree[0]);
    if (ended || (!found && nowMs >= deadlineMs)) {
      const tail = await paneTail(deps.tmux, pane.paneId, tailRows).catch((error) => {
        // The pane gets a shell when the program ends: one that is gone was ended by another hand.
        throw new ServiceError("dispatch_failed", paneLost(tool.tool, messageOf(error)));
      });
      const what = ended ? "ended at once" : `was not seen within ${occupyMs / 1000} s`;
      throw new ServiceError("dispatch_failed", `${tool.tool} ${what}. Its screen ended with:\n${tail}`);
    }
    await sleep(clock, pollIntervalMs);
  }
}

function paneLost(tool: string, why: string): string {
  return `the tmux pane in which ${tool} was started has gone (${why}): its session or the tmux server has ended. Launch it again`;
}

async function showsSomething(tmux: Tmux, { paneId }: TmuxPane): Promise<boolean> {
  return (await paneTail(tmux, paneId, 1).catch(() => "")) !== "";
}

/** What the launch script of the terminal becomes when the program has ended. */
function isLoginShell({ argv }: ProcessFacts): boolean {
  return argv.length === 2 && argv[1] === "-l";
}
