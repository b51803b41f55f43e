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
 * The gateway's status, computed from the present facts, never by a timer. `refresh` reads a change of the
 * agent: it sets the instance epoch and calls the listeners when the status differs; it never throws. An
 * epoch is in force at once, and on disk before an operator can reconcile it. Source: contract 2.1, 3.2;
 * ruling 5.
 */
export interface StatusBoard {
  status(): GatewayStatus;
  admission(): RequestAdmission;
  /** Why admission is not open, for callers; null when it is. */
  block(): AdmissionBlock | null;
  /** Whether work of an older instance waits for an operator, also while the agent cannot be reached. */
  reconciliationRequired(): boolean;
  epoch(): number;
  refresh(): void;
  /**
   * The operator accepts the present instance: fails the requests that were accepted for older ones and
   * reopens admission. Idempotent. Returns the failed requests, oldest first. Source: ruling 5.
   */
  reconcile(): string[];
  /**
   * Like `reconcile`, but keeps the accepted requests of older instances for the present one. Returns them.
   */
  keepRequests(): string[];
  /** Whether `instanceId` is the agent's present instance and no request waits. */
  holdsNothingFor(instanceId: string | undefined): boolean;
  /** Called when the listener is bound. */
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
  /** Called after a reconcile: requests changed and admission may be open again. */
  onReconciled: () => void;
  /** Why nothing can be stored now; called for each request. */
  storage: () => AdmissionBlock | null;
  /** The part of the status that the execution slot reports; read at every refresh. */
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
  /** The instance in the database. */
  let saved = instance;
  /** The last logged error of saving the instance; empty after a success. */
  let saveError = "";
  let listener: { host: string; port: number } | null = null;
  let publishedText = "";
  let published: GatewayStatus | null = null;
  let latest: { facts: StatusFacts; status: GatewayStatus } | null = null;

  /**
   * In force at once, also on a full disk: requests for the previous instance must not reach the next one.
   */
  function updateInstance(): void {
    instance = nextInstance(instance, agent.connectivity().instanceId);
  }

  /** Repeated at every refresh while the disk refuses. */
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

  /** The same object while the facts are unchanged, since it is read more often than they change. */
  function status(): GatewayStatus {
    const facts = gather();
    if (!latest || !sameFacts(latest.facts, facts)) latest = { facts, status: toStatus(facts) };
    return latest.status;
  }

  function publish(): void {
    const now = status();
    if (now === published) return;
    published = now;
    const text = JSON.stringify(now);
    if (text === publishedText) return;
    publishedText = text;
    for (const notify of listeners) notify(now);
  }

  function refresh(): void {
    updateInstance();
    // `refresh` is called for every change, so a refusal of the disk must not stop its callers.
    try {
      saveInstance();
      saveError = "";
    } catch (error) {
      const message = messageOf(error);
      if (message !== saveError) log.line("agent instance not stored", { error: message });
      saveError = message;
    }
    publish();
  }

  /** `settle`: fails or keeps the accepted requests of older instances. */
  function settleOlder(settle: (next: InstanceRow) => { failed: string[]; kept: string[] }) {
    updateInstance();
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
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Compares by identity, since no fact changes in place. */
function sameFacts(one: StatusFacts, other: StatusFacts): boolean {
  for (const name in one) {
    if (one[name as keyof StatusFacts] !== other[name as keyof StatusFacts]) return false;
  }
  return true;
}

/** Watches whether the queue's file can be written, also while no request arrives (ruling 32). */
interface StorageWatch extends Lifecycle {
  /** The fault for which every request would be refused; null without one. At most 100 ms old. */
  problem(): AdmissionBlock | null;
}

/** For readers of events and state.json; answers check for themselves. Each poll wakes an idle process. */
const pollIntervalMs = { fine: 30_000, faulty: 10_000 };
const freshMs = 100;

/** `fault`: the error that the next write to the file would throw; null without one. */
export function createStorageWatch(deps: {
  fault: () => unknown;
  clock: Clock;
  /** Called after `problem` changed. */
  onChange: () => void;
  /** Called when a check failed; polling continues. */
  onError: (error: unknown) => void;
}): StorageWatch {
  const { clock } = deps;
  let problem: AdmissionBlock | null = null;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  /**
   * Set until it is reported: a fault may have come and gone between two polls, and a caller may have seen
   * it.
   */
  let changed = false;

  function check(): void {
    checkedAtMs = clock.monotonicMs();
    const before = problem?.detail;
    const fault = deps.fault();
    problem = fault === null ? null : toStorageBlock(fault);
    if (problem?.detail !== before) changed = true;
  }

  const loop = createLoop({
    clock,
    async turn() {
      check();
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
      if (clock.monotonicMs() - checkedAtMs >= freshMs) check();
      if (changed) loop.wake();
      return problem;
    },
    start: loop.start,
    stop: loop.stop,
  };
}

const restart =
  "end the gateway with `gateway detach`, put a copy of the file in its place or move it away, then `gateway attach`";

/** The fault and its remedy, for callers. Pure. */
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
