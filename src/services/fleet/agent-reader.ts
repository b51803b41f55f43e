import type { AgentDiagnostic, AgentLiveness, AgentState } from "../../protocol/agents.ts";
import type { Manifest, RegistryRecord } from "../../protocol/files.ts";
import type { GatewaySnapshot, GatewayStatus } from "../../protocol/gateway.ts";
import type { TerminalState } from "../../protocol/terminal.ts";
import type { HeadlessChatSession } from "../../protocol/turns.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import { backendFacts } from "../agent/backends.ts";
import { createTurnDirectories } from "../headless/turn-directory.ts";
import { createTurnReader } from "../headless/turn-reader.ts";
import type { FoundAgent } from "../sessions/find.ts";
import type { LaunchTool } from "../sessions/launch-tools.ts";
import { gatewayIdentity } from "../sessions/manifest.ts";
import { agentPane, type Tmux } from "../terminal/tmux/command.ts";
import type { GatewayClient } from "./gateway-client.ts";
import { type GatewayLink, type GatewayLinkDeps, linkGateway, type ReadGateway } from "./gateway-link.ts";
import { toAgentState } from "./projection.ts";

/**
 * The one reader of an agent's state: through its gateway, else from tmux, the processes of its pane and the
 * files of its session. Its callers differ only in their ports: a command asks afresh, the coordination
 * server keeps its links.
 */
export interface ReaderDeps {
  files: Files;
  processes: Pick<Processes, "tree">;
  tmuxFor: (socket: string | undefined) => Pick<Tmux, "panes">;
  tools: readonly LaunchTool[];
  /** How the gateway of an agent is reached. Never rejects. */
  gatewayOf(agent: ReadableAgent): Promise<ReachedGateway>;
  /** Whether its tmux session exists, and the problem to report if not. */
  livenessOf(
    agent: ReadableAgent,
  ): Promise<{ liveness: AgentLiveness; diagnostics: readonly AgentDiagnostic[] }>;
  /** What a terminal that no gateway serves shows; null when it is not watched. Never rejects. */
  terminalOf(agent: ReadableAgent): Promise<TerminalState | null>;
  /** Whether to ask for the chat session of a headless agent. */
  readsChat: boolean;
  /** How long the gateway may take to answer. */
  timeoutMs: number;
}

type ReadableAgent = Pick<FoundAgent, "manifest" | "manifestPath" | "sessionRoot"> & {
  record: RegistryRecord | null;
};

export type ReachedGateway =
  /** `status`, `snapshot`: as it has just answered; null when it is still to be asked. */
  | { client: GatewayClient; status: GatewayStatus | null; snapshot?: GatewaySnapshot | null }
  /** `silent`: why a gateway that claims the agent does not answer; null when none claims it. */
  | { client: null; silent: AgentDiagnostic | null };

export interface AgentReading {
  state: AgentState;
  /** Null when no gateway answered. */
  status: GatewayStatus | null;
  terminal: TerminalState | null;
  chat: HeadlessChatSession | null;
  /** A gateway claims the agent and does not answer. */
  isSilent: boolean;
  /** The gateway was reached, and then it did not answer. */
  wasLost: boolean;
}

/** Rejects only when its ports do. */
export async function readAgent(deps: ReaderDeps, agent: ReadableAgent): Promise<AgentReading> {
  const { manifest, manifestPath, sessionRoot, record } = agent;
  const { headless } = backendFacts(manifest.backend);
  const [{ liveness: alive, diagnostics }, reached] = await Promise.all([
    deps.livenessOf(agent),
    deps.gatewayOf(agent),
  ]);
  const answer = reached.client && (await ask(deps, reached, headless));
  const gateway = answer?.answered ? answer : null;
  const wasLost = answer?.answered === false;
  const silent = wasLost
    ? toDiagnostic("gateway_unreachable", answer.why)
    : reached.client
      ? null
      : reached.silent;
  const terminal =
    gateway?.terminal ?? (!headless && !gateway && alive === "alive" ? await deps.terminalOf(agent) : null);
  const status = gateway?.status ?? null;
  const state = toAgentState({
    record,
    manifest,
    manifestPath,
    sessionRoot,
    status,
    terminal,
    lifecycleState: record?.lifecycle.state ?? null,
    liveness: alive,
    programPresent:
      toConnectivity({ alive, terminal, status, headless }) ??
      (await occupies(deps, manifest).catch(() => false)),
    ...(headless ? { turns: readTurns(deps, sessionRoot) } : {}),
    diagnostics: [...(silent ? [silent] : []), ...diagnostics],
  });
  return { state, status, terminal, chat: gateway?.chat ?? null, isSilent: silent !== null, wasLost };
}

