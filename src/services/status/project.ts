import {
  type InstanceRow,
  openQueueForReading,
  type QueueReader,
  type StoredRequest,
} from "../../db/gateway/request-store.ts";
import type { BudgetState } from "../../protocol/budget.ts";
import type { TypingLease } from "../../protocol/gateway.ts";
import {
  type ActiveExecution,
  type AdmissionBlock,
  type ExecutionMode,
  type GatewayStatus,
  protocolVersion,
  type RemindersLost,
  type RequestRecord,
  type Waiting,
  type WakesHeld,
} from "../../protocol/gateway.ts";
import type { TokenSum } from "../../protocol/usage.ts";
import { maxListed } from "../../protocol/wire.ts";
import { messageOf } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { storageFaultOf } from "../../system/storage-fault.ts";
import type { Connectivity } from "../agent/agent.ts";
import { decideAdmission } from "../queue/eligibility.ts";
import { hasOpenTurn, toPromptFields, toRecord, turnLost } from "../queue/request.ts";

/** How a gateway runs: as a separate process or in a window beside the agent. */
export interface GatewayExecution {
  executionMode: ExecutionMode;
  /** Set only for a live gateway with the mode `tmux_auxiliary_window`. */
  auxiliaryWindow?: { windowId: string; windowIndex: string; paneId: string };
}

/** The constant facts of a running gateway. */
export interface GatewayIdentity extends GatewayExecution {
  attachIdentity: string;
  backend: string;
  tmuxSessionName: string;
  agentName: string;
}

export interface StatusFacts {
  identity: GatewayIdentity;
  listener: { host: string; port: number } | null;
  connectivity: Connectivity;
  instance: InstanceRow;
  /** Why nothing can be stored now. */
  storage: AdmissionBlock | null;
  activeExecution: ActiveExecution;
  queueDepth: number;
  waiting: Waiting | null;
  remindersLost: RemindersLost | null;
  typing: TypingLease | null;
  wakesHeld: WakesHeld | null;
  budget: BudgetState | null;
  /** Tokens of all turns; null before the first counted turn. */
  tokens: TokenSum | null;
}

/**
 * The status record of a live gateway (contract 2.1). Optional fields are absent, never null (ruling 2).
 */
export function toStatus(facts: StatusFacts): GatewayStatus {
  const { identity, listener, connectivity, instance } = facts;
  const reconciliationRequired = needsReconciliation(instance);
  const admission = decideAdmission({ ...facts, reconciliationRequired });
  const window = identity.auxiliaryWindow;
  return {
    schema_version: 1,
    protocol_version: protocolVersion,
    attach_identity: identity.attachIdentity,
    backend: identity.backend,
    tmux_session_name: identity.tmuxSessionName,
    gateway_health: "healthy",
    managed_agent_connectivity: connectivity.connected ? "connected" : "unavailable",
    managed_agent_recovery: !connectivity.connected
      ? "awaiting_rebind"
      : reconciliationRequired
        ? "reconciliation_required"
        : "idle",
    request_admission: admission.state,
    terminal_surface_eligibility: connectivity.connected ? connectivity.eligibility : "unknown",
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
    ...(admission.block ? { admission_block: admission.block } : {}),
    ...(connectivity.decision ? { awaiting_decision: connectivity.decision } : {}),
    ...(facts.waiting ? { waiting: facts.waiting } : {}),
    ...(facts.typing ? { typing_lease: facts.typing } : {}),
    ...(facts.remindersLost ? { reminders_lost: facts.remindersLost } : {}),
    ...(facts.wakesHeld ? { wakes_held: facts.wakesHeld } : {}),
    ...(facts.budget ? { budget: facts.budget } : {}),
    ...(facts.tokens ? { tokens: facts.tokens } : {}),
  };
}

/** The queue on disk while no gateway serves it. */
interface OfflineQueue {
  /** Null before the first gateway and when the file cannot be read. */
  instance: InstanceRow | null;
  /** Null when the file cannot be read. */
  depth: number | null;
  /** Why the file cannot be read; null when it can. */
  block: AdmissionBlock | null;
}

/** Fields of an earlier status, for facts that the queue lacks. */
export type LastStatus = Pick<
  GatewayStatus,
  "queue_depth" | "managed_agent_instance_epoch" | "managed_agent_recovery" | "managed_agent_instance_id"
>;

/**
 * The status of a session without a running gateway: an attach writes it first, and a clean stop leaves it.
 * It counts the requests that wait in the queue (ruling 34). Pure.
 */
export function toOfflineStatus(
  identity: GatewayIdentity,
  queue: OfflineQueue,
  last: LastStatus | null,
): GatewayStatus {
  const { instance, depth, block } = queue;
  const instanceId = instance ? (instance.instanceId ?? undefined) : last?.managed_agent_instance_id;
  const unsettled = instance
    ? needsReconciliation(instance)
    : last?.managed_agent_recovery === "reconciliation_required";
  return {
    schema_version: 1,
    protocol_version: protocolVersion,
    attach_identity: identity.attachIdentity,
    backend: identity.backend,
    tmux_session_name: identity.tmuxSessionName,
    gateway_health: "not_attached",
    managed_agent_connectivity: "unavailable",
    managed_agent_recovery: unsettled ? "reconciliation_required" : "idle",
    request_admission: "blocked_unavailable",
    terminal_surface_eligibility: "unknown",
    active_execution: "idle",
    execution_mode: identity.executionMode,
    queue_depth: depth ?? last?.queue_depth ?? 0,
    managed_agent_instance_epoch: instance?.epoch ?? last?.managed_agent_instance_epoch ?? 0,
    ...(instanceId === undefined ? {} : { managed_agent_instance_id: instanceId }),
    ...(block ? { admission_block: block } : {}),
  };
}

