import { type Clock, sleep } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Processes, ProcessFacts } from "../../system/processes.ts";
import type { Tmux, TmuxPane } from "../terminal/tmux-command.ts";
import { paneTail } from "../terminal/tmux-screen.ts";
import type { LaunchTool } from "./launch-tools.ts";

/** How long the tool's program may take to occupy the pane. */
const occupyMs = 10_000;
/** A program that rejects its arguments is seen for a moment too. */
const stayMs = 300;
const lookEveryMs = 25;
const tailRows = 20;

/**
 * The tool's process once it is in the pane and has stayed there for a moment. Throws `dispatch_failed` with the end of the screen when it ended or
 * never came, and when `signal` aborts.
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
  for (;;) {
    if (signal?.aborted) throw new ServiceError("dispatch_failed", "the launch was interrupted and undone");
    const tree = await processes.tree(pane.panePid);
    const found = tree.find(tool.occupies);
    seenMs = found ? Math.min(seenMs, clock.monotonicMs()) : Number.POSITIVE_INFINITY;
    if (found && clock.monotonicMs() - seenMs >= stayMs) return found;
    const ended = tree[0] === undefined || isLoginShell(tree[0]);
    if (ended || clock.monotonicMs() >= deadlineMs) {
      const tail = await paneTail(deps.tmux, pane.paneId, tailRows).catch(messageOf);
      const what = ended ? "ended at once" : `was not seen within ${occupyMs / 1000} s`;
      throw new ServiceError("dispatch_failed", `${tool.tool} ${what}. Its screen ended with:\n${tail}`);
    }
    await sleep(clock, lookEveryMs);
  }
}

/** What the launch script of the terminal becomes when the program has ended. */
function isLoginShell({ argv }: ProcessFacts): boolean {
  return argv.length === 2 && argv[1] === "-l";
}
