import { isAbsolute } from "node:path";
import type { Manifest } from "../../protocol/files.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Locks } from "../../system/locks.ts";
import { tellStorageFault } from "../../system/storage-fault.ts";
import { backendFacts } from "../agent/backends.ts";
import { stopTurns } from "../headless/stop-turn.ts";
import { turnIndexOf } from "../headless/turn-request.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { forgetSession } from "../sessions/join.ts";
import type { LaunchTool } from "../sessions/launch-tools.ts";
import { endSession, endTree } from "../sessions/process-tree.ts";
import type { Registry } from "../sessions/registry.ts";
import { agentPane, type Tmux } from "../terminal/tmux-command.ts";
import { respawnShell } from "../terminal/tmux-launch.ts";
import { type GatewayStop, type StopGatewayDeps, stopGateway } from "./stop-gateway.ts";

export interface AgentStop {
  gateway: GatewayStop;
  /** Processes of the agent that were ended, and those that even KILL did not end (normally none). */
  endedProcesses: number;
  survivingPids: number[];
  /** False when the session was gone already. */
  sessionEnded: boolean;
  /** False when the record was stopped already or belongs to a later life of the agent. */
  recordStopped: boolean;
  /** Turns of a headless agent that were ended. */
  interruptedTurns: string[];
  /** What the disk did not take, as clauses for people; the agent has ended all the same. */
  unwritten: string[];
}

export interface StopAgentDeps extends StopGatewayDeps {
  registry: Registry;
  locks: Locks;
  tools: readonly LaunchTool[];
  tmuxFor: (socket: string | undefined) => Tmux;
}

/** An agent CLI that saves its session on TERM gets this long. */
const agentGraceMs = 3000;

/**
 * Ends an agent: its gateway first, so that nothing types any more; then its turns, where they are processes of their
 * own, so that each has its final state; then every process of its pane, by id,
 * since some outlive their terminal (spec/terminal.md 10); then exactly its tmux session; last the record
 * says `stopped` by the operator. Of an agent that was joined only its own program is ended: pane, window and
 * session were the person's before us (ruling 20). Idempotent; touches nothing that is not this agent's. Throws, with
 * nothing ended, where tmux cannot be asked, and where it may be another tmux than the agent's.
 */
export async function stopAgent(deps: StopAgentDeps, agent: FoundAgent): Promise<AgentStop> {
  const { manifest, sessionRoot } = agent;
  // What could not be ended whole is not begun: an agent must not lose its gateway to a stop that then fails.
  const panes = await deps.tmuxFor(manifest.tmux.socket).panes(manifest.tmux_session_name);
  if (panes.length === 0) await refuseUnseen(deps, manifest);
  const gateway = await stopGateway(deps, { sessionRoot, manifest });
  const headless = backendFacts(manifest.backend).headless;
  const disk = tolerateDisk();
  const interruptedTurns =
    (headless ? await disk.attempt("the end of its turn", () => stopTurns(deps, sessionRoot)) : null) ?? [];
  const joined = manifest.agent_launch_authority.session_origin === "joined_tmux";
  const ranTurns = headless && (interruptedTurns.length > 0 || turnIndexOf(manifest) > 0);
  const ended = joined ? await endProgram(deps, manifest, { ranTurns }) : await endTerminal(deps, manifest);
  const recordStopped =
    agent.record?.lifecycle.state !== "stopped" &&
    (await disk.attempt(recordClause, () =>
      deps.registry.markStopped(manifest.agent_id, manifest.registry_generation_id, "operator_stop"),
    )) === true;
  return { gateway, ...ended, recordStopped, interruptedTurns, unwritten: disk.unwritten };
}

export const recordClause = "that it was stopped, into its record";

/** Runs what a disk that is full or read-only must not keep a stop from; null where it did. */
export function tolerateDisk() {
  const unwritten: string[] = [];
  return {
    unwritten,
    async attempt<T>(what: string, act: () => Promise<T>): Promise<T | null> {
      try {
        return await act();
      } catch (error) {
        const fault = tellStorageFault(error);
        if (fault === null) throw error;
        unwritten.push(`${what}: ${fault}`);
        return null;
      }
    },
  };
}

/**
 * An earlier manifest may name the tmux server in a way that leads elsewhere under another TMUX_TMPDIR: there a missing
 * session does not mean that its agent has gone.
 */
async function refuseUnseen({ processes, tools }: StopAgentDeps, manifest: Manifest): Promise<void> {
  const { agent_pid: pid } = manifest.runtime;
  if (isAbsolute(manifest.tmux.socket ?? "") || typeof pid !== "number") return;
  const [program] = await processes.tree(pid);
  const tool = tools.find((one) => one.tool === manifest.tool);
  if (!program || !tool?.occupies(program)) return;
  throw new ServiceError(
    "precondition_failed",
    `the tmux server asked here has no session ${manifest.tmux_session_name}, but process ${pid} may be "${manifest.agent_name}". Run this again with TMUX_TMPDIR as it was where the agent was launched, or end that process first`,
  );
}

type Ended = Pick<AgentStop, "endedProcesses" | "survivingPids" | "sessionEnded">;

/**
 * Ends the tool's processes in the pane of a joined agent, and what its session published of it. A pane that turns were
 * run in gets a shell again.
 */
async function endProgram(
  deps: StopAgentDeps,
  manifest: Manifest,
  { ranTurns }: { ranTurns: boolean },
): Promise<Ended> {
  const tmux = deps.tmuxFor(manifest.tmux.socket);
  const pane = agentPane(await tmux.panes(manifest.tmux_session_name), manifest.tmux.primary_pane_id ?? null);
  const tool = deps.tools.find((one) => one.tool === manifest.tool);
  const program = pane && (await deps.processes.tree(pane.panePid)).find((one) => tool?.occupies(one));
  const tree = program ? await endTree(deps, program.pid, agentGraceMs) : { ended: 0, surviving: [] };
  await forgetSession(tmux, manifest);
  if (pane && ranTurns) await respawnShell(tmux, pane.paneId);
  return { endedProcesses: tree.ended, survivingPids: tree.surviving, sessionEnded: false };
}

async function endTerminal(deps: StopAgentDeps, manifest: Manifest): Promise<Ended> {
  const tmux = deps.tmuxFor(manifest.tmux.socket);
  const pane = agentPane(await tmux.panes(manifest.tmux_session_name), manifest.tmux.primary_pane_id ?? null);
  const session = manifest.tmux_session_name;
  const end = await endSession({ ...deps, tmux }, "stop.session", session, pane, agentGraceMs);
  return { endedProcesses: end.ended, survivingPids: end.surviving, sessionEnded: end.sessionEnded };
}
