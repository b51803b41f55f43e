import type {
  AgentDiagnostic,
  AgentHistory,
  AgentIdentity,
  AgentList,
  AgentLiveness,
  AgentState,
  AgentStateDetail,
} from "../../protocol/agents.ts";
import type { LifecycleState } from "../../protocol/files.ts";
import type { GatewayStatus } from "../../protocol/gateway.ts";
import type { MailResolveLive } from "../../protocol/mail.ts";
import { maxListed } from "../../protocol/wire.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import { backendFacts } from "../agent/backends.ts";
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
import { type AgentReading, diagnose, type ReaderDeps, readAgent, readTurns } from "./agent-reader.ts";
import {
  type AttentionFacts,
  type GatewayCondition,
  toAttentionFacts,
  unusableFacts,
} from "./attention-facts.ts";
import { type Directory, type KnownAgent, openedAgent } from "./directory.ts";
import { toHeadlessDetail, toHeadlessHistory, toTerminalDetail, toTerminalHistory } from "./fleet-detail.ts";
import { readCurrentInstance } from "./gateway-link.ts";
import type { FleetLink, Links } from "./links.ts";
import type { Liveness } from "./liveness.ts";
import { newestRequests } from "./newest-requests.ts";
import type { PassiveTerminals } from "./passive-terminals.ts";
import { toAgentGateway } from "./projection.ts";
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
  /** What of a running agent may need a person; a terminal without a gateway is not watched for it. */
  attention(agent: KnownAgent): Promise<AttentionFacts>;
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

type Look = AgentReading & { agent: Opened };

const probeTimeoutMs = 2000;

/** Reads through the live gateway of an agent; without one, through tmux and the files of its session. */
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

  const ports: ReaderDeps = {
    ...deps,
    async gatewayOf(agent) {
      const link = await links.to(agent);
      if (link.state === "live") return { client: link.client, status: null };
      return { client: null, silent: link.claimed ? diagnose("gateway_unreachable", link.why) : null };
    },
    async livenessOf({ record, manifest }) {
      const alive = record ? await liveness.of(record) : "unknown";
      return {
        liveness: alive,
        diagnostics: tmuxDiagnostics(alive, backendFacts(manifest.backend).headless),
      };
    },
    terminalOf: (agent) => deps.terminals.state(agent),
    readsChat: true,
    timeoutMs: probeTimeoutMs,
  };

  const unwatched: ReaderDeps = { ...ports, terminalOf: async () => null, readsChat: false };

  const hasRecord = ({ sessionRoot }: Opened) =>
    readCurrentInstance(files, sessionPaths(sessionRoot).currentInstance) !== null;

  async function look(ref: string): Promise<Look> {
    const known = directory.resolve(ref);
    const agent = openedAgent(known);
    if (known.identity.transport === "headless") await runningTurn(agent);
    const reading = await readAgent(ports, agent);
    if (reading.wasLost) links.doubt(agent);
    const { state, status, isSilent } = reading;
    // Without a gateway the offline status; of a gateway that claims the agent and is silent nothing is known.
    const gateway =
      status || isSilent ? state.gateway : toAgentGateway(readOfflineStatus(files, agent, null));
    return { ...reading, agent, state: { ...state, gateway } };
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
    async attention(known) {
      const { record } = known;
      if (!known.found) return unusableFacts(record, known.problem ?? "its manifest is lost");
      const agent = openedAgent(known);
      const link = await links.to(agent);
      const { state, status, terminal, wasLost } = await readAgent(unwatched, agent);
      if (wasLost) links.doubt(agent);
      const client = link.state === "live" && status ? link.client : null;
      return toAttentionFacts({
        ...{ record, terminal, trackedId: known.identity.tracked_agent_id },
        session: state.identity.liveness ?? "unknown",
        gateway: conditionOf(link, { answered: status !== null, recorded: hasRecord(agent) }),
        status: status ?? readOfflineStatus(files, agent, null),
        programPresent: state.availability !== "unavailable",
        requests: await newestRequests(deps, agent, client, { timeoutMs: probeTimeoutMs }),
      });
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

function tmuxDiagnostics(alive: AgentLiveness, headless: boolean): AgentDiagnostic[] {
  if (alive === "unknown") return [diagnose("tmux_probe_error", "its tmux server does not answer")];
  return alive === "gone" && headless ? [diagnose("tmux_session_missing", "its tmux session is gone")] : [];
}

function conditionOf(link: FleetLink, seen: { answered: boolean; recorded: boolean }): GatewayCondition {
  if (link.state === "live") return { state: seen.answered ? "live" : "silent", why: "it gives no status" };
  if (link.claimed) return { state: "silent", why: link.why };
  return { state: seen.recorded ? "dead" : "none", why: link.why };
}
