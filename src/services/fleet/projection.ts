import type {
  AgentDiagnostic,
  AgentGateway,
  AgentIdentity,
  AgentLiveness,
  AgentState,
} from "../../protocol/agents.ts";
import type { LifecycleState, Manifest, RegistryRecord } from "../../protocol/files.ts";
import type { GatewayStatus } from "../../protocol/gateway.ts";
import type { TerminalState } from "../../protocol/terminal.ts";
import type { TurnStatusRecord } from "../../protocol/turns.ts";
import { backendFacts } from "../agent/backends.ts";
import { stuckOn } from "../terminal/readiness.ts";
import { stuckText } from "./diagnose.ts";

/** What was learned of one agent in one look. */
export interface AgentFacts {
  /** Null for an agent known only by its manifest. */
  record: RegistryRecord | null;
  manifest: Manifest;
  manifestPath: string;
  sessionRoot: string;
  lifecycleState: LifecycleState | null;
  /** Absent where nobody asked tmux. */
  liveness?: AgentLiveness;
  /** The tool's program is in its pane, as far as could be seen without a gateway. */
  programPresent: boolean;
  /** From the healthy gateway, or null without one. */
  status: GatewayStatus | null;
  /** From the files of the session while no gateway serves it. */
  offlineStatus?: GatewayStatus | null;
  /** The gateway's record of the terminal, or null when it has none. */
  terminal: TerminalState | null;
  /** Of a headless agent: the turn that runs, and the newest one that has ended. */
  turns?: { active: TurnStatusRecord | null; last: TurnStatusRecord | null };
  /** What is wrong beyond the above. */
  diagnostics: readonly AgentDiagnostic[];
}

/**
 * How an agent is tracked: a headless one by its session, a terminal one by its own id (contract 2.9). Pure.
 */
export function trackedAgentId(manifest: Manifest): string {
  return backendFacts(manifest.backend).headless ? manifest.runtime.session_id : manifest.agent_id;
}

/** Since when and until when a registry record holds; nulls of an agent that is stopped. */
export function leaseOf(
  record: RegistryRecord | null,
): Pick<AgentIdentity, "published_at" | "lease_expires_at"> {
  return {
    published_at: record?.liveness?.published_at ?? null,
    lease_expires_at: record?.liveness?.lease_expires_at ?? null,
  };
}

/** Who an agent is (contract 2.9). Pure. */
export function toIdentity(
  facts: Omit<AgentFacts, "terminal" | "diagnostics" | "programPresent" | "status" | "offlineStatus"> & {
    hasGateway: boolean;
  },
): AgentIdentity {
  const { manifest } = facts;
  const { headless } = backendFacts(manifest.backend);
  return {
    tracked_agent_id: trackedAgentId(manifest),
    transport: headless ? "headless" : "tui",
    tool: manifest.tool,
    session_name: headless ? null : manifest.tmux_session_name,
    terminal_id: headless ? null : manifest.runtime.session_id,
    runtime_session_id: manifest.runtime.session_id,
    tmux_session_name: manifest.tmux_session_name,
    tmux_window_name: manifest.tmux.primary_window_name ?? null,
    manifest_path: facts.manifestPath,
    session_root: facts.sessionRoot,
    agent_name: manifest.agent_name,
    agent_id: manifest.agent_id,
    lifecycle_state: facts.lifecycleState,
    backend: manifest.backend,
    generation_id: manifest.registry_generation_id,
    has_gateway: facts.hasGateway,
    has_mailbox: manifest.launch_plan.mailbox !== undefined,
    ...leaseOf(facts.record),
    ...(facts.liveness ? { liveness: facts.liveness } : {}),
  };
}

/**
 * The summary state (contract 2.9): the gateway's record of the terminal where there is one, else only
 * whether the program is there; what nobody observed is `unknown`. Pure.
 */
export function toAgentState(facts: AgentFacts): AgentState {
  const { manifest, status, terminal } = facts;
  const described = status ?? facts.offlineStatus ?? null;
  const decision = terminal?.awaiting_decision ?? status?.awaiting_decision;
  return {
    tracked_agent_id: trackedAgentId(manifest),
    identity: toIdentity({ ...facts, hasGateway: status !== null }),
    availability: toAvailability(facts),
    ...(facts.turns ? toDurableTurns(facts, facts.turns) : toTrackedTurns(manifest, terminal)),
    diagnostics: [...facts.diagnostics, ...terminalDiagnostics(terminal)],
    mailbox: toAgentMailbox(manifest),
    gateway: described && toAgentGateway(described),
    ...(decision ? { awaiting_decision: decision } : {}),
  };
}

