import type { AgentDiagnostic, AgentLiveness, AgentState } from "../../protocol/agents.ts";
import type { Manifest, RegistryRecord } from "../../protocol/files.ts";
import type { GatewayStatus, RequestRecord } from "../../protocol/gateway.ts";
import type { TerminalState } from "../../protocol/terminal.ts";
import type { HeadlessChatSession } from "../../protocol/turns.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import { backendFacts } from "../agent/backends.ts";
import { createTurnDirectories } from "../headless/turn-directory.ts";
import { createTurnReader } from "../headless/turn-reader.ts";
import { type FoundAgent, isRunning } from "../sessions/find.ts";
import type { LaunchTool } from "../sessions/launch-tools.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import { agentPane, type Tmux } from "../terminal/tmux/command.ts";
import {
  type AttentionFacts,
  newestRequests,
  requestsLookedAt,
  toAttentionFacts,
  unusableFacts,
} from "./attention-facts.ts";
import type { KnownAgent } from "./directory.ts";
import type { GatewayLinkDeps } from "./gateway-link.ts";
import { createLinks, type FleetLink, type ReadingLinks } from "./links.ts";
import type { PassiveTerminals } from "./passive-terminals.ts";
import { toAgentState } from "./projection.ts";

/** Also one that no record names. */
type ReadableAgent = Pick<FoundAgent, "manifest" | "manifestPath" | "sessionRoot" | "record">;

/** `fault`: why it is not known. */
interface SessionReading {
  liveness: AgentLiveness;
  fault?: string;
}

interface FleetReaderDeps {
  files: Files;
  clock: Pick<Clock, "nowMs">;
  processes: Pick<Processes, "tree">;
  tmuxFor: (socket: string | undefined) => Pick<Tmux, "panes">;
  tools: readonly LaunchTool[];
  links: Pick<ReadingLinks, "read">;
  /** Whether the tmux session of an agent exists. */
  sessionOf: (agent: ReadableAgent) => Promise<SessionReading>;
  /** Shows a terminal that no gateway serves; without it none is watched. */
  terminals?: Pick<PassiveTerminals, "state">;
}

/** What was read of one agent at one moment. */
export interface AgentReading {
  state: AgentState;
  session: SessionReading;
  /** `live` only where it answered. */
  gateway: FleetLink;
  /** From the live gateway, else from the files of the session. */
  status: GatewayStatus;
  terminal: TerminalState | null;
  /** Null where it was not asked for, and without a live gateway. */
  chat: HeadlessChatSession | null;
  /** Newest first; null where the gateway did not send them. */
  requests: readonly RequestRecord[] | null;
}

/** The same of an agent that runs, and what may need a person. */
export interface AgentLook {
  /** Null for an agent that cannot be opened. */
  reading: AgentReading | null;
  facts: AttentionFacts;
  /** When the turn began that a live gateway sees; null where that is not known. */
  turnBeganAtUtc: string | null;
}

/** Asks a gateway that is linked already. */
const timeoutMs = 2000;

export type FleetReader = ReturnType<typeof createFleetReader>;

/**
 * The one reader of agents, in the coordination server and in the process of a command: through the gateway
 * of an agent, else from tmux, the processes of its pane and the files of its session.
 */
