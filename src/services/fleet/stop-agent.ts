import { dirname, isAbsolute } from "node:path";
import type { CurrentInstance, Manifest, RegistryRecord } from "../../protocol/files.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Locks } from "../../system/locks.ts";
import { tellStorageFault } from "../../system/storage-fault.ts";
import { backendFacts } from "../agent/backends.ts";
import { stopTurns } from "../headless/settle-turn.ts";
import { createTurnDirectories } from "../headless/turn-directory.ts";
import { turnIndexOf } from "../headless/turn-request.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { forgetSession } from "../sessions/join.ts";
import type { LaunchTool } from "../sessions/launch-tools.ts";
import { gatewayIdentity } from "../sessions/manifest.ts";
import {
  endProcesses,
  endSession,
  endTree,
  type KnownProcess,
  knownTree,
  recordedProgram,
  waitForEnd,
} from "../sessions/process-tree.ts";
import { isStoppedByPerson } from "../sessions/record.ts";
import type { Registry } from "../sessions/registry.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import { refuseExposed } from "../sessions/trust.ts";
import { agentPane, type Tmux } from "../terminal/tmux/command.ts";
import { respawnShell } from "../terminal/tmux/launch.ts";
import { closeWindow } from "../terminal/tmux/window.ts";
import { claimOf, isGatewayProcess, linkGateway, windowOf } from "./gateway-link.ts";
import { recordedProcessLives } from "./listener-proof.ts";
import { type ClaimDeps, clearClaims } from "./liveness.ts";

