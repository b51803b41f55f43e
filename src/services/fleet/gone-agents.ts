import type { RegistryRecord } from "../../protocol/files.ts";
import type { Files } from "../../system/files.ts";
import { isRunning, openRecord } from "../sessions/find.ts";
import { createSessionsSeen, isStoppedByPerson } from "../sessions/record.ts";
import type { Registry } from "../sessions/registry.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { readOpenTurn, readWaitingPrompts } from "../status/project.ts";
import type { Tmux } from "../terminal/tmux/command.ts";

/** An agent that does not run, and what it was at. */
export interface GoneAgent {
  record: RegistryRecord;
  /** A person ended it; else it went with its machine or its tmux server. */
  isStopped: boolean;
  /** Prompts that wait. */
  waiting: number;
  /** Since when the first of them does; null without one. */
  waitingSinceUtc: string | null;
  /** A turn ran when it went. */
  hadTurn: boolean;
}

interface GoneAgents {
  /** In the order in which they are brought back. */
  agents: GoneAgent[];
  /** Left out: stopped by a person, and gone agents of other teams or of none. */
  leftStopped: number;
  leftElsewhere: number;
}

interface GoneDeps {
  files: Files;
  registry: Pick<Registry, "list">;
  tmuxFor: (socket: string | undefined) => Tmux;
}

/**
 * The agents that went without a person's stop; with `isStoppedToo` also the stopped ones that can be started
 * again. `teamFile`: only those of this `svc.yaml`; null: all. Starts and changes nothing.
 */
export async function findGoneAgents(
  { files, registry, tmuxFor }: GoneDeps,
  { isStoppedToo, teamFile }: { isStoppedToo: boolean; teamFile: string | null },
): Promise<GoneAgents> {
  const sessionAlive = createSessionsSeen(tmuxFor);
  const found: GoneAgents = { agents: [], leftStopped: 0, leftElsewhere: 0 };
  for (const record of registry.list().records) {
    if (record.lifecycle.state === "retired") continue;
    const isStopped = isStoppedByPerson(record);
    // Where tmux cannot be asked, the relaunch says why.
    if (isRunning(record) && (await sessionAlive(record).catch(() => false))) continue;
    const isElsewhere = teamFile !== null && record.team?.file !== teamFile;
    if (isStopped && (!isStoppedToo || !record.lifecycle.relaunchable)) {
      if (!isElsewhere && record.lifecycle.relaunchable) found.leftStopped += 1;
    } else if (isElsewhere) found.leftElsewhere += 1;
    else found.agents.push({ record, isStopped, ...readWork(files, record) });
  }
  found.agents.sort(compareByWork);
  return found;
}

/** Nothing where its files cannot be read: the relaunch, or its gateway then, says what is wrong with them. */
function readWork(files: Files, record: RegistryRecord): Omit<GoneAgent, "record" | "isStopped"> {
  try {
    const { queue } = sessionPaths(openRecord(files, record).sessionRoot);
    const prompts = readWaitingPrompts(files, queue);
    return {
      waiting: prompts.length,
      waitingSinceUtc: prompts[0]?.acceptedAtUtc ?? null,
      hadTurn: readOpenTurn(files, queue) !== null,
    };
  } catch {
    return { waiting: 0, waitingSinceUtc: null, hadTurn: false };
  }
}

/** First those for whom prompts wait, the oldest prompt first; then those that were at work; then by name. Pure. */
export function compareByWork(one: GoneAgent, other: GoneAgent): number {
  const rank = ({ waitingSinceUtc, hadTurn, record }: GoneAgent) =>
    [waitingSinceUtc ?? "~", hadTurn ? "0" : "1", record.agent_name, record.agent_id].join("\n");
  const [left, right] = [rank(one), rank(other)];
  return left === right ? 0 : left < right ? -1 : 1;
}
