import type { Manifest } from "../../protocol/files.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { endTree } from "../sessions/process-tree.ts";
import type { Registry } from "../sessions/registry.ts";
import { agentPane, type Tmux } from "../terminal/tmux-command.ts";
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
}

export interface StopAgentDeps extends StopGatewayDeps {
  registry: Registry;
  tmuxFor: (socket: string | undefined) => Tmux;
}

/** An agent CLI that saves its session on TERM gets this long. */
const agentGraceMs = 3000;

/**
 * Ends an agent: its gateway first, so that nothing types any more; then every process of its pane, by id,
 * since some outlive their terminal (spec/terminal.md 10); then exactly its tmux session; last the record
 * says `stopped` by the operator. Idempotent; touches nothing that is not this agent's.
 */
export async function stopAgent(deps: StopAgentDeps, agent: FoundAgent): Promise<AgentStop> {
  const { manifest, sessionRoot } = agent;
  const gateway = await stopGateway(deps, { sessionRoot, manifest });
  const ended = await endTerminal(deps, manifest);
  const recordStopped =
    agent.record?.lifecycle.state !== "stopped" &&
    (await deps.registry.markStopped(manifest.agent_id, manifest.registry_generation_id, "operator_stop"));
  return { gateway, ...ended, recordStopped };
}

async function endTerminal(
  deps: StopAgentDeps,
  manifest: Manifest,
): Promise<Pick<AgentStop, "endedProcesses" | "survivingPids" | "sessionEnded">> {
  const tmux = deps.tmuxFor(manifest.tmux.socket);
  const pane = agentPane(await tmux.panes(manifest.tmux_session_name), manifest.tmux.primary_pane_id ?? null);
  const tree = pane ? await endTree(deps, pane.panePid, agentGraceMs) : { ended: 0, surviving: [] };
  const sessionEnded = await tmux.killSession("stop.session", manifest.tmux_session_name);
  return {
    endedProcesses: tree.ended,
    survivingPids: tree.surviving,
    // The session ends by itself when its only pane's last process does.
    sessionEnded: sessionEnded || pane !== null,
  };
}
