import { join } from "node:path";
import { findGoneAgents, type GoneAgent } from "../../services/fleet/gone-agents.ts";
import { isRunning } from "../../services/sessions/find.ts";
import { aborted, sleep } from "../../system/clock.ts";
import type { AgentCaller } from "../agent/target.ts";
import { teamOf } from "../agent/team-scope.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import type { Caller } from "../command-line/command.ts";
import { narrate } from "../command-line/narrate.ts";
import { type Conversation, checkRelaunch, relaunchNamed } from "./relaunch.ts";

/** An agent that did not run, and what came of it. */
export type Resumed = { agent: GoneAgent } & (
  | { outcome: "resumed" | "would_resume"; conversation: Conversation }
  /** Somebody else brought it back meanwhile. */
  | { outcome: "runs" }
  | { outcome: "failed"; error: unknown }
  /** The command was interrupted before. */
  | { outcome: "not_begun" }
);

export interface Resumption {
  /** In the order in which they were begun. */
  agents: Resumed[];
  /** Agents that a person stopped and that are left so. */
  leftStopped: number;
  /** Agents that are gone too and not of the team of this folder. */
  leftElsewhere: number;
  /** The `svc.yaml` whose agents these are; null: all of this user. */
  teamFile: string | null;
  elapsedMs: number;
}

interface ResumeInput {
  /** Those too that a person stopped. */
  isStoppedToo: boolean;
  /** So many programs start at a time. */
  atOnce: number;
  /** Only checks which would come back. */
  isDryRun: boolean;
}

/**
 * Brings agents back that went with their machine: each in its session, with its queue and the conversation
 * that it had last. One that runs is left alone, so that a second call does what the first one left. An
 * interruption begins no further one.
 */
export async function resumeAgents(caller: Caller, input: ResumeInput): Promise<Resumption> {
  const { io, inherited } = caller;
  const context = openCliContext(io, inherited);
  const startedMs = context.clock.monotonicMs();
  const interrupted = input.isDryRun ? new AbortController().signal : io.interrupted();
  const release = input.isDryRun ? () => {} : await awaitTurn(caller, context, interrupted);
  try {
    const teamFile = (await teamOf(context, io))?.file ?? null;
    const { isStoppedToo } = input;
    const { agents, ...left } = await findGoneAgents(context, { isStoppedToo, teamFile });
    const resumed: Resumed[] = [];
    let ended = 0;
    const queue = agents.entries();
    const work = async () => {
      for (const [index, agent] of queue) {
        resumed[index] = interrupted.aborted
          ? { agent, outcome: "not_begun" }
          : await resumeOne({ ...caller, whom: { agentId: agent.record.agent_id } }, context, agent, input);
        ended += 1;
        if (resumed[index].outcome === "resumed") {
          await narrate(io, `${agent.record.agent_name} runs again (${ended} of ${agents.length})`);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(input.atOnce, agents.length) }, work));
    return { agents: resumed, ...left, teamFile, elapsedMs: context.clock.monotonicMs() - startedMs };
  } finally {
    release();
  }
}

async function resumeOne(
  caller: AgentCaller,
  context: CliContext,
  agent: GoneAgent,
  { isDryRun }: ResumeInput,
): Promise<Resumed> {
  const wanted = { conversation: "own", needsVariables: true } as const;
  try {
    if (isDryRun) {
      const conversation = await checkRelaunch(caller, wanted);
      return { agent, outcome: "would_resume", conversation };
    }
    const now = context.registry.read(agent.record.agent_id);
    if (now !== null && isRunning(now) && (await context.sessionAlive(now)))
      return { agent, outcome: "runs" };
    const { conversation } = await relaunchNamed(caller, { ...wanted, waiting: "keep", isServed: true });
    return { agent, outcome: "resumed", conversation };
  } catch (error) {
    return { agent, outcome: "failed", error };
  }
}

const pollIntervalMs = 250;

/** Two at once would start a program twice: the service at login, and the person who has just logged in. */
async function awaitTurn({ io }: Caller, context: CliContext, interrupted: AbortSignal): Promise<() => void> {
  const { files, locks, clock, registry } = context;
  const folder = join(registry.root, "locks");
  files.ensureDirectory("file:registry-folder", folder);
  // Beside the locks of agents, none of which has such an id.
  const path = join(folder, "svc-resume.lock");
  for (let isFirst = true; ; isFirst = false) {
    const lock = locks.tryTake(path);
    if (lock) return lock.release;
    if (isFirst) await narrate(io, "another resume is at work; this one goes on after it");
    if (interrupted.aborted) return () => {};
    await Promise.race([sleep(clock, pollIntervalMs), aborted(interrupted)]);
  }
}