/**
 * The instance of the agent after `liveId` was observed (contract 3.2; ruling 5). The first instance has
 * epoch 1 and needs no reconciliation. Another id raises the epoch; nothing lowers it. `liveId` null: the
 * agent cannot be reached, and the stored instance remains. Returns `stored` itself when nothing changed.
 */
export function nextInstance(stored: InstanceRow | null, liveId: string | null): InstanceRow {
  const known = stored ?? { epoch: 1, instanceId: null, reconciledEpoch: 1 };
  if (liveId === null || liveId === known.instanceId) return known;
  if (known.instanceId === null) return { ...known, instanceId: liveId };
  return { ...known, instanceId: liveId, epoch: known.epoch + 1 };
}

/** Whether requests of an older instance wait for the decision of an operator. */
export function needsReconciliation(instance: InstanceRow): boolean {
  return instance.epoch > instance.reconciledEpoch;
}

/**
 * Reads queue.sqlite while no gateway serves it (ruling 34). `served`: a gateway has run here, so a missing
 * file was lost. Never throws: an unreadable file is a `block`.
 */
export function readOfflineQueue(files: Pick<Files, "exists">, path: string, served: boolean): OfflineQueue {
  const nothing = { instance: null, depth: null };
  if (!files.exists(path)) return { ...nothing, depth: served ? null : 0, block: served ? lost : null };
  let queue: QueueReader | null = null;
  try {
    queue = openQueueForReading(path);
    return { instance: queue.instance(), depth: queue.depth(), block: null };
  } catch (error) {
    return { ...nothing, block: toBlock(error) };
  } finally {
    queue?.close();
  }
}

/** The end of an agent; `how` is a clause. */
export interface AgentEnd {
  how: string;
  atUtc: string;
}

/**
 * Facts for the records of a queue without a gateway: why none runs, and the end of its agent if it ended.
 */
interface OfflineFacts {
  why: string;
  end?: AgentEnd | null;
}

/**
 * The requests of the queue at `path`, newest first. A request that has not begun has the reason for which it
 * waits. Throws like `openQueueForReading`.
 */
export function readOfflineRequests(
  path: string,
  options: Parameters<QueueReader["list"]>[0],
  facts: OfflineFacts,
): RequestRecord[] {
  return withQueue(path, (queue) =>
    queue.list(options).map((stored) => toOfflineRecord(queue, stored, facts)),
  );
}

/** The newest prompt among the newest requests; null without one. Throws like `readOfflineRequests`. */
export function readLastPrompt(files: Pick<Files, "exists">, path: string): string | null {
  if (!files.exists(path)) return null;
  const newest = withQueue(path, (queue) => queue.list({ limit: maxSearched }));
  const prompt = newest.find(({ kind }) => kind === "submit_prompt")?.payload["prompt"];
  return typeof prompt === "string" ? prompt : null;
}

const maxSearched = 20;

/** The record of a request; null for an unknown id. */
export function readOfflineRequest(
  path: string,
  requestId: string,
  { withPrompt, ...facts }: OfflineFacts & { withPrompt: boolean },
): RequestRecord | null {
  return withQueue(path, (queue) => {
    const stored = queue.get(requestId);
    if (!stored) return null;
    const record = toOfflineRecord(queue, stored, facts);
    return withPrompt ? { ...record, ...toPromptFields(stored) } : record;
  });
}

/** The stored row of a request; null for an unknown id. */
export function readStoredRequest(path: string, requestId: string): StoredRequest | null {
  return withQueue(path, (queue) => queue.get(requestId));
}

/** The waiting prompts of the queue at `path`, oldest first. Throws like `readOfflineRequests`. */
export function readWaitingPrompts(files: Pick<Files, "exists">, path: string): StoredRequest[] {
  if (!files.exists(path)) return [];
  return withQueue(path, (queue) => queue.list({ limit: maxListed, state: "accepted" }))
    .filter(({ kind }) => kind !== "interrupt")
    .reverse();
}

/** The newest prompt at `path` whose turn had not ended when it was last written; null without one. */
export function readOpenTurn(files: Pick<Files, "exists">, path: string): StoredRequest | null {
  if (!files.exists(path)) return null;
  return withQueue(path, (queue) => queue.list({ limit: maxSearched })).find(hasOpenTurn) ?? null;
}

function withQueue<T>(path: string, read: (queue: QueueReader) => T): T {
  const queue = openQueueForReading(path);
  try {
    return read(queue);
  } finally {
    queue.close();
  }
}

function toOfflineRecord(
  queue: QueueReader,
  stored: StoredRequest,
  { why, end = null }: OfflineFacts,
): RequestRecord {
  const head = queue.heads()[0] ?? null;
  const waiting = { reason: "no_gateway", detail: why, since_utc: stored.acceptedAtUtc };
  const record = toRecord(stored, { head, waiting });
  if (end === null || !hasOpenTurn(stored)) return record;
  return { ...record, evidence: [...record.evidence, turnLost(end)] };
}

const lost: AdmissionBlock = {
  reason: "database_lost",
  detail:
    "queue.sqlite is missing: put a copy of it in its place; else the next gateway begins an empty queue and reports, from its history, which requests were lost",
};

function toBlock(error: unknown): AdmissionBlock {
  const { cause } = (error ?? {}) as { cause?: unknown };
  const fault = storageFaultOf(error) ?? storageFaultOf(cause);
  const reason = fault?.fault === "damaged" ? "database_damaged" : "database_unusable";
  return { reason, detail: messageOf(error) };
}