export function createFleetReader(deps: FleetReaderDeps) {
  const { files, clock, links } = deps;

  async function askGateway(agent: ReadableAgent, { headless = false, limit = 1, readsChat = false }) {
    const { link, status, snapshot } = await links.read(agent, { limit, timeoutMs });
    if (link.state !== "live") return { link, status: null, terminal: null, chat: null, requests: null };
    const [terminal, control] = await Promise.all([
      headless || snapshot ? null : link.client.call("terminalState", { timeoutMs }),
      headless && readsChat ? link.client.call("headlessState", { timeoutMs }) : null,
    ]);
    return {
      link,
      status,
      terminal: snapshot?.terminal ?? (terminal?.kind === "ok" ? terminal.body : null),
      chat: control?.kind === "ok" ? control.body.chat_session : null,
      requests: snapshot?.requests ?? null,
    };
  }

  /**
   * `isWatched`: also a terminal without a gateway is looked at. `limit`: how many of the newest requests a
   * live gateway sends. Rejects when `sessionOf` does.
   */
  async function read(
    agent: ReadableAgent,
    options: { isWatched?: boolean; readsChat?: boolean; limit?: number } = {},
  ): Promise<AgentReading> {
    const { manifest, sessionRoot, record } = agent;
    const { headless } = backendFacts(manifest.backend);
    const [session, asked] = await Promise.all([
      deps.sessionOf(agent),
      askGateway(agent, { headless, ...options }),
    ]);
    const { link: gateway, status } = asked;
    const isWatched = options.isWatched && !headless && status === null && session.liveness === "alive";
    const terminal = isWatched ? ((await deps.terminals?.state(agent)) ?? null) : asked.terminal;
    const offlineStatus = status
      ? null
      : openSessionFolder(files, sessionRoot).readOfflineStatus(manifest, null);
    const state = toAgentState({
      ...agent,
      status,
      // What a silent gateway has in its queue is not known.
      offlineStatus: gateway.state === "silent" ? null : offlineStatus,
      terminal,
      lifecycleState: record?.lifecycle.state ?? null,
      liveness: session.liveness,
      programPresent:
        toConnectivity({ alive: session.liveness, terminal, status, headless }) ??
        (await occupies(deps, manifest).catch(() => false)),
      ...(headless ? { turns: readTurns(deps, sessionRoot) } : {}),
      diagnostics: diagnosticsOf(gateway, session, headless),
    });
    const { chat, requests } = asked;
    return {
      state,
      session,
      gateway,
      status: status ?? (offlineStatus as GatewayStatus),
      terminal,
      chat,
      requests,
    };
  }

  return {
    read,
    /** Rejects as `read`. A terminal without a gateway is not watched for it. */
    async look({ record, identity, found, problem }: KnownAgent): Promise<AgentLook> {
      if (!found) {
        const facts = unusableFacts(record, problem ?? { state: "refused", why: "its manifest is lost" });
        return { reading: null, facts, turnBeganAtUtc: null };
      }
      const reading = await read({ ...found, record }, { limit: requestsLookedAt });
      const { state, session, gateway, status, terminal } = reading;
      const client = gateway.state === "live" ? gateway.client : null;
      const requests = reading.requests ?? (await newestRequests(deps, found, client, { timeoutMs }));
      const facts = toAttentionFacts({
        record,
        status,
        terminal,
        requests,
        trackedId: identity.tracked_agent_id,
        session: session.liveness,
        sessionFault: session.fault ?? null,
        gateway: { state: gateway.state, why: gateway.state === "live" ? "" : gateway.why },
        programPresent: isSeen(reading) ? state.availability !== "unavailable" : null,
        nowMs: clock.nowMs(),
      });
      const isActive = client !== null && state.turn.phase === "active";
      return { reading, facts, turnBeganAtUtc: isActive ? turnStartOf(requests) : null };
    },
  };
}

/** The session of an agent as `aliveOf` finds it; where that rejects, it is not known. */
export const sessionBy =
  (aliveOf: (record: RegistryRecord) => Promise<AgentLiveness | boolean>): FleetReaderDeps["sessionOf"] =>
  async ({ record }) => {
    if (!record) return { liveness: "unknown" };
    try {
      const found = await aliveOf(record);
      return { liveness: typeof found === "string" ? found : found ? "alive" : "gone" };
    } catch (error) {
      return { liveness: "unknown", fault: messageOf(error) };
    }
  };

/** Whether something sees the agent: tmux, or a live gateway where tmux does not answer us. Pure. */
export function isSeen({ session, gateway }: Pick<AgentReading, "session" | "gateway">): boolean {
  return session.liveness === "alive" || (session.liveness === "unknown" && gateway.state === "live");
}

