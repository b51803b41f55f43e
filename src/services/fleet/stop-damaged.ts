import { dirname } from "node:path";
import type { RegistryRecord } from "../../protocol/files.ts";
import { backendFacts } from "../agent/backends.ts";
import { stopTurns } from "../headless/stop-turn.ts";
import { endProcesses, endSession } from "../sessions/process-tree.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { refuseExposed } from "../sessions/trust.ts";
import { agentPane, type Tmux } from "../terminal/tmux-command.ts";
import { claimOf, readCurrentInstance } from "./gateway-link.ts";
import { isGatewayProcess } from "./gateway-process.ts";
import { recordedProcessLives } from "./listener-proof.ts";
import { type AgentStop, recordClause, type StopAgentDeps, tolerateDisk } from "./stop-agent.ts";
import type { GatewayStop } from "./stop-gateway.ts";

const graceMs = 3000;

/**
 * Ends an agent whose manifest cannot be read, by what its record and its session show: its gateway, its turns, the
 * session if a launch of ours made it for this very agent, and the record then says `stopped`. The session of an agent
 * that was joined is the person's and stays. Idempotent; throws, with nothing ended, where tmux cannot be asked, and
 * as `refuseExposed` where a command makes the session's folder trusted again.
 * Source: spec/coordination.md "Stop, relaunch".
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
    record.lifecycle.state !== "stopped" &&
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
  const instance = readCurrentInstance(files, paths.currentInstance);
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
