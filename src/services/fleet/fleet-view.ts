import type {
  AgentDiagnostic,
  AgentHistory,
  AgentIdentity,
  AgentList,
  AgentState,
  AgentStateDetail,
} from "../../protocol/agents.ts";
import type { LifecycleState } from "../../protocol/files.ts";
import type { GatewayStatus } from "../../protocol/gateway.ts";
import type { MailResolveLive } from "../../protocol/mail.ts";
import type { TerminalState } from "../../protocol/terminal.ts";
import type { HeadlessChatSession } from "../../protocol/turns.ts";
import { maxListed } from "../../protocol/wire.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { SettleDeps } from "../headless/settle-turn.ts";
import { createTurnDirectories } from "../headless/turn-directory.ts";
import { createTurnReader } from "../headless/turn-reader.ts";
import { bindingOf } from "../mail/binding.ts";
import { toResolveLive } from "../mail/resolve-live.ts";
import { readOfflineStatus } from "../sessions/gateway-folder.ts";
import type { LaunchTool } from "../sessions/launch-tools.ts";
import { readManifest } from "../sessions/manifest.ts";
import { sessionPaths } from "../sessions/roots.ts";
import type { Tmux } from "../terminal/tmux-command.ts";
import { type Directory, type KnownAgent, openedAgent } from "./directory.ts";
import { toHeadlessDetail, toHeadlessHistory, toTerminalDetail, toTerminalHistory } from "./fleet-detail.ts";
import type { GatewayClient } from "./gateway-client.ts";
import type { Links } from "./links.ts";
import type { Liveness } from "./liveness.ts";
import { isProgramPresent, readTurns } from "./observe-agent.ts";
import type { PassiveTerminals } from "./passive-terminals.ts";
import { toAgentGateway, toAgentState } from "./projection.ts";
import { createRunningTurn } from "./running-turn.ts";

/**
 * What can be seen of all agents. Each method but `list` throws `not_found` and `ambiguous` for its `ref`, and
 * `unavailable` when the agent's manifest cannot be read.
 */
export interface FleetView {
  list(query: { state?: LifecycleState }): Promise<AgentList>;
  identity(ref: string): Promise<AgentIdentity>;
  state(ref: string): Promise<AgentState>;
  /** Throws `unavailable` for a terminal that nobody can see. */
  detail(ref: string): Promise<AgentStateDetail>;
  history(ref: string, limit: number): Promise<AgentHistory>;
  /** Of the live gateway, else the offline status. */
  gateway(ref: string): Promise<GatewayStatus>;
  /** Throws `unavailable` for an agent without a usable mailbox. */
  resolveLive(ref: string): Promise<MailResolveLive>;
}

export interface FleetViewDeps extends SettleDeps {
  directory: Directory;
  links: Links;
  liveness: Liveness;
  /** What terminals without a gateway show. */
  terminals: Pick<PassiveTerminals, "state">;
  tools: readonly LaunchTool[];
  tmuxFor: (socket: string | undefined) => Tmux;
}

type Opened = ReturnType<typeof openedAgent>;

/** What one look at an agent found. */
interface Look {
  agent: Opened;
  state: AgentState;
  terminal: TerminalState | null;
  status: GatewayStatus | null;
  chat: HeadlessChatSession | null;
}

const probeTimeoutMs = 2000;

