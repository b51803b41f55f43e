import {
  IllegalTransition,
  type InsertGuard,
  type Lane,
  type RequestStore,
  type StoredRequest,
} from "../../db/gateway/request-store.ts";
import type {
  AcceptedRequest,
  AdmissionBlock,
  Evidence,
  GatewayRequest,
  RequestAdmission,
  RequestRecord,
  RequestState,
  Waiting,
} from "../../protocol/gateway.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { assertNever, messageOf, ServiceError } from "../../system/errors.ts";
import type { Ids } from "../../system/ids.ts";
import { createLoop, type Lifecycle, orAborted } from "../../system/lifecycle.ts";
import { storageFaultOf, tellStorageFault } from "../../system/storage-fault.ts";
import type { Agent, InterruptOutcome, RunningTurn, SubmitOutcome } from "../agent/agent.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { type AcceptOnce, createAcceptOnce, type IdleFacts, type RowToAccept } from "./accept-once.ts";
import { createAcceptance, createOrderedEvents } from "./acceptance.ts";
import {
  type Coalesced,
  coalesce,
  createPreemption,
  foldedInto,
  interruptsOf,
  isControlIntent,
  promotionOf,
} from "./control-intents.ts";
import { createUnfinishedWork } from "./recovery.ts";
import {
  type End,
  endOf,
  endOfTurn,
  toAccepted,
  toEndEvent,
  toPromptFields,
  toRecord,
  toRow,
  toSubmission,
  unknownOutcome,
} from "./request.ts";
import type { ExecutionSlot } from "./slot.ts";
import { decideWithdrawal, type Withdrawer } from "./withdrawal.ts";

/**
 * The durable queue with one execution slot. `start` first settles what a dead process left behind, then
 * works until `stop`, which lets the request in the slot finish. A turn that is a separate process keeps
 * running, and the next start finds it. Source: contract 2.2, 3.1, 4.3.
 */
export interface Queue extends Lifecycle {
  /**
   * Resolves when the request is on disk; rejects when it cannot be stored. The caller has checked admission.
   */
  accept(request: GatewayRequest): Promise<AcceptedRequest>;
  /** The same for requests with a key of their caller. */
  readonly once: AcceptOnce;
  /**
   * Like `accept`, for a prompt that must not wait behind others: `refuse` decides by the content of the
   * database at the insert; `acceptIf` throws the error that it returns.
   */
  acceptIf(
    request: GatewayRequest & { kind: "submit_prompt" },
    refuse: (facts: IdleFacts) => Error | null,
  ): Promise<AcceptedRequest>;
  /** The same for the notifier's wake-up prompt, which is no public kind; it waits for a turn boundary. */
  acceptNotice(prompt: string): Promise<{ request_id: string }>;
  /** `withPrompt`: also what it asks, in its words. */
  record(requestId: string, options?: { withPrompt: boolean }): RequestRecord | null;
  /**
   * Takes back a prompt that waits; it ends as failed (ruling 38). Null for an unknown one. Throws
   * `precondition_failed` for the prompt of somebody else, `conflict` for what runs or has ended.
   */
  withdraw(requestId: string, by: Withdrawer): RequestRecord | null;
  /** Newest first. */
  list: (options: Parameters<RequestStore["list"]>[0]) => RequestRecord[];
  /** Requests accepted or running. */
  depth(): number;
  /** Whether a request that waits or runs names this headless turn. */
  claimsTurn(turnId: string): boolean;
  /** True while a request holds the execution slot. */
  running(): boolean;
  /** Why the oldest request has not started, or null when nothing waits. */
  waiting(): Waiting | null;
  /** Look again: the agent, the admission or stored requests may have changed. */
  wake(): void;
}

interface QueueDeps {
  store: RequestStore;
  agent: Agent;
  clock: Clock;
  ids: Ids;
  events: EventLog;
  log: Log;
  admission: () => RequestAdmission;
  /** Why it is not open. */
  block: () => AdmissionBlock | null;
  epoch: () => number;
  /** The queue joins it. */
  slot: Pick<ExecutionSlot, "join" | "changed" | "report" | "decide">;
}