/** Whether the program of an agent is there; null when only its processes show it. Pure. */
export function toConnectivity(facts: {
  alive: AgentLiveness;
  terminal: TerminalState | null;
  status: GatewayStatus | null;
  headless: boolean;
}): boolean | null {
  const { alive, terminal, status, headless } = facts;
  if (alive === "gone" || (alive === "unknown" && status === null)) return false;
  // Between two turns of a headless agent there is no program.
  if (terminal || headless) return true;
  return status ? status.managed_agent_connectivity === "connected" : null;
}

function diagnosticsOf(gateway: FleetLink, session: SessionReading, headless: boolean): AgentDiagnostic[] {
  const diagnostics: AgentDiagnostic[] = [];
  if (gateway.state === "silent" || gateway.state === "dead") {
    const details = { pid: String(gateway.instance.pid) };
    diagnostics.push({ kind: "gateway_unreachable", message: gateway.why, details });
  }
  if (session.liveness === "unknown") {
    const message = session.fault ?? "its tmux server does not answer";
    diagnostics.push({ kind: "tmux_probe_error", message, details: {} });
  }
  if (session.liveness === "gone" && headless)
    diagnostics.push({ kind: "tmux_session_missing", message: "its tmux session is gone", details: {} });
  return diagnostics;
}

/**
 * Whether the tool's program occupies the agent's own pane. A tool that no profile describes counts as there.
 */
async function occupies(
  { tmuxFor, tools, processes }: Pick<FleetReaderDeps, "tmuxFor" | "tools" | "processes">,
  { tmux, tmux_session_name, tool: name }: Manifest,
): Promise<boolean> {
  const panes = await tmuxFor(tmux.socket).panes(tmux_session_name);
  const pane = agentPane(panes, tmux.primary_pane_id ?? null);
  if (!pane || pane.dead) return false;
  const tool = tools.find((one) => one.tool === name);
  return tool === undefined || (await processes.tree(pane.panePid)).some(tool.occupies);
}

/** The newest turns of a headless agent, from its turn directories. */
export function readTurns({ files }: Pick<FleetReaderDeps, "files">, sessionRoot: string) {
  const reader = createTurnReader({ files, turns: createTurnDirectories({ files, sessionRoot }) });
  const newest = reader.list(2);
  return {
    active: newest.find((turn) => turn.status === "active") ?? null,
    last: newest.find((turn) => turn.status !== "active") ?? null,
  };
}

/** When the turn of the newest prompt began, unless it has ended. `requests`: newest first. Pure. */
export function turnStartOf(requests: readonly RequestRecord[]): string | null {
  for (const { request_kind: kind, evidence } of requests) {
    const step = kind === "interrupt" ? undefined : evidence.findLast(({ step }) => step.startsWith("turn_"));
    if (step) return step.step === "turn_started" ? step.at_utc : null;
  }
  return null;
}

/** What a command has for a reader. */
type CommandReaderDeps = Omit<FleetReaderDeps, "links" | "sessionOf" | "clock" | "processes"> &
  GatewayLinkDeps & { processes: Processes };

/** A reader for the process of one command. `aliveOf`: as of `sessionBy`. */
export const createCommandReader = (
  deps: CommandReaderDeps,
  aliveOf: (record: RegistryRecord) => Promise<AgentLiveness | boolean>,
): FleetReader => createFleetReader({ ...deps, links: createLinks(deps), sessionOf: sessionBy(aliveOf) });

/** One reading for a command, also of an agent without a record. Rejects when tmux cannot be read. */
export function observeAgent(deps: CommandReaderDeps, agent: FoundAgent): Promise<AgentReading> {
  const { manifest, record } = agent;
  const reader = createFleetReader({
    ...deps,
    links: createLinks(deps),
    async sessionOf() {
      const panes = await deps.tmuxFor(manifest.tmux.socket).panes(manifest.tmux_session_name);
      const runs = record === null || isRunning(record);
      return { liveness: runs && panes.length > 0 ? "alive" : "gone" };
    },
  });
  return reader.read(agent);
}
