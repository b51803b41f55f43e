import type { Processes } from "../../system/processes.ts";

/** Who makes a tmux session, and for which manifest: known from the session's first moment. */
export interface LaunchMark {
  pid: number;
  startToken: string;
  manifestPath: string;
}

/** The mark of a launch by this process. */
export function launchMark(processes: Processes, manifestPath: string): string {
  const pid = processes.selfPid();
  return `${pid} ${processes.startToken(pid) ?? "-"} ${manifestPath}`;
}

/** Null for what no launch of ours wrote. Pure. */
export function parseLaunchMark(mark: string): LaunchMark | null {
  const [, pid, startToken, manifestPath] = /^(\d+) (\S+) (\/.+)$/s.exec(mark) ?? [];
  if (pid === undefined || startToken === undefined || manifestPath === undefined) return null;
  return { pid: Number(pid), startToken, manifestPath };
}