/** The turns that a terminal shows; they have no ids. */
function toTrackedTurns(
  manifest: Manifest,
  terminal: TerminalState | null,
): Pick<AgentState, "turn" | "last_turn"> {
  const phase = terminal?.turn.phase ?? "unknown";
  return {
    turn: { phase, active_turn_id: phase === "active" ? `tui-anchor:${manifest.agent_id}` : null },
    last_turn: {
      result: terminal?.last_turn.result ?? "unknown",
      turn_id: null,
      turn_index: null,
      updated_at_utc: terminal?.last_turn.updated_at_utc ?? null,
    },
  };
}

function toDurableTurns(
  facts: AgentFacts,
  { active, last }: NonNullable<AgentFacts["turns"]>,
): Pick<AgentState, "turn" | "last_turn"> {
  const idle = toAvailability(facts) === "available" ? "ready" : "unknown";
  return {
    turn: { phase: active ? "active" : idle, active_turn_id: active?.turn_id ?? null },
    last_turn: {
      result: last ? resultOf(last.status) : "none",
      turn_id: last?.turn_id ?? null,
      turn_index: last?.turn_index ?? null,
      updated_at_utc: last?.completed_at_utc ?? null,
    },
  };
}

/** How a turn ended, `none` while it runs. Pure. */
export function resultOf(status: TurnStatusRecord["status"]): AgentState["last_turn"]["result"] {
  switch (status) {
    case "completed":
      return "success";
    case "failed":
      return "known_failure";
    case "interrupted":
      return "interrupted";
    case "active":
      return "none";
    case "unknown":
      return "unknown";
  }
}

/**
 * A tool that we cannot read is still there to be driven: only the program's absence makes it unavailable.
 */
function toAvailability(facts: AgentFacts): AgentState["availability"] {
  if (facts.turns && facts.status?.managed_agent_recovery === "reconciliation_required") return "error";
  switch (facts.terminal?.diagnostics.availability) {
    case "error":
      return "error";
    case "unavailable":
    case "tui_down":
      return "unavailable";
    case "available":
    case "unknown":
      return "available";
    default:
      return facts.programPresent ? "available" : "unavailable";
  }
}

function terminalDiagnostics(terminal: TerminalState | null): AgentDiagnostic[] {
  const { probe_error: probe, parse_error: parse } = terminal?.diagnostics ?? {};
  return [
    ...(probe ? [{ kind: "tmux_probe_error", message: probe.message, details: probe.details }] : []),
    ...(parse ? [{ kind: "parse_baseline_error", message: parse.message, details: parse.details }] : []),
    ...unprovedVersion(terminal),
    ...stuckAgent(terminal),
  ];
}

function stuckAgent(terminal: TerminalState | null): AgentDiagnostic[] {
  const stuck = terminal && stuckOn(terminal);
  if (!stuck) return [];
  return [{ kind: "stuck", message: stuckText(stuck), details: {} }];
}

function unprovedVersion(terminal: TerminalState | null): AgentDiagnostic[] {
  const {
    tool,
    observed_tool_version: version,
    tool_version_proved: proved,
  } = terminal?.tracked_session ?? {};
  if (proved !== false) return [];
  const message = `${tool} ${version}: its screens were not proved with this version; a queued prompt waits for a second witness that it is ready, and is submitted only when the composer shows it`;
  return [{ kind: "unproved_tool_version", message, details: {} }];
}

function toAgentMailbox({ launch_plan: { mailbox } }: Manifest): AgentState["mailbox"] {
  if (!mailbox) return null;
  const { transport, principal_id, address } = mailbox;
  return { transport, principal_id, address };
}

/** The redacted status of a gateway. Pure. */
function toAgentGateway(status: GatewayStatus): AgentGateway {
  return {
    gateway_health: status.gateway_health,
    managed_agent_connectivity: status.managed_agent_connectivity,
    managed_agent_recovery: status.managed_agent_recovery,
    request_admission: status.request_admission,
    active_execution: status.active_execution,
    queue_depth: status.queue_depth,
    gateway_host: status.gateway_host ?? null,
    gateway_port: status.gateway_port ?? null,
    ...(status.tokens ? { tokens: status.tokens } : {}),
  };
}
