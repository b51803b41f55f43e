import { sha256 } from "../../system/digest.ts";
import type { Processes } from "../../system/processes.ts";

/** Who makes or joins a tmux session, and for which agent: on the session from its first moment with us. */
export interface LaunchMark {
  pid: number;
  startToken: string;
  manifestPath: string;
  /** Null in the mark of an earlier version. */
  agent: MarkedAgent | null;
}

export interface MarkedAgent {
  agentName: string;
  /** A joined session is the person's: it is not ours to end. */
  origin: "launched" | "joined";
  /** As `registryKey`: an agent of another registry is none of ours. */
  registryKey: string;
}

export interface MarkedSession {
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