/** Poll again after this time when a refusal contradicts the known state and no change is reported. */
const refusedAgainMs = 250;
/** A control-intent run longer than this is collapsed in steps. */
const coalesceWindow = 64;

export function createQueue(deps: QueueDeps): Queue {
  const { store, agent, clock, log } = deps;
  const onChange = () => deps.slot.changed("queue");
  const acceptance = createAcceptance({ ...deps, onLogged: onChange });
  const events = createOrderedEvents({ events: deps.events, acceptance });
  const unfinished = createUnfinishedWork({ ...deps, addEvidence });
  let depth = store.depth();
  let inSlot = false;
  let waiting: Waiting | null = null;
  let started = false;
  /** Lanes whose oldest request the last turn has read: a later request of the same lane changes nothing. */
  let headed: ReadonlySet<Lane> = new Set();
  let left: StoredRequest | null = null;
  /** The request whose end could not be written; the write is repeated before any other work. */
  let unwritten: { request: StoredRequest; end: End } | null = null;

  const now = () => timestampNow(clock);

  function changed(): void {
    depth = store.depth();
    onChange();
  }

  function setWaiting(next: { reason: string; detail: string } | null, head?: StoredRequest): void {
    if (next?.reason === waiting?.reason && next?.detail === waiting?.detail) return;
    const sameReason = next !== null && next.reason === waiting?.reason;
    const since_utc = sameReason && waiting ? waiting.since_utc : now();
    waiting = next && { reason: next.reason, detail: next.detail, since_utc };
    if (waiting && !sameReason && head) {
      events.append("request_waiting", { request_id: head.requestId, ...waiting });
    }
    onChange();
  }

  /**
   * Settles the request that a dead process held in the slot. Its outcome is unknown, so it is never
   * repeated. Its text may still be unsent in the composer, where it would keep the agent from being ready. A
   * turn that is a separate process is found again and followed to its end.
   */
  async function settle(left: StoredRequest, signal: AbortSignal): Promise<void> {
    const seen = new Set(left.evidence.map((one) => one.step));
    const turn = agent.turns?.resume(left.requestId, (evidence) => {
      if (!seen.has(evidence.step)) addEvidence(left.requestId, evidence);
      seen.add(evidence.step);
    });
    if (turn) return holdSlot(left, turn, signal);
    finish(left, await unfinished.settle(left));
  }

  /** Keeps the slot until the turn has ended, or leaves the request `running` when we are stopped before. */
  async function holdSlot(request: StoredRequest, turn: RunningTurn, signal: AbortSignal): Promise<void> {
    preemption.look();
    const ended = await orAborted(turn.ended, signal);
    if (ended) finish(request, endOfTurn(request, turn, ended, now()));
    else log.line("the turn goes on without this gateway", { turn_id: turn.turnId });
  }

  /** `folding`: those that end with it, in the same transaction. */
  function finish(
    request: StoredRequest,
    end: End,
    { from = "running", folding = [] }: { from?: RequestState; folding?: readonly StoredRequest[] } = {},
  ): void {
    const { transitions, coalesced } = foldedInto(request, folding, now());
    try {
      store.transition("sql:request-finished", [
        ...transitions,
        { requestId: request.requestId, from, finishedAtUtc: now(), ...end },
      ]);
    } catch (error) {
      const byDisk = storageFaultOf(error) !== null || error instanceof ServiceError;
      if (byDisk && from === "running") unwritten = { request, end };
      throw error;
    }
    if (coalesced) events.append("coalesced", coalesced);
    logEnd(request, end);
  }

  function logEnd(request: StoredRequest, end: End): void {
    events.append(end.to, toEndEvent(request, end));
    log.line(`${end.to} request`, { request_id: request.requestId, error: end.errorDetail });
    changed();
  }

  function promote(request: StoredRequest, collapsed: Coalesced | null): void {
    const { transitions, coalesced } = promotionOf(request, collapsed, now());
    // The step "typed", which is synced, comes before Enter; and with the power the instance of the agent is
    // lost, too.
    const durable = !agent.tracked || agent.turns !== undefined || request.kind === "interrupt";
    store.transition("sql:request-promoted", transitions, { durable });
    inSlot = true;
    waiting = null;
    events.promoted(() => {
      if (coalesced) {
        events.append("coalesced", coalesced);
        log.line("coalesced requests", { count: transitions.length - 1, next: request.requestId });
      }
      events.append("executing", { request_id: request.requestId, request_kind: request.kind });
      log.line("executing request", { request_id: request.requestId, kind: request.kind });
      changed();
    });
  }

  function addEvidence(requestId: string, evidence: Evidence): void {
    try {
      const durable = !agent.turns || evidence.step === "typed";
      store.addEvidence("sql:request-evidence", requestId, [evidence], { durable });
    } catch (error) {
      log.line("evidence not stored", { request_id: requestId, error: messageOf(error) });
    }
    events.append("request_evidence", { request_id: requestId, ...evidence });
    onChange();
  }

  /** Returns the refusal when a new look at the agent does not admit the prompt. */
  async function execute(
    request: StoredRequest,
    signal: AbortSignal,
  ): Promise<SubmitOutcome | InterruptOutcome> {
    const coalesced = isControlIntent(request)
      ? coalesce(store.acceptedFrom(request.seq, coalesceWindow))
      : null;
    const chosen = coalesced?.next ?? request;
    const begin = () => promote(chosen, coalesced);
    const onEvidence = (evidence: Evidence) => addEvidence(chosen.requestId, evidence);
    const outcome =
      chosen.kind === "interrupt"
        ? await agent.interrupt({ begin })
        : await agent.submit({ ...toSubmission(chosen), begin, onEvidence });
    if (outcome.outcome === "submitted" && outcome.turn) await holdSlot(chosen, outcome.turn, signal);
    else if (inSlot) {
      // Interrupts that arrived during this one would only repeat it.
      const fails = chosen.kind === "interrupt" && outcome.outcome === "failed";
      const folding = fails ? interruptsOf(chosen, store.acceptedFrom(chosen.seq, coalesceWindow)) : [];
      finish(chosen, endOf(chosen, outcome, now()), { folding });
    }
    return outcome;
  }

  async function turn(signal: AbortSignal): Promise<number | null> {
    try {
      return await work(signal);
    } catch (error) {
      explainFault(error);
      throw error;
    }
  }

  /** Replaces the reason for waiting: a fault keeps the queue from going on. */
  function explainFault(error: unknown): void {
    const detail = tellStorageFault(error, "queue.sqlite") ?? deps.block()?.detail;
    const head = detail === undefined ? undefined : store.heads()[0];
    if (head && detail !== undefined) setWaiting({ reason: "blocked_unavailable", detail }, head);
  }

  async function work(signal: AbortSignal): Promise<number | null> {
    if (unwritten) {
      finish(unwritten.request, unwritten.end);
      unwritten = null;
      inSlot = false;
    }
    // A turn that a direct prompt began is ended in the same way; what is being executed still counts as
    // waiting.
    preemption.look();
    await preemption.settled();
    if (left) {
      await settle(left, signal);
      left = null;
      inSlot = false;
      onChange();
    }
    const heads = store.heads();
    headed = new Set(heads.map((head) => head.lane));
    const next = deps.slot.decide({
      admission: deps.admission(),
      block: deps.block(),
      epoch: deps.epoch(),
      heads,
      slot: deps.slot.report(),
      readiness: (policy) => agent.readiness(policy),
    });
    switch (next.do) {
      case "rest":
        setWaiting(null);
        return null;
      case "wait":
        setWaiting(next, next.head);
        return null;
      case "expire":
        finish(next.request, { to: "failed", errorDetail: next.errorDetail }, { from: "accepted" });
        return 0;
      case "run": {
        try {
          const outcome = await execute(next.request, signal);
          if (outcome.outcome !== "refused") return inSlot ? 0 : refusedAgainMs;
          const { code, detail } = outcome.refusal;
          setWaiting({ reason: code, detail }, next.request);
          return refusedAgainMs;
        } catch (error) {
          // Withdrawn while the agent was looked at: nothing was typed.
          if (error instanceof IllegalTransition && !inSlot) return 0;
          await releaseSlot(error);
          throw error;
        } finally {
          inSlot = unwritten !== null;
          onChange();
        }
      }
    }
  }

  /** An unexpected fault must not hold the slot for ever. */
  async function releaseSlot(cause: unknown): Promise<void> {
    const held = store.running();
    if (!held || unwritten) return;
    log.line("request failed unexpectedly", { request_id: held.requestId, error: messageOf(cause) });
    const errorDetail = "unexpected fault while executing; see the gateway's log";
    finish(held, { to: "failed", errorDetail, result: unknownOutcome(held.evidence) });
  }

  async function take(request: RowToAccept, guard?: InsertGuard) {
    if (depth === 0 && !inSlot) agent.expectPrompt?.();
    const taken = await acceptance.take(request, guard);
    depth += 1;
    if (!headed.has(request.lane)) loop.wake();
    if (request.kind === "interrupt") preemption.look();
    return taken;
  }

  const preemption = createPreemption({
    store,
    agent,
    clock,
    events,
    log,
    turnRuns: () => agent.turns?.active() != null && deps.admission() === "open",
    epoch: deps.epoch,
    onEnd: logEnd,
  });

  const loop = createLoop({
    clock,
    turn,
    onError: (error) => log.line("queue worker fault", { error: messageOf(error) }),
  });

  function record(requestId: string, { withPrompt = false } = {}): RequestRecord | null {
    const stored = store.get(requestId);
    if (!stored) return null;
    const record = toRecord(stored, { head: store.heads()[0] ?? null, waiting });
    return withPrompt ? { ...record, ...toPromptFields(stored) } : record;
  }

  async function accept(request: GatewayRequest, guard?: InsertGuard): Promise<AcceptedRequest> {
    return toAccepted(request, await take(toRow(request), guard), depth);
  }

  deps.slot.join("queue", {
    report(all) {
      all.request = inSlot;
      all.depth = depth;
      all.waiting = waiting;
    },
    wake: () => loop.wake(),
    recount() {
      changed();
      loop.wake();
    },
  });

  return {
    accept: (request) => accept(request),
    once: createAcceptOnce({ store, take, depth: () => depth }),
    acceptIf: (request, refuse) =>
      accept(request, () => {
        const { turn_id } = request.payload;
        const turnKnown = turn_id !== undefined && store.knowsTurn(turn_id);
        const refusal = refuse({ depth: store.depth(), turnKnown });
        if (refusal) throw refusal;
      }),
    async acceptNotice(prompt) {
      const row = { kind: "mail_notifier_prompt", lane: "turn_boundary", payload: { prompt } } as const;
      const { request_id } = await take(row);
      return { request_id };
    },
    record,
    withdraw(requestId, by) {
      const stored = store.get(requestId);
      if (!stored) return null;
      const decision = decideWithdrawal(stored, by);
      switch (decision.do) {
        case "refuse":
          throw decision.error;
        case "nothing":
          break;
        case "withdraw":
          store.transition("sql:request-withdrawn", [
            { requestId, from: "accepted", finishedAtUtc: now(), ...decision.end },
          ]);
          logEnd(stored, decision.end);
          loop.wake();
          break;
        default:
          assertNever(decision);
      }
      return record(requestId);
    },
    list(options) {
      const head = store.heads()[0] ?? null;
      return store.list(options).map((stored) => toRecord(stored, { head, waiting }));
    },
    depth: () => depth,
    claimsTurn: store.claimsTurn,
    running: () => inSlot,
    waiting: () => waiting,
    wake: () => loop.wake(),
    start() {
      if (started) return;
      started = true;
      left = store.running();
      inSlot = left !== null;
      unfinished.followLast();
      loop.start();
    },
    async stop() {
      started = false;
      await loop.stop();
      await preemption.settled();
      events.flush();
    },
  };
}
