import {
  IllegalTransition,
  type InsertGuard,
  type Lane,
  type NewRequest,
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
import { createLoop, orAborted } from "../../system/lifecycle.ts";
import { storageFaultOf, tellStorageFault } from "../../system/storage-fault.ts";
import {
  type Agent,
  type InterruptOutcome,
  isTracked,
  type RunningTurn,
  type SubmitOutcome,
} from "../agent/agent.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { createAcceptance } from "./acceptance.ts";
import {
  type Coalesced,
  coalesce,
  createPreemption,
  foldedInto,
  interruptsOf,
  isControlIntent,
  promotionOf,
} from "./control-intents.ts";
import { refuseRequest } from "./eligibility.ts";
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
  reconciliationRequired: () => boolean;
  epoch: () => number;
  /** The queue joins it. */
  slot: Pick<ExecutionSlot, "join" | "changed" | "report" | "decide">;
}

/** Poll again after this time when a refusal contradicts the known state and no change is reported. */
const refusedAgainMs = 250;
/** A control-intent run longer than this is collapsed in steps. */
const coalesceWindow = 64;

/** A request with this key is stored; `answer`: what its caller got. */
class AcceptedBefore extends Error {
  readonly answer: AcceptedRequest;

  constructor(answer: AcceptedRequest) {
    super("accepted before");
    this.answer = answer;
  }
}

/** The content of the database at an insert. */
export interface IdleFacts {
  /** Requests accepted or running. */
  depth: number;
  /** A request asked for the same turn before. */
  turnKnown: boolean;
}

/**
 * The durable queue with one execution slot. A request goes its way in two functions: `accept` takes it from
 * its caller to the disk, and `deliverNext` from the disk to its end.
 *
 * `start` first settles what a dead process left behind, then works until `stop`, which lets the request in
 * the slot finish. A turn that is a separate process keeps running, and the next start finds it. Source:
 * contract 2.2, 3.1, 4.3.
 */
export type Queue = ReturnType<typeof createQueue>;

