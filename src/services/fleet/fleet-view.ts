import type {
  AgentAvailability,
  AgentHistory,
  AgentHistoryEntry,
  AgentIdentity,
  AgentList,
  AgentState,
  AgentStateDetail,
  HeadlessDetail,
  TerminalDetail,
} from "../../protocol/agents.ts";
import type { LifecycleState } from "../../protocol/files.ts";
import type { GatewayStatus } from "../../protocol/gateway.ts";
import type { MailResolveLive } from "../../protocol/mail.ts";
import type { TerminalState, Transition } from "../../protocol/terminal.ts";
import type { HeadlessChatSession, TurnStatusRecord } from "../../protocol/turns.ts";
import { maxListed } from "../../protocol/wire.ts";
import { ServiceError, wrapRefusal } from "../../system/errors.ts";
import type { SettleDeps } from "../headless/settle-turn.ts";
import { createTurnDirectories } from "../headless/turn-directory.ts";
import { createTurnReader } from "../headless/turn-reader.ts";
import { bindingOf } from "../mail/binding.ts";
import { toResolveLive } from "../mail/resolve-live.ts";
import { isRunning } from "../sessions/find.ts";
import { readManifest } from "../sessions/manifest.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import { type Directory, type KnownAgent, openedAgent } from "./directory.ts";
import { type AgentReading, type FleetReader, readTurns } from "./fleet-reader.ts";
import { createRunningTurn } from "./fleet-turns.ts";
import type { Links } from "./links.ts";
import type { Liveness } from "./liveness.ts";
import { resultOf } from "./projection.ts";

/**
 * What can be seen of all agents. Each method but `list` throws `not_found` and `ambiguous` for its `ref`,
 * and `unavailable` when the agent's manifest cannot be read.
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

/** The same of agents that were found already. */
export interface FleetReadings extends FleetView {
  /** Never rejects. */
  identityOf(agent: KnownAgent): Promise<AgentIdentity>;
  stateOf(agent: KnownAgent): Promise<AgentState>;
}

interface FleetViewDeps extends SettleDeps {
  directory: Directory;
  links: Links;
  liveness: Liveness;
  reader: Pick<FleetReader, "read">;
}

type Opened = ReturnType<typeof openedAgent>;

type Reading = AgentReading & { agent: Opened };

const probeTimeoutMs = 2000;

/** Reads through the live gateway of an agent; without one, through tmux and the files of its session. */
export function createFleetView(deps: FleetViewDeps): FleetReadings {
  const { directory, links, liveness, files, reader } = deps;
  const runningTurn = createRunningTurn(deps);

  async function identityOf(agent: KnownAgent): Promise<AgentIdentity> {
    const alive = await liveness.of(agent.record);
    const has_gateway = isRunning(agent.record) && agent.found !== null && links.claims(agent.found);
    return { ...agent.identity, has_gateway, liveness: alive };
  }

  const readerOf = ({ sessionRoot }: Opened) =>
    createTurnReader({ files, turns: createTurnDirectories({ files, sessionRoot }) });

  async function read(known: KnownAgent): Promise<Reading> {
    const agent = openedAgent(known);
    if (known.identity.transport === "headless") await runningTurn(agent);
    return { ...(await reader.read(agent, { isWatched: true, readsChat: true })), agent };
  }

  return {
    identityOf,
    stateOf: async (agent) => (await read(agent)).state,
    async list({ state }) {
      const wanted = directory
        .agents()
        .filter(({ record }) => state === undefined || record.lifecycle.state === state);
      return { agents: await Promise.all(wanted.slice(0, maxListed).map(identityOf)) };
    },
    identity: async (ref) => identityOf(directory.resolve(ref)),
    state: async (ref) => (await read(directory.resolve(ref))).state,
    async detail(ref) {
      const { agent, state, terminal, gateway, chat, ...reading } = await read(directory.resolve(ref));
      const { identity } = state;
      const envelope = { tracked_agent_id: state.tracked_agent_id, identity, summary_state: state };
      if (identity.transport === "headless") {
        const interruptedAt = (turnId: string) =>
          createTurnDirectories({ files, sessionRoot: agent.sessionRoot }).find(turnId)?.interrupt()
            ?.requested_at_utc ?? null;
        const turns = readTurns(deps, agent.sessionRoot);
        const status = gateway.state === "live" ? reading.status : null;
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
      const { terminal } = await read(known);
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
      return openSessionFolder(files, agent.sessionRoot).readOfflineStatus(agent.manifest, null);
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
        throw wrapRefusal(error, "unavailable");
      }
    },
  };
}

