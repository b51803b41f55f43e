import type { InstanceRow } from "../../db/gateway/request-store.ts";
import {
  type ActiveExecution,
  type ExecutionMode,
  type GatewayStatus,
  protocolVersion,
  type RemindersLost,
  type RequestAdmission,
  type Waiting,
} from "../../protocol/gateway.ts";
import type { Presence } from "../agent/agent.ts";
import { needsReconciliation } from "./instance.ts";

/** Where a gateway runs: as a process of its own, or in a window beside the agent. */
export interface GatewayExecution {
  executionMode: ExecutionMode;
  /** Exactly with `tmux_auxiliary_window`, and only of a live gateway. */
  auxiliaryWindow?: { windowId: string; windowIndex: string; paneId: string };
}

/** What never changes while a gateway runs. */
export interface GatewayIdentity extends GatewayExecution {
  attachIdentity: string;
  backend: string;
  tmuxSessionName: string;
}

export interface StatusFacts {
  identity: GatewayIdentity;
  listener: { host: string; port: number } | null;
  presence: Presence;
  instance: InstanceRow;
  activeExecution: ActiveExecution;
  queueDepth: number;
  waiting: Waiting | null;
  remindersLost: RemindersLost | null;
}

/** Whether new work is let in. Unavailability comes before reconciliation (spec/gateway.md 2.1). */
export function decideAdmission(facts: Pick<StatusFacts, "presence" | "instance">): RequestAdmission {
  if (!facts.presence.connected) return "blocked_unavailable";
  return needsReconciliation(facts.instance) ? "blocked_reconciliation" : "open";
}

/** The status record of a live gateway (contract 2.1); optional fields are left out, never null (ruling 2). */
export function toStatus(facts: StatusFacts): GatewayStatus {
  const { identity, listener, presence, instance } = facts;
  const admission = decideAdmission(facts);
  const window = identity.auxiliaryWindow;
  return {
    schema_version: 1,
    protocol_version: protocolVersion,
    attach_identity: identity.attachIdentity,
    backend: identity.backend,
    tmux_session_name: identity.tmuxSessionName,
    gateway_health: "healthy",
    managed_agent_connectivity: presence.connected ? "connected" : "unavailable",
    managed_agent_recovery: !presence.connected
      ? "awaiting_rebind"
      : needsReconciliation(instance)
        ? "reconciliation_required"
        : "idle",
    request_admission: admission,
    terminal_surface_eligibility: presence.connected ? presence.eligibility : "unknown",
    active_execution: facts.activeExecution,
    execution_mode: identity.executionMode,
    queue_depth: facts.queueDepth,
    ...(listener ? { gateway_host: listener.host, gateway_port: listener.port } : {}),
    ...(window
      ? {
          gateway_tmux_window_id: window.windowId,
          gateway_tmux_window_index: window.windowIndex,
          gateway_tmux_pane_id: window.paneId,
        }
      : {}),
    managed_agent_instance_epoch: instance.epoch,
    ...(instance.instanceId === null ? {} : { managed_agent_instance_id: instance.instanceId }),
    ...(facts.waiting ? { waiting: facts.waiting } : {}),
    ...(facts.remindersLost ? { reminders_lost: facts.remindersLost } : {}),
  };
}

/** The status of a session whose gateway does not run: what an attacher seeds and a clean stop leaves. */
export function toOfflineStatus(identity: GatewayIdentity, epoch: number): GatewayStatus {
  return {
    schema_version: 1,
    protocol_version: protocolVersion,
    attach_identity: identity.attachIdentity,
    backend: identity.backend,
    tmux_session_name: identity.tmuxSessionName,
    gateway_health: "not_attached",
    managed_agent_connectivity: "unavailable",
    managed_agent_recovery: "idle",
    request_admission: "blocked_unavailable",
    terminal_surface_eligibility: "unknown",
    active_execution: "idle",
    execution_mode: identity.executionMode,
    queue_depth: 0,
    managed_agent_instance_epoch: epoch,
  };
}