export interface AgentStop {
  gateway: GatewayStop;
  /** Processes of the agent that were ended, and those that even KILL did not end (normally none). */
  endedProcesses: number;
  survivingPids: number[];
  /** False when the session was gone already. */
  sessionEnded: boolean;
  /** False when a person had stopped it already, or the record belongs to a later instance of the agent. */
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
const graceMs = 3000;

/**
 * Ends an agent: its gateway first, so that nothing types any more; then its turns, where they are separate
 * processes, so that each has its final state; then every process of its pane, by id, since some outlive
 * their terminal (spec/terminal.md 10); then exactly its tmux session; then its program where that is in no
 * pane of the session; last the record says `stopped` by the operator. Of an agent that was joined only its
 * own program is ended: pane, window and session were the person's before us (ruling 20). Idempotent; touches
 * nothing that is not this agent's. Throws, with nothing ended, where tmux cannot be asked, and where it may
 * be another tmux than the agent's.
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
  // The manifest has the number of a turn a moment after its end.
  const ranTurns =
    headless &&
    (turnIndexOf(manifest) > 0 || createTurnDirectories({ ...deps, sessionRoot }).all().length > 0);
  const ended = joined ? await endProgram(deps, manifest, { ranTurns }) : await endTerminal(deps, manifest);
  const left = await endLeftProgram(deps, manifest);
  const recordStopped =
    !(agent.record && isStoppedByPerson(agent.record)) &&
    (await disk.attempt(recordClause, () =>
      deps.registry.markStopped(manifest.agent_id, manifest.registry_generation_id, "operator_stop"),
    )) === true;
  return {
    gateway,
    recordStopped,
    interruptedTurns,
    unwritten: disk.unwritten,
    endedProcesses: ended.endedProcesses + left.ended,
    survivingPids: [...new Set([...ended.survivingPids, ...left.surviving])],
    sessionEnded: ended.sessionEnded,
  };
}

/**
 * Ends the agent's program where it outlived its session, or works in a pane that a person moved into another
 * one.
 */
export async function endLeftProgram(
  deps: Pick<StopAgentDeps, "processes" | "clock" | "tools">,
  manifest: Manifest,
): Promise<{ ended: number; surviving: number[] }> {
  const left = await recordedProgram(deps, manifest);
  if (left === null) return { ended: 0, surviving: [] };
  const tree = await knownTree(deps.processes, left.pid);
  const surviving = await endProcesses(deps, tree, graceMs);
  return { ended: tree.length - surviving.length, surviving: surviving.map(({ pid }) => pid) };
}

const recordClause = "that it was stopped, into its record";

/** Runs what a disk that is full or read-only must not keep a stop from; null where it did. */
function tolerateDisk() {
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
 * An earlier manifest may name the tmux server in a way that leads elsewhere under another TMUX_TMPDIR: there
 * a missing session does not mean that its agent has gone.
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
 * Ends the tool's processes in the pane of a joined agent, and what its session published of it. A pane that
 * turns were run in gets a shell again.
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
  const tree = program ? await endTree(deps, program.pid, graceMs) : { ended: 0, surviving: [] };
  await forgetSession(tmux, manifest);
  if (pane && ranTurns) await respawnShell(tmux, pane.paneId);
  return { endedProcesses: tree.ended, survivingPids: tree.surviving, sessionEnded: false };
}

async function endTerminal(deps: StopAgentDeps, manifest: Manifest): Promise<Ended> {
  const tmux = deps.tmuxFor(manifest.tmux.socket);
  const pane = agentPane(await tmux.panes(manifest.tmux_session_name), manifest.tmux.primary_pane_id ?? null);
  const session = manifest.tmux_session_name;
  const end = await endSession({ ...deps, tmux }, "stop.session", session, pane, graceMs);
  return { endedProcesses: end.ended, survivingPids: end.surviving, sessionEnded: end.sessionEnded };
}

const gatewayGraceMs = 5000;

/**
 * Ends an agent whose manifest cannot be read, by what its record and its session show: its gateway, its
 * turns, the session if a launch of ours made it for this very agent, and the record then says `stopped`. The
 * session of an agent that was joined is the person's and stays. Idempotent; throws, with nothing ended,
 * where tmux cannot be asked, and as `refuseExposed` where a command makes the session's folder trusted
 * again. Source: spec/coordination.md "Stop, relaunch".
 */
export async function stopDamaged(deps: StopAgentDeps, record: RegistryRecord): Promise<AgentStop> {
  const sessionRoot = record.runtime.session_root ?? dirname(record.runtime.manifest_path);
  const exposure = deps.files.exposure(sessionRoot);
  if (exposure?.command) refuseExposed(deps.files, sessionRoot, "the session folder");
  const tmux = deps.tmuxFor(record.terminal.socket);
  const session = record.terminal.current_session_name ?? null;
  const ours = session !== null && (await isOurs(tmux, session, record.agent_id));
  // What another user wrote names no process to end and no file to remove.
  const gateway: GatewayStop = exposure
    ? { outcome: "not_running" }
    : await endGateway(deps, tmux, { sessionRoot, session: session ?? "" });
  const { headless } = backendFacts(record.identity.backend);
  const disk = tolerateDisk();
  const endTurns = () => disk.attempt("the end of its turn", () => stopTurns(deps, sessionRoot));
  const interruptedTurns = (headless && !exposure ? await endTurns() : null) ?? [];
  const pane = ours ? agentPane(await tmux.panes(session), null) : null;
  const ended = ours
    ? await endSession({ ...deps, tmux }, "stop.session", session, pane, graceMs)
    : { ended: 0, surviving: [] };
  const recordStopped =
    !isStoppedByPerson(record) &&
    (await disk.attempt(recordClause, () =>
      deps.registry.markStopped(record.agent_id, record.generation_id, "operator_stop"),
    )) === true;
  return {
    gateway,
    endedProcesses: ended.ended,
    survivingPids: ended.surviving,
    sessionEnded: ours,
    recordStopped,
    interruptedTurns,
    unwritten: disk.unwritten,
  };
}

async function endGateway(
  deps: StopAgentDeps,
  tmux: Tmux,
  { sessionRoot, session }: { sessionRoot: string; session: string },
): Promise<GatewayStop> {
  const { files, processes } = deps;
  const paths = sessionPaths(sessionRoot);
  const instance = openSessionFolder(files, sessionRoot).readCurrentInstance();
  const startToken = instance && processes.startToken(instance.pid);
  let outcome: GatewayStop = { outcome: "not_running" };
  if (instance && startToken !== null && recordedProcessLives(processes, claimOf(instance))) {
    const { pid } = instance;
    if (!(await isGatewayProcess({ processes, tmux }, { sessionRoot, session }, instance))) {
      return { outcome: "unproven", pid, why: "the manifest, which names it, cannot be read" };
    }
    await endProcesses(deps, [{ pid, startToken }], graceMs);
    outcome = { outcome: "stopped", pid };
  }
  for (const path of [paths.currentInstance, paths.pidFile, paths.token, paths.challengeKey]) {
    files.removeFile("file:current-instance", path);
  }
  return outcome;
}

async function isOurs(tmux: Tmux, session: string, agentId: string): Promise<boolean> {
  const marked = (await tmux.sessionMarks()).some(({ name }) => name === session);
  return marked && (await tmux.environment(session))?.["SVC_AGENT_ID"] === agentId;
}

/**
 * `unproven`: a process has the recorded id, but nothing shows that it is this gateway; it was left alone.
 */
type GatewayStop =
  | { outcome: "stopped"; pid: number }
  | { outcome: "not_running" }
  | { outcome: "unproven"; pid: number; why: string };

type StopGatewayDeps = ClaimDeps;

/** A gateway finishes what it types before it leaves. */
const endingMs = 500;

/**
 * Ends the gateway of a session: TERM to the recorded process, whose start time matches the record, once it
 * proved to be this session's gateway or, silent, is seen to be it; KILL after 5 s; then its window, when it
 * had one. What a gateway leaves when it could not end cleanly is put right (see `clearClaims`). Idempotent.
 */
export async function stopGateway(
  deps: StopGatewayDeps,
  session: { sessionRoot: string; manifest: Manifest },
): Promise<GatewayStop> {
  const { files, processes } = deps;
  const { sessionRoot, manifest } = session;
  const instance = openSessionFolder(files, sessionRoot).readCurrentInstance();
  const startToken = instance && processes.startToken(instance.pid);
  // An id alone may be another process's by now.
  if (instance === null || startToken === null || !recordedProcessLives(processes, claimOf(instance))) {
    await clearClaims(deps, session, instance?.pid ?? null);
    return { outcome: "not_running" };
  }
  const gateway: KnownProcess = { pid: instance.pid, startToken };
  const tmux = deps.tmuxFor(manifest.tmux.socket);
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(deps, { sessionRoot, attachIdentity });
  const placed = { sessionRoot, session: manifest.tmux_session_name };
  if (link.state !== "healthy" && !(await isGatewayProcess({ processes, tmux }, placed, instance))) {
    // One that is about to end has no arguments any more, and is not ended yet.
    if (await waitForEnd(deps, [gateway], endingMs)) {
      await clearClaims(deps, session, instance.pid);
      return { outcome: "not_running" };
    }
    return { outcome: "unproven", pid: instance.pid, why: link.why };
  }
  await endProcesses(deps, [gateway], gatewayGraceMs);
  await closeItsWindow(deps, session, instance);
  await clearClaims(deps, session, instance.pid);
  return { outcome: "stopped", pid: instance.pid };
}

/** A window closes with its program; one that tmux was set to keep does not. */
async function closeItsWindow(
  deps: StopGatewayDeps,
  { manifest }: { manifest: Manifest },
  instance: CurrentInstance,
): Promise<void> {
  const window = windowOf(instance);
  if (window === null) return;
  await closeWindow(deps.tmuxFor(manifest.tmux.socket), manifest.tmux_session_name, window);
}
