import { ServiceError } from "../../system/errors.ts";
import type { ProcessFacts } from "../../system/processes.ts";
import type { LaunchTool } from "./launch-tools.ts";

/** The tool whose turns a headless agent runs: nothing that runs tells it. Pure. Throws `invalid_request`. */
export function headlessTool(tools: readonly LaunchTool[], wanted: string | undefined): LaunchTool {
  const names = tools.filter(({ headless }) => headless).map(({ tool }) => tool);
  const tool = tools.find((one) => one.headless && one.tool === wanted);
  if (tool) return tool;
  throw new ServiceError(
    "invalid_request",
    wanted === undefined
      ? "a headless agent needs its tool: --tool"
      : `"${wanted}" has no headless form that we drive; known are: ${names.join(", ")}`,
  );
}

const shells = /^-?(sh|bash|zsh|fish|dash|ash|ksh|tcsh|csh|nu)$/;

/** Nothing may run in the pane but shells, and whoever joins from there. Pure. Throws `precondition_failed`. */
export function refuseBusyPane(tree: readonly ProcessFacts[], selfPid: number, session: string): void {
  const ours = new Set<number>();
  for (let at = tree.find(({ pid }) => pid === selfPid); at; ) {
    ours.add(at.pid);
    const { parentPid } = at;
    at = tree.find(({ pid }) => pid === parentPid);
  }
  const busy = tree.filter(
    ({ pid, parentPid, command }) => !ours.has(pid) && parentPid !== selfPid && !shells.test(command),
  );
  if (busy.length === 0) return;
  throw new ServiceError(
    "precondition_failed",
    `window 0 of tmux session ${session} is not idle; there is: ${busy.map(({ command }) => command).join(", ")}`,
  );
}
