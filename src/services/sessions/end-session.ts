import type { Clock } from "../../system/clock.ts";
import type { Processes } from "../../system/processes.ts";
import type { Tmux, TmuxPane } from "../terminal/tmux-command.ts";
import { endTree } from "./process-tree.ts";

export interface EndedSession {
  /** Processes of the pane that were ended, and those that even KILL did not end (normally none). */
  ended: number;
  surviving: number[];
  /** False when there was none to end. */
  sessionEnded: boolean;
}

/**
 * Ends what runs in `pane` (null: nothing is known to), then its session. Idempotent. `label` names the step, as
 * for `Tmux.killSession`.
 */
export async function endSession(
  deps: { processes: Processes; clock: Clock; tmux: Tmux },
  label: string,
  session: string,
  pane: TmuxPane | null,
  graceMs: number,
): Promise<EndedSession> {
  const { tmux } = deps;
  // The id that a dead pane tells may be another process's by now.
  const alive = pane?.dead === false ? pane : null;
  // Else the session would go with its last process, at a moment that is not ours to choose (see `TmuxMutex`).
  if (alive) await tmux.keepPane(label, alive.paneId, true);
  const tree = alive ? await endTree(deps, alive.panePid, graceMs) : { ended: 0, surviving: [] };
  const killed = await tmux.killSession(label, session);
  return { ...tree, sessionEnded: killed || pane !== null };
}
