import type {
  AgentAvailability,
  AgentDiagnostic,
  AgentHistory,
  AgentHistoryEntry,
  AgentIdentity,
  AgentList,
  AgentLiveness,
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
import { messageOf, ServiceError } from "../../system/errors.ts";
import { backendFacts } from "../agent/backends.ts";
import type { SettleDeps } from "../headless/settle-turn.ts";
import { createTurnDirectories } from "../headless/turn-directory.ts";
import { createTurnReader } from "../headless/turn-reader.ts";
import { bindingOf } from "../mail/binding.ts";
import { toResolveLive } from "../mail/resolve-live.ts";
import type { LaunchTool } from "../sessions/launch-tools.ts";
import { readManifest } from "../sessions/manifest.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import type { Tmux } from "../terminal/tmux/command.ts";
import {
  type AgentReading,
  type ReachedGateway,
  type ReaderDeps,
  readAgent,
  readTurns,
  toDiagnostic,
} from "./agent-reader.ts";
import { turnStartOf } from "./agent-snapshot.ts";
import {
  type AttentionFacts,
  newestRequests,
  requestsLookedAt,
  toAttentionFacts,
  unusableFacts,
} from "./attention-facts.ts";
import type { GatewayCondition } from "./diagnose.ts";
import { type Directory, type KnownAgent, openedAgent } from "./directory.ts";
import { createRunningTurn } from "./fleet-turns.ts";
import type { FleetLink, ReadingLinks, ReadLink } from "./links.ts";
import type { Liveness } from "./liveness.ts";
import type { PassiveTerminals } from "./passive-terminals.ts";
import { resultOf, toAgentGateway } from "./projection.ts";

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

/** What one look at an agent found. */
export interface AgentLook {
  facts: AttentionFacts;
  /** Null unless the gateway of a terminal agent answered: nothing else was looked at as for its state. */
  state: AgentState | null;
  turnBeganAtUtc: string | null;
}

/** The same of agents that were found already. */
export interface FleetReadings extends FleetView {
  /** Never rejects. */
  identityOf(agent: KnownAgent): Promise<AgentIdentity>;
  stateOf(agent: KnownAgent): Promise<AgentState>;
  /**
   * What of a running agent may need a person, and its state; a terminal without a gateway is not watched for
   * it.
   */
  look(agent: KnownAgent): Promise<AgentLook>;
}

interface FleetViewDeps extends SettleDeps {
  directory: Directory;
  links: ReadingLinks;
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
export function createFleetView(deps: FleetViewDeps): FleetReadings {
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
      const read = await links.read(agent, { limit: 1, timeoutMs: probeTimeoutMs });
      const { link } = read;
      if (read.answer?.kind === "unreachable") links.doubt(agent);
      const reached = toReached(read);
      if (reached !== null) return reached;
      if (link.state === "live") return { client: link.client, status: null };
      return { client: null, silent: link.claimed ? toDiagnostic("gateway_unreachable", link.why) : null };
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
    openSessionFolder(files, sessionRoot).readCurrentInstance() !== null;

  async function look(known: KnownAgent): Promise<Look> {
    const agent = openedAgent(known);
    if (known.identity.transport === "headless") await runningTurn(agent);
    const reading = await readAgent(ports, agent);
    if (reading.wasLost) links.doubt(agent);
    const { state, status, isSilent } = reading;
    // Without a gateway the offline status; of a gateway that claims the agent and is silent nothing is
    // known.
    const gateway =
      status || isSilent
        ? state.gateway
        : toAgentGateway(openSessionFolder(files, agent.sessionRoot).readOfflineStatus(agent.manifest, null));
    return { ...reading, agent, state: { ...state, gateway } };
  }

  return {
    identityOf,
    stateOf: async (agent) => (await look(agent)).state,
    async list({ state }) {
      const wanted = directory
        .agents()
        .filter(({ record }) => state === undefined || record.lifecycle.state === state);
      return { agents: await Promise.all(wanted.slice(0, maxListed).map(identityOf)) };
    },
    identity: async (ref) => identityOf(directory.resolve(ref)),
    state: async (ref) => (await look(directory.resolve(ref))).state,
    async detail(ref) {
      const { agent, state, terminal, status, chat } = await look(directory.resolve(ref));
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
      const { terminal } = await look(known);
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
    async look(known) {
      const { record } = known;
      if (!known.found)
        return {
          facts: unusableFacts(record, known.problem ?? "its manifest is lost"),
          state: null,
          turnBeganAtUtc: null,
        };
      const agent = openedAgent(known);
      const read = await links.read(agent, { limit: requestsLookedAt, timeoutMs: probeTimeoutMs });
      const { link, answer } = read;
      const reached = toReached(read);
      const reader = reached === null ? unwatched : { ...unwatched, gatewayOf: async () => reached };
      const { state, status, terminal, wasLost } = await readAgent(reader, agent);
      if (wasLost || answer?.kind === "unreachable") links.doubt(agent);
      const client = link.state === "live" && status ? link.client : null;
      const requests =
        answer?.kind === "ok"
          ? answer.body.requests
          : await newestRequests(deps, agent, client, { timeoutMs: probeTimeoutMs });
      const facts = toAttentionFacts({
        record,
        terminal,
        trackedId: known.identity.tracked_agent_id,
        session: state.identity.liveness ?? "unknown",
        gateway: conditionOf(link, { answered: status !== null, isRecorded: () => hasRecord(agent) }),
        status: status ?? openSessionFolder(files, agent.sessionRoot).readOfflineStatus(agent.manifest, null),
        programPresent: state.availability !== "unavailable",
        requests,
        nowMs: deps.clock.nowMs(),
      });
      const isSeen = status !== null && known.identity.transport === "tui";
      const isActive = state.turn.phase === "active";
      return {
        facts,
        state: isSeen ? state : null,
        turnBeganAtUtc: isSeen && isActive ? turnStartOf(requests) : null,
      };
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

/** What a snapshot says, as the reader of an agent takes it; null where there is none. Pure. */
function toReached({ link, answer }: ReadLink): ReachedGateway | null {
  if (link.state !== "live" || answer === null) return null;
  if (answer.kind === "ok") return { client: link.client, status: answer.body.status, snapshot: answer.body };
  return { client: null, silent: toDiagnostic("gateway_unreachable", answer.detail) };
}

function tmuxDiagnostics(alive: AgentLiveness, headless: boolean): AgentDiagnostic[] {
  if (alive === "unknown") return [toDiagnostic("tmux_probe_error", "its tmux server does not answer")];
  return alive === "gone" && headless
    ? [toDiagnostic("tmux_session_missing", "its tmux session is gone")]
    : [];
}

function conditionOf(
  link: FleetLink,
  seen: { answered: boolean; isRecorded: () => boolean },
): GatewayCondition {
  if (link.state === "live") return { state: seen.answered ? "live" : "silent", why: "it gives no status" };
  if (link.claimed) return { state: "silent", why: link.why };
  return { state: seen.isRecorded() ? "dead" : "none", why: link.why };
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
