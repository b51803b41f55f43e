import { type AguiObject, aguiEndpoints, aguiStreamEndpoints } from "../../../../protocol/agui.ts";
import type { GatewayStatus } from "../../../../protocol/gateway.ts";

export function isObject(value: unknown): value is AguiObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The same JSON without keys whose value is null, at any depth: clients take a null for a broken field where
 * they take a missing one for an absent field. Pure.
 */
export function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== null && one !== undefined)
      .map(([key, one]) => [key, withoutNulls(one)]),
  ) as T;
}

/** One attached GUI stream. */
export interface Connection {
  connectionId: string;
  threadId: string;
  runId: string;
  parentRunId?: string;
  lastSeenEventId?: string | number;
  createdAtUtc: string;
}

/**
 * The state that a GUI is shown: what it keeps itself (`own`, when that is an object), and under `svc` what
 * the gateway's status says. Neither prompts nor secrets are in the status. Pure. Source:
 * spec/mailbox-agui.md C.
 */
export function toSnapshot(facts: {
  status: GatewayStatus;
  own: unknown;
  connection?: Connection;
}): AguiObject {
  const { status, own, connection } = facts;
  return {
    ...(isObject(own) ? own : {}),
    svc: {
      schemaVersion: 1,
      ...(connection ? { connection: { ...connection, detached: false } } : {}),
      gateway: gatewayOf(status),
      activeExecution: {
        state: status.active_execution,
        queueDepth: status.queue_depth,
        requestAdmission: status.request_admission,
        ...(status.waiting
          ? {
              waiting: {
                reason: status.waiting.reason,
                detail: status.waiting.detail,
                sinceUtc: status.waiting.since_utc,
              },
            }
          : {}),
      },
      endpoints: {
        capabilities: aguiEndpoints.aguiCapabilities.path,
        connect: aguiStreamEndpoints.aguiConnect.path,
        runs: aguiStreamEndpoints.aguiRun.path,
        connections: aguiEndpoints.aguiDetach.path.replace("/:connection_id", ""),
      },
      lifecycle: { agentLifecycleManagedByGui: false, detachOnly: true },
    },
  };
}

function gatewayOf(status: GatewayStatus): AguiObject {
  return {
    attachIdentity: status.attach_identity,
    gatewayHealth: status.gateway_health,
    managedAgentConnectivity: status.managed_agent_connectivity,
    managedAgentRecovery: status.managed_agent_recovery,
    requestAdmission: status.request_admission,
    terminalSurfaceEligibility: status.terminal_surface_eligibility,
    activeExecution: status.active_execution,
    executionMode: status.execution_mode,
    backend: status.backend,
    tmuxSessionName: status.tmux_session_name,
    ...given("host", status.gateway_host),
    ...given("port", status.gateway_port),
    managedAgentInstanceEpoch: status.managed_agent_instance_epoch,
    ...given("gatewayTmuxWindowId", status.gateway_tmux_window_id),
    ...given("gatewayTmuxWindowIndex", status.gateway_tmux_window_index),
    ...given("gatewayTmuxPaneId", status.gateway_tmux_pane_id),
  };
}

function given(name: string, value: unknown): AguiObject {
  return value === undefined ? {} : { [name]: value };
}
