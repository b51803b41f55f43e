import type { InstanceRow, RequestStore } from "../../db/gateway/request-store.ts";
import type { BudgetState } from "../../protocol/budget.ts";
import type {
  ActiveExecution,
  AdmissionBlock,
  GatewayStatus,
  RemindersLost,
  RequestAdmission,
  TypingLease,
  Waiting,
  WakesHeld,
} from "../../protocol/gateway.ts";
import type { TokenSum } from "../../protocol/usage.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import { createLoop, type Lifecycle } from "../../system/lifecycle.ts";
import { storageFaultOf, tellStorageFault } from "../../system/storage-fault.ts";
import type { Agent } from "../agent/agent.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { type Admission, decideAdmission } from "../queue/eligibility.ts";
import {
  type GatewayIdentity,
  needsReconciliation,
  nextInstance,
  type StatusFacts,
  toStatus,
} from "./project.ts";

/**
 * The gateway's status axes, computed from what is known now, never by a timer. `refresh` takes in a change
 * of the agent: it settles the instance epoch (in force at once, and durably before an operator can agree to
 * it) and reports listeners when the status differs; it never throws. Source: contract 2.1, 3.2; ruling 5.
 */
export interface StatusBoard {
  status(): GatewayStatus;
  admission(): RequestAdmission;
  /** Why it is not open, for callers; null when it is. */
  block(): AdmissionBlock | null;
  /** True while work of an older instance waits for an operator, also when the agent cannot be reached. */
  reconciliationRequired(): boolean;
  epoch(): number;
  refresh(): void;
  /**
   * The operator's word that the present instance may be worked with: fails what was accepted for older ones
   * and reopens admission. Idempotent. Returns the failed requests, oldest first. Source: ruling 5.
   */
  reconcile(): string[];
  /** The same, but keeps the accepted requests of older instances for the present one. Returns them. */
  keepRequests(): string[];
  /** Whether this is the agent's present instance and no request waits. */
  holdsNothingFor(instanceId: string | undefined): boolean;
  /** Known once the listener is bound. */
  setListener(listener: { host: string; port: number }): void;
  onChange(listener: (status: GatewayStatus) => void): () => void;
}

interface StatusBoardDeps {
  identity: GatewayIdentity;
  store: RequestStore;
  agent: Agent;
  events: EventLog;
  log: Log;
  clock: Clock;
  /** Requests have been failed and admission may be open again. */
  onReconciled: () => void;
  /** Why nothing can be stored now; asked for each request. */
  storage: () => AdmissionBlock | null;
  /** The execution slot's side of the status; read on every refresh. */
  slot: () => {
    running: boolean;
    depth: number;
    waiting: Waiting | null;
    remindersLost: RemindersLost | null;
    typing: TypingLease | null;
    wakesHeld: WakesHeld | null;
    budgetState: BudgetState | null;
    tokens: TokenSum | null;
  };
}