export function createQueue(deps: QueueDeps) {
  const { store, agent, clock, events, log } = deps;
  const onChange = () => deps.slot.changed("queue");
  const acceptance = createAcceptance({ ...deps, onAccepted: onChange });
  const unfinished = createUnfinishedWork({ ...deps, addEvidence });
  let depth = store.depth();
  /** A request holds the execution slot. */
  let inSlot = false;
  /** Why the oldest request has not started. */
  let waiting: Waiting | null = null;
  let started = false;
  /**
   * Lanes whose oldest request the last turn has read. A later request of the same lane changes nothing, so it
   * does not wake the loop: beside a busy agent an answer takes 10 % longer when each does.
   */
  let lanesRead: ReadonlySet<Lane> = new Set();
  /** The request that a dead process held in the slot. */
  let unsettled: StoredRequest | null = null;
  /** The request whose end could not be written; the write is repeated before any other work. */
  let unwritten: { request: StoredRequest; end: End } | null = null;

  const now = () => timestampNow(clock);

  /**
   * The way of a request from its caller to the disk: take, admit, store, answer. Resolves when the request is
   * on disk. Throws the refusal, and when it cannot be stored; nothing is stored then. `key`: of the caller, who
   * may send the request again with it; `conflict` when another request was accepted with it.
   */
  async function accept(request: GatewayRequest, key?: string): Promise<AcceptedRequest> {
    // Take: a request that is sent again gets the answer of the first time.
    const firstAnswer = key === undefined ? null : answerBefore(request, key);
    if (firstAnswer) return firstAnswer;

    // Admit.
    const { connected, detail } = agent.connectivity();
    const refusal = refuseRequest(request, {
      reconciliationRequired: deps.reconciliationRequired(),
      connected,
      connectivityDetail: detail,
      headless: turnFacts(),
    });
    if (refusal) throw refusal;

    // Store: of two callers with one key at the same moment the insert decides.
    try {
      const row = { ...toRow(request), ...(key === undefined ? {} : { idempotencyKey: key }) };
      const stored = await insert(row, () => {
        const answer = key === undefined ? null : answerBefore(request, key);
        if (answer) throw new AcceptedBefore(answer);
      });

      // Answer.
      return toAccepted(request, stored, depth);
    } catch (error) {
      if (error instanceof AcceptedBefore) return error.answer;
      throw error;
    }
  }

  /** The way of the next request from the disk to its end. Returns how long the queue may rest. */
  async function deliverNext(signal: AbortSignal): Promise<number | null> {
    // Look at the oldest request of each lane, the slot and the agent, and decide.
    const heads = store.heads();
    lanesRead = new Set(heads.map((head) => head.lane));
    const next = deps.slot.decide({
      admission: deps.admission(),
      block: deps.block(),
      epoch: deps.epoch(),
      heads,
      slot: deps.slot.report(),
      readiness: (policy) => agent.readiness(policy),
    });
    if (next.do === "rest") {
      setWaiting(null);
      return null;
    }
    if (next.do === "wait") {
      setWaiting(next, next.head);
      return null;
    }
    if (next.do === "expire") {
      finish(next.request, { to: "failed", errorDetail: next.errorDetail }, { from: "accepted" });
      return 0;
    }
    const request = collapse(next.request)?.next ?? next.request;
    try {
      // Reserve the agent: until the permit is used, its state is the one that admitted the request.
      using permit = await reserve(request);
      if (!permit.ready) {
        setWaiting({ reason: permit.code, detail: permit.detail }, next.request);
        return refusedAgainMs;
      }
      // While the agent was waited for it may have become another instance, which was not asked.
      if (request.epoch !== deps.epoch()) return 0;

      // Promote: no process begins the request again.
      const collapsed = collapse(next.request);
      promote(request, collapsed?.next.requestId === request.requestId ? collapsed : null);

      // Submit, with a proof of each step.
      const outcome = await permit.submit();

      // End: with the outcome, or with the turn that was begun.
      const turn = outcome.outcome === "submitted" ? outcome.turn : undefined;
      if (turn) await holdSlot(request, turn, signal);
      else finish(request, endOf(request, outcome, now()), { folding: repeatedBy(request, outcome) });
      return 0;
    } catch (error) {
      // It was withdrawn or ended while the agent was looked at: nothing was typed.
      if (error instanceof IllegalTransition && !inSlot) return 0;
      releaseSlot(error);
      throw error;
    } finally {
      inSlot = unwritten !== null;
      onChange();
    }
  }

  /** The answer to a request that was accepted with this key; null for none. */
  function answerBefore(request: GatewayRequest, key: string): AcceptedRequest | null {
    const stored = store.byKey(key);
    if (!stored) return null;
    const row = toRow(request);
    if (row.kind !== stored.kind || JSON.stringify(row.payload) !== JSON.stringify(stored.payload)) {
      throw new ServiceError("conflict", "this idempotency key was used for another request");
    }
    const { requestId: request_id, acceptedAtUtc: accepted_at_utc, epoch } = stored;
    return toAccepted(request, { request_id, accepted_at_utc, epoch }, depth);
  }

  function turnFacts() {
    const { turns } = agent;
    return turns
      ? {
          turnTaken: (turnId: string) => store.claimsTurn(turnId) || turns.exists(turnId),
          executionProblem: turns.refuseExecution,
        }
      : null;
  }

  async function insert(
    row: Pick<NewRequest, "kind" | "lane" | "payload" | "idempotencyKey">,
    guard?: InsertGuard,
  ) {
    if (depth === 0 && !inSlot) agent.terminal?.expectPrompt();
    const stored = await acceptance.take(row, guard);
    depth += 1;
    if (!lanesRead.has(row.lane)) loop.wake();
    if (row.kind === "interrupt") preemption.look();
    return stored;
  }

  /** The run of control intents that `head` begins, collapsed. */
  function collapse(head: StoredRequest): Coalesced | null {
    return isControlIntent(head) ? coalesce(store.acceptedFrom(head.seq, coalesceWindow)) : null;
  }

  function reserve(request: StoredRequest) {
    if (request.kind === "interrupt") return agent.interrupt();
    const onEvidence = (evidence: Evidence) => addEvidence(request.requestId, evidence);
    return agent.reserve({ ...toSubmission(request), onEvidence });
  }

  function promote(request: StoredRequest, collapsed: Coalesced | null): void {
    const { transitions, coalesced } = promotionOf(request, collapsed, now());
    // The step "typed", which is synced, comes before Enter; and with the power the instance of the agent is
    // lost, too.
    const durable = !isTracked(agent) || request.kind === "interrupt";
    store.transition("sql:request-promoted", transitions, { durable });
    inSlot = true;
    waiting = null;
    if (coalesced) {
      events.append("coalesced", coalesced);
      log.line("coalesced requests", { count: transitions.length - 1, next: request.requestId });
    }
    events.append("executing", { request_id: request.requestId, request_kind: request.kind });
    log.line("executing request", { request_id: request.requestId, kind: request.kind });
    changed();
  }

  /** Interrupts that arrived during one that fails would only repeat it. */
  function repeatedBy(
    request: StoredRequest,
    outcome: SubmitOutcome | InterruptOutcome,
  ): readonly StoredRequest[] {
    return request.kind === "interrupt" && outcome.outcome === "failed"
      ? interruptsOf(request, store.acceptedFrom(request.seq, coalesceWindow))
      : [];
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
  async function settle(request: StoredRequest, signal: AbortSignal): Promise<void> {
    const steps = new Set(request.evidence.map((one) => one.step));
    const turn = agent.turns?.resume(request.requestId, (evidence) => {
      if (!steps.has(evidence.step)) addEvidence(request.requestId, evidence);
      steps.add(evidence.step);
    });
    if (turn) return holdSlot(request, turn, signal);
    finish(request, await unfinished.settle(request));
  }

  /** An unexpected fault must not hold the slot for ever. */
  function releaseSlot(cause: unknown): void {
    const held = store.running();
    if (!held || unwritten) return;
    log.line("request failed unexpectedly", { request_id: held.requestId, error: messageOf(cause) });
    const errorDetail = "unexpected fault while executing; see the gateway's log";
    finish(held, { to: "failed", errorDetail, result: unknownOutcome(held.evidence) });
  }

  /** Replaces the reason for waiting: a fault keeps the queue from going on. */
  function explainFault(error: unknown): void {
    const detail = tellStorageFault(error, "queue.sqlite") ?? deps.block()?.detail;
    const head = detail === undefined ? undefined : store.heads()[0];
    if (head && detail !== undefined) setWaiting({ reason: "blocked_unavailable", detail }, head);
  }

  /** `withPrompt`: also what it asks, in its words. */
  function record(requestId: string, { withPrompt = false } = {}): RequestRecord | null {
    const stored = store.get(requestId);
    if (!stored) return null;
    const record = toRecord(stored, { head: store.heads()[0] ?? null, waiting });
    return withPrompt ? { ...record, ...toPromptFields(stored) } : record;
  }

  /**
   * Takes back a prompt that waits; it ends as failed (ruling 38). Null for an unknown one. Throws
   * `precondition_failed` for the prompt of somebody else, `conflict` for what runs or has ended.
   */
  function withdraw(requestId: string, by: Withdrawer): RequestRecord | null {
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
  }

  /** What was begun before comes to its end first. */
  async function turn(signal: AbortSignal): Promise<number | null> {
    try {
      if (unwritten) {
        finish(unwritten.request, unwritten.end);
        unwritten = null;
        inSlot = false;
      }
      // A turn that a direct prompt began is ended in the same way; what is being executed still counts as
      // waiting.
      preemption.look();
      await preemption.settled();
      if (unsettled) {
        await settle(unsettled, signal);
        unsettled = null;
        inSlot = false;
        onChange();
      }
      return await deliverNext(signal);
    } catch (error) {
      explainFault(error);
      throw error;
    }
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
    accept,
    /**
     * Accepts a prompt that must not wait behind others: `refuse` decides by the content of the database at the
     * insert, and `acceptIf` throws the error that it returns. Admission is for the caller to check.
     */
    async acceptIf(
      request: GatewayRequest & { kind: "submit_prompt" },
      refuse: (facts: IdleFacts) => Error | null,
    ): Promise<AcceptedRequest> {
      const stored = await insert(toRow(request), () => {
        const { turn_id } = request.payload;
        const turnKnown = turn_id !== undefined && store.knowsTurn(turn_id);
        const refusal = refuse({ depth: store.depth(), turnKnown });
        if (refusal) throw refusal;
      });
      return toAccepted(request, stored, depth);
    },
    /**
     * Accepts the notifier's wake-up prompt, which is no public kind; it waits for a turn boundary. Admission is
     * for the caller to check.
     */
    async acceptNotice(prompt: string): Promise<{ request_id: string }> {
      const row = { kind: "mail_notifier_prompt", lane: "turn_boundary", payload: { prompt } } as const;
      const { request_id } = await insert(row);
      return { request_id };
    },
    record,
    withdraw,
    /** Newest first. */
    list(options: Parameters<RequestStore["list"]>[0]): RequestRecord[] {
      const head = store.heads()[0] ?? null;
      return store.list(options).map((stored) => toRecord(stored, { head, waiting }));
    },
    /** Requests accepted or running. */
    depth: () => depth,
    /** True while a request holds the execution slot. */
    running: () => inSlot,
    /** Look again: the agent, the admission or stored requests may have changed. */
    wake: () => loop.wake(),
    start(): void {
      if (started) return;
      started = true;
      unsettled = store.running();
      inSlot = unsettled !== null;
      unfinished.followLast();
      loop.start();
    },
    async stop(): Promise<void> {
      started = false;
      await loop.stop();
      await preemption.settled();
    },
  };
}
