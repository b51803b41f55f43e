import type { CurrentInstance } from "../../protocol/files.ts";
import type { Processes } from "../../system/processes.ts";
import type { Tmux } from "../terminal/tmux-command.ts";
import { findWindow, type WindowHandles } from "../terminal/tmux-window.ts";
import { claimOf } from "./gateway-link.ts";
import { recordedProcessLives } from "./listener-proof.ts";

/** The window that a gateway's record names; null for one that runs as a separate process. Pure. */
export function windowOf(instance: CurrentInstance): WindowHandles | null {
  const { tmux_window_id: windowId, tmux_window_index: windowIndex, tmux_pane_id: paneId } = instance;
  if (windowId === undefined || windowIndex === undefined || paneId === undefined) return null;
  return { windowId, windowIndex, paneId };
}

/**
 * `session`: name of the agent's tmux session. Whether the process with the recorded id is this session's gateway although it does not answer: it was started for
 * exactly this session root, or it is the process of the recorded window. A process id alone proves nothing, and one whose start was not recorded is none of ours.
 */
export async function isGatewayProcess(
  deps: { processes: Processes; tmux: Tmux },
  { sessionRoot, session }: { sessionRoot: string; session: string },
  instance: CurrentInstance,
): Promise<boolean> {
  if (instance.process_start === undefined || !recordedProcessLives(deps.processes, claimOf(instance)))
    return false;
  const [self] = await deps.processes.tree(instance.pid);
  if (self?.argv.includes(sessionRoot)) return true;
  const window = windowOf(instance);
  if (window === null) return false;
  const pane = await findWindow(deps.tmux, session, window);
  return pane?.panePid === instance.pid;
}