export function createStatusBoard(deps: StatusBoardDeps): StatusBoard {
  const { identity, store, agent, events, log } = deps;
  const listeners = new Set<(status: GatewayStatus) => void>();
  let instance: InstanceRow = nextInstance(store.instance(), null);
  /** What the database has of it. */
  let saved = instance;
  /** Why it has not, as it was logged. */
  let refused = "";
  let listener: { host: string; port: number } | null = null;
  let published = "";
  let seen: GatewayStatus | null = null;
  let latest: { facts: StatusFacts; status: GatewayStatus } | null = null;

  /**
   * In force at once: what was accepted for the former instance must not reach the next, also on a full disk.
   */
  function seeInstance(): void {
    instance = nextInstance(instance, agent.connectivity().instanceId);
  }

  /** Tried again at every look while the disk refuses. */
  function saveInstance(): void {
    if (instance === saved) return;
    store.saveInstance("sql:instance", instance);
    const previous = saved;
    saved = instance;
    if (saved.epoch === previous.epoch) return;
    events.append("instance_changed", {
      managed_agent_instance_epoch: saved.epoch,
      managed_agent_instance_id: saved.instanceId,
      previous_instance_id: previous.instanceId,
    });
    log.line("agent instance changed", { epoch: saved.epoch });
  }

  function gather(): StatusFacts {
    const { running, depth, waiting, remindersLost, typing, wakesHeld, budgetState, tokens } = deps.slot();
    const activeExecution: ActiveExecution = running ? "running" : "idle";
    return {
      identity,
      listener,
      connectivity: agent.connectivity(),
      instance,
      storage: deps.storage(),
      activeExecution,
      queueDepth: depth,
      waiting,
      remindersLost,
      typing,
      wakesHeld,
      budget: budgetState,
      tokens,
    };
  }

  const admission = (): Admission =>
    decideAdmission({
      connectivity: agent.connectivity(),
      storage: deps.storage(),
      reconciliationRequired: needsReconciliation(instance),
    });

  /** The same object while the facts are the same: it is asked for more often than they change. */
  function status(): GatewayStatus {
    const facts = gather();
    if (!latest || !sameFacts(latest.facts, facts)) latest = { facts, status: toStatus(facts) };
    return latest.status;
  }

  function publish(): void {
    const now = status();
    if (now === seen) return;
    seen = now;
    const text = JSON.stringify(now);
    if (text === published) return;
    published = text;
    for (const tell of listeners) tell(now);
  }

  function refresh(): void {
    seeInstance();
    // Called for every change of anything: what the disk refuses must stop none of those who call.
    try {
      saveInstance();
      refused = "";
    } catch (error) {
      const message = messageOf(error);
      if (message !== refused) log.line("agent instance not stored", { error: message });
      refused = message;
    }
    publish();
  }

  /** `settle`: what becomes of the accepted requests of older instances. */
  function settleOlder(settle: (next: InstanceRow) => { failed: string[]; kept: string[] }) {
    seeInstance();
    saveInstance();
    if (!needsReconciliation(instance)) return { failed: [], kept: [] };
    const next = { ...instance, reconciledEpoch: instance.epoch };
    const settled = settle(next);
    const { failed, kept } = settled;
    instance = next;
    saved = next;
    events.append("reconciled", {
      managed_agent_instance_epoch: next.epoch,
      failed_request_ids: failed,
      ...(kept.length === 0 ? {} : { kept_request_ids: kept }),
    });
    log.line("reconciled", { epoch: next.epoch, failed: failed.length, kept: kept.length });
    deps.onReconciled();
    refresh();
    return settled;
  }

  return {
    status,
    admission: () => admission().state,
    block: () => admission().block,
    reconciliationRequired: () => needsReconciliation(instance),
    epoch: () => instance.epoch,
    refresh,
    holdsNothingFor: (instanceId) =>
      instanceId === agent.connectivity().instanceId && status().queue_depth === 0,
    reconcile: () =>
      settleOlder((next) => {
        const failed = store.reconcile("sql:reconcile", next, {
          finishedAtUtc: timestampNow(deps.clock),
          errorDetail: `accepted for an earlier instance of the agent; reconciled at epoch ${next.epoch}`,
        });
        return { failed, kept: [] };
      }).failed,
    keepRequests: () =>
      settleOlder((next) => ({ failed: [], kept: store.keepAccepted("sql:keep-requests", next) })).kept,
    setListener(bound) {
      listener = bound;
      refresh();
    },
    onChange(tell) {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
  };
}

/** None of the facts is changed in place, so the same one is the same. */
function sameFacts(one: StatusFacts, other: StatusFacts): boolean {
  for (const name in one) {
    if (one[name as keyof StatusFacts] !== other[name as keyof StatusFacts]) return false;
  }
  return true;
}

/** Whether the queue's file takes what is accepted, also while nobody submits anything (ruling 32). */
interface StorageWatch extends Lifecycle {
  /** Why every request would be refused, or null. At most 100 ms old. */
  problem(): AdmissionBlock | null;
}

/** For who reads events or state.json only: answers look for themselves. Each look wakes an idle process. */
const pollIntervalMs = { fine: 30_000, faulty: 10_000 };
const freshMs = 100;

/** `fault`: what keeps the next write from the file, as it would be thrown; null for nothing. */
export function createStorageWatch(deps: {
  fault: () => unknown;
  clock: Clock;
  /** `problem` changed. */
  onChange: () => void;
  /** A look failed; the next one comes all the same. */
  onError: (error: unknown) => void;
}): StorageWatch {
  const { clock } = deps;
  let problem: AdmissionBlock | null = null;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  /** A caller of `problem` may have acted on a fault that came and went between two polls. */
  let changed = false;

  function look(): void {
    lookedAtMs = clock.monotonicMs();
    const before = problem?.detail;
    const fault = deps.fault();
    problem = fault === null ? null : toStorageBlock(fault);
    if (problem?.detail !== before) changed = true;
  }

  const loop = createLoop({
    clock,
    async turn() {
      look();
      if (changed) {
        changed = false;
        deps.onChange();
      }
      return problem === null ? pollIntervalMs.fine : pollIntervalMs.faulty;
    },
    onError: deps.onError,
  });

  return {
    problem() {
      if (clock.monotonicMs() - lookedAtMs >= freshMs) look();
      if (changed) loop.wake();
      return problem;
    },
    start: loop.start,
    stop: loop.stop,
  };
}

const restart =
  "end the gateway with `gateway detach`, put a copy of the file in its place or move it away, then `gateway attach`";

/** The same for callers: which fault it is, and what to do. Pure. */
function toStorageBlock(fault: unknown): AdmissionBlock {
  if (fault instanceof ServiceError) return { reason: "database_lost", detail: fault.message };
  const detail =
    tellStorageFault(fault, "queue.sqlite") ?? `queue.sqlite cannot be used: ${messageOf(fault)}`;
  switch (storageFaultOf(fault)?.fault) {
    case "full":
      return { reason: "disk_full", detail };
    case "damaged":
      return { reason: "database_damaged", detail: `${detail}; ${restart}` };
    default:
      return { reason: "database_unusable", detail };
  }
}