/** The whole state of a terminal agent (contract 2.9). Pure. */
export function toTerminalDetail(state: AgentState, terminal: TerminalState): TerminalDetail {
  const route = `/svc/agents/${encodeURIComponent(state.tracked_agent_id)}`;
  return {
    transport: "tui",
    terminal_id: terminal.terminal_id,
    canonical_terminal_state_route: `${route}/state`,
    canonical_terminal_history_route: `${route}/history`,
    diagnostics: terminal.diagnostics,
    probe_snapshot: terminal.probe_snapshot,
    parsed_surface: terminal.parsed_surface,
    surface: terminal.surface,
    stability: terminal.stability,
  };
}

interface HeadlessFacts {
  state: AgentState;
  turns: { active: TurnStatusRecord | null; last: TurnStatusRecord | null };
  /** Of the live gateway, or null. */
  status: GatewayStatus | null;
  chat: HeadlessChatSession | null;
  /** When the interruption of a turn was asked for, or null. */
  interruptedAt: (turnId: string) => string | null;
}

/** The whole state of a headless agent (contract 2.9). Pure but for `interruptedAt`. */
export function toHeadlessDetail(facts: HeadlessFacts): HeadlessDetail {
  const { state, status, turns } = facts;
  const { active, last } = turns;
  const available = state.availability === "available";
  const admits =
    status === null || (status.request_admission === "open" && status.active_execution === "idle");
  return {
    transport: "headless",
    runtime_resumable: available,
    tmux_session_live: state.identity.liveness === "alive",
    can_accept_prompt_now: available && !active && admits,
    interruptible: active !== null,
    chat_session: facts.chat,
    turn: state.turn,
    last_turn: state.last_turn,
    active_turn_started_at_utc: active?.started_at_utc ?? null,
    active_turn_interrupt_requested_at_utc: active && facts.interruptedAt(active.turn_id),
    last_turn_status: last?.status ?? "unknown",
    last_turn_started_at_utc: last?.started_at_utc ?? null,
    last_turn_completed_at_utc: last?.completed_at_utc ?? null,
    last_turn_completion_source: last?.completion_source ?? null,
    last_turn_returncode: last?.returncode ?? null,
    last_turn_history_summary: last?.history_summary ?? null,
    last_turn_error: last?.error ?? null,
    mailbox: state.mailbox,
    gateway: state.gateway,
    diagnostics: state.diagnostics,
  };
}

/** The transitions that the record of a terminal holds, newest first. Pure. */
function toTerminalHistory(terminal: TerminalState | null, limit: number): AgentHistoryEntry[] {
  return (terminal?.recent_transitions ?? [])
    .toReversed()
    .slice(0, limit)
    .map((transition) => ({
      recorded_at_utc: transition.recorded_at_utc,
      summary: transition.summary,
      availability: availabilityOf(transition),
      turn_phase: transition.turn_phase,
      last_turn_result: transition.last_turn_result,
      turn_id: null,
    }));
}

function availabilityOf({ diagnostics_availability: seen }: Transition): AgentAvailability {
  if (seen === "error") return "error";
  return seen === "unavailable" || seen === "tui_down" ? "unavailable" : "available";
}

/** Durable turns as coarse steps; `turns`: newest first. Pure. */
export function toHeadlessHistory(turns: readonly TurnStatusRecord[]): AgentHistoryEntry[] {
  return turns.map((turn) => ({
    recorded_at_utc: turn.completed_at_utc ?? turn.started_at_utc,
    summary: turn.history_summary ?? turn.error ?? `turn ${turn.turn_index} ${turn.status}`,
    availability: "available",
    turn_phase: turn.status === "active" ? "active" : "ready",
    last_turn_result: resultOf(turn.status),
    turn_id: turn.turn_id,
  }));
}