/** Reads through the live gateway of an agent; of one without, what tmux and the files of its session tell. */
export function createFleetView(deps: FleetViewDeps): FleetView {
  const { directory, links, liveness, files } = deps;
  const runningTurn = createRunningTurn(deps);

  async function identityOf(agent: KnownAgent): Promise<AgentIdentity> {
    const alive = await liveness.of(agent.record);
    const runs = agent.record.lifecycle.state !== "stopped" && agent.record.lifecycle.state !== "retired";
    const has_gateway = runs && agent.found !== null && links.claims(agent.found);
    return { ...agent.identity, has_gateway, liveness: alive };
  }

  const readerOf = ({ sessionRoot }: Opened) =>
    createTurnReader({ files, turns: createTurnDirectories({ files, sessionRoot }) });

  /** Null with why when the gateway that was found does not answer now. */
  async function ask(client: GatewayClient, headless: boolean) {
    const options = { timeoutMs: probeTimeoutMs };
    const [status, terminal, control] = await Promise.all([
      client.call("status", options),
      headless ? null : client.call("terminalState", options),
      headless ? client.call("headlessState", options) : null,
    ]);
    if (status.kind !== "ok") return { answered: false as const, why: status.detail };
    return {
      answered: true as const,
      status: status.body,
      terminal: terminal?.kind === "ok" ? terminal.body : null,
      chat: control?.kind === "ok" ? control.body.chat_session : null,
    };
  }

  async function look(ref: string): Promise<Look> {
    const known = directory.resolve(ref);
    const agent = openedAgent(known);
    const { manifest, manifestPath, sessionRoot, record } = agent;
    const headless = known.identity.transport === "headless";
    if (headless) await runningTurn(agent);
    const diagnostics: AgentDiagnostic[] = [];
    const [alive, link] = await Promise.all([liveness.of(record), links.to(agent)]);
    const asked = link.state === "live" ? await ask(link.client, headless) : null;
    const answered = asked?.answered ? asked : null;
    const silent =
      asked?.answered === false ? asked.why : link.state === "none" && link.claimed ? link.why : null;
    if (asked && !asked.answered) links.doubt(agent);
    if (silent !== null) diagnostics.push(diagnose("gateway_unreachable", silent));
    if (alive === "unknown")
      diagnostics.push(diagnose("tmux_probe_error", "its tmux server does not answer"));
    if (alive === "gone" && headless) {
      diagnostics.push(diagnose("tmux_session_missing", "its tmux session is gone"));
    }
    const terminal =
      answered?.terminal ??
      (!headless && !answered && alive === "alive" ? await deps.terminals.state(agent) : null);
    const state = toAgentState({
      ...{ record, manifest, manifestPath, sessionRoot, terminal, diagnostics },
      lifecycleState: record.lifecycle.state,
      liveness: alive,
      status: answered?.status ?? null,
      programPresent: await programPresent(agent, { alive, terminal, status: answered?.status, headless }),
      ...(headless ? { turns: readTurns(deps, sessionRoot) } : {}),
    });
    // Without a gateway the offline status; with one that claims the agent and is silent, nothing is known.
    const gateway =
      answered || silent !== null ? state.gateway : toAgentGateway(readOfflineStatus(files, agent, null));
    return {
      agent,
      state: { ...state, gateway },
      terminal,
      status: answered?.status ?? null,
      chat: answered?.chat ?? null,
    };
  }

  async function programPresent(
    agent: Opened,
    facts: {
      alive: string;
      terminal: TerminalState | null;
      status: GatewayStatus | undefined;
      headless: boolean;
    },
  ): Promise<boolean> {
    if (facts.alive !== "alive") return false;
    if (facts.terminal || facts.headless) return true;
    if (facts.status) return facts.status.managed_agent_connectivity === "connected";
    try {
      return await isProgramPresent(deps, agent.manifest);
    } catch {
      return false;
    }
  }

  return {
    async list({ state }) {
      const wanted = directory
        .agents()
        .filter(({ record }) => state === undefined || record.lifecycle.state === state);
      return { agents: await Promise.all(wanted.slice(0, maxListed).map(identityOf)) };
    },
    identity: async (ref) => identityOf(directory.resolve(ref)),
    state: async (ref) => (await look(ref)).state,
    async detail(ref) {
      const { agent, state, terminal, status, chat } = await look(ref);
      const { identity } = state;
      const envelope = { tracked_agent_id: state.tracked_agent_id, identity, summary_state: state };
      if (identity.transport === "headless") {
        const interruptedAt = (turnId: string) =>
          createTurnDirectories({ files, sessionRoot: agent.sessionRoot }).find(turnId)?.interrupt()
            ?.requested_at_utc ?? null;
        const turns = readTurns(deps, agent.sessionRoot);
        return { ...envelope, detail: toHeadlessDetail({ state, turns, status, chat, interruptedAt }) };
      }
      if (terminal) return { ...envelope, detail: toTerminalDetail(state, terminal) };
      throw new ServiceError(
        "unavailable",
        `the terminal of "${agent.manifest.agent_name}" cannot be seen now: it is ${state.availability}`,
      );
    },
    async history(ref, limit) {
      const known = directory.resolve(ref);
      const agent = openedAgent(known);
      const { tracked_agent_id, transport } = known.identity;
      if (transport === "headless") {
        await runningTurn(agent);
        return { tracked_agent_id, entries: toHeadlessHistory(readerOf(agent).list(limit)) };
      }
      const { terminal } = await look(ref);
      return { tracked_agent_id, entries: toTerminalHistory(terminal, limit) };
    },
    async gateway(ref) {
      const agent = openedAgent(directory.resolve(ref));
      const link = await links.to(agent);
      if (link.state === "live") {
        const status = await link.client.call("status", { timeoutMs: probeTimeoutMs });
        if (status.kind === "ok") return status.body;
        links.doubt(agent);
      }
      return readOfflineStatus(files, agent, null);
    },
    async resolveLive(ref) {
      const agent = openedAgent(directory.resolve(ref));
      const link = await links.to(agent);
      const live =
        link.state === "live"
          ? { instance: link.instance, statePath: sessionPaths(agent.sessionRoot).state }
          : null;
      try {
        return toResolveLive(
          bindingOf(() => readManifest(files, agent.manifestPath)),
          live,
        );
      } catch (error) {
        throw new ServiceError("unavailable", messageOf(error), { cause: error });
      }
    },
  };
}

function diagnose(kind: string, message: string): AgentDiagnostic {
  return { kind, message, details: {} };
}