async function ask(
  { timeoutMs, readsChat }: ReaderDeps,
  { client, status: known, snapshot = null }: Extract<ReachedGateway, { client: GatewayClient }>,
  headless: boolean,
) {
  const [status, terminal, control] = await Promise.all([
    known ? ({ kind: "ok", body: known } as const) : client.call("status", { timeoutMs }),
    headless || snapshot ? null : client.call("terminalState", { timeoutMs }),
    headless && readsChat ? client.call("headlessState", { timeoutMs }) : null,
  ]);
  if (status.kind !== "ok") return { answered: false as const, why: status.detail };
  return {
    answered: true as const,
    status: status.body,
    terminal: snapshot?.terminal ?? (terminal?.kind === "ok" ? terminal.body : null),
    chat: control?.kind === "ok" ? control.body.chat_session : null,
  };
}

/** Whether the program of an agent is there; null when only its processes show it. Pure. */
export function toConnectivity(facts: {
  alive: AgentLiveness;
  terminal: TerminalState | null;
  status: GatewayStatus | null;
  headless: boolean;
}): boolean | null {
  const { alive, terminal, status, headless } = facts;
  if (alive !== "alive") return false;
  // Between two turns of a headless agent there is no program.
  if (terminal || headless) return true;
  return status ? status.managed_agent_connectivity === "connected" : null;
}

/**
 * Whether the tool's program occupies the agent's own pane. A tool that no profile describes counts as there.
 */
async function occupies(
  { tmuxFor, tools, processes }: ReaderDeps,
  { tmux, tmux_session_name, tool: name }: Manifest,
): Promise<boolean> {
  const panes = await tmuxFor(tmux.socket).panes(tmux_session_name);
  const pane = agentPane(panes, tmux.primary_pane_id ?? null);
  if (!pane || pane.dead) return false;
  const tool = tools.find((one) => one.tool === name);
  return tool === undefined || (await processes.tree(pane.panePid)).some(tool.occupies);
}

export function toDiagnostic(
  kind: string,
  message: string,
  details: AgentDiagnostic["details"] = {},
): AgentDiagnostic {
  return { kind, message, details };
}

/** The newest turns of a headless agent, from its turn directories. */
export function readTurns({ files }: Pick<ReaderDeps, "files">, sessionRoot: string) {
  const reader = createTurnReader({ files, turns: createTurnDirectories({ files, sessionRoot }) });
  const newest = reader.list(2);
  return {
    active: newest.find((turn) => turn.status === "active") ?? null,
    last: newest.find((turn) => turn.status !== "active") ?? null,
  };
}

export interface ObserveDeps extends GatewayLinkDeps {
  processes: Processes;
  tmuxFor: (socket: string | undefined) => Tmux;
  tools: readonly LaunchTool[];
}

export interface Observed extends Pick<AgentReading, "state" | "terminal"> {
  link: GatewayLink;
}

const commandTimeoutMs = 5000;

/**
 * One reading for a command: nothing is kept, and no terminal is watched. `known`: what was just read of its
 * gateway, and that its session lives; neither is asked again. Rejects when tmux cannot be read.
 */
export async function observeAgent(
  deps: ObserveDeps,
  agent: FoundAgent,
  known: ReadGateway | null = null,
): Promise<Observed> {
  const { manifest, sessionRoot } = agent;
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = known?.link ?? (await linkGateway(deps, { sessionRoot, attachIdentity }));
  const { state, terminal } = await readAgent(
    {
      ...deps,
      gatewayOf: async () => toReached(link, known?.snapshot ?? null),
      async livenessOf({ record }) {
        const lifecycle = record?.lifecycle.state;
        const ended = lifecycle === "stopped" || lifecycle === "retired";
        if (known && !ended) return { liveness: "alive", diagnostics: [] };
        const tmux = deps.tmuxFor(manifest.tmux.socket);
        const panes = await tmux.panes(manifest.tmux_session_name);
        if (ended) return { liveness: "gone", diagnostics: [] };
        return { liveness: panes.length > 0 ? "alive" : "gone", diagnostics: [] };
      },
      terminalOf: async () => null,
      readsChat: false,
      timeoutMs: commandTimeoutMs,
    },
    agent,
  );
  return { state, terminal, link };
}

function toReached(link: GatewayLink, snapshot: GatewaySnapshot | null): ReachedGateway {
  switch (link.state) {
    case "healthy":
      return { client: link.client, status: link.status, snapshot };
    case "stale":
      return {
        client: null,
        silent: toDiagnostic("gateway_unreachable", link.why, { pid: String(link.instance.pid) }),
      };
    case "absent":
      return { client: null, silent: null };
  }
}
