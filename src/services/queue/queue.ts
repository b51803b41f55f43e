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
  foldInto,
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
  /** Why admission is not open; null when it is. */
  block: () => AdmissionBlock | null;
  reconciliationRequired: () => boolean;
  epoch: () => number;
  /** The queue becomes a member of the slot. */
  slot: Pick<ExecutionSlot, "join" | "changed" | "report" | "decide">;
}

/** Pause after a refusal of the agent that its known state did not predict; no change may be reported. */
const refusalPauseMs = 250;
/** Requests that one coalescing reads; a longer run of control intents is collapsed in steps. */
const coalesceWindow = 64;

/** A request with this key is already stored; `answer`: the answer to its first acceptance. */
class AlreadyAccepted extends Error {
  readonly answer: AcceptedRequest;

  constructor(answer: AcceptedRequest) {
    super("already accepted");
    this.answer = answer;
  }
}

/** The state of the database at an insert. */
export interface IdleFacts {
  /** Requests accepted or running. */
  depth: number;
  /** Whether an earlier request has the same turn id. */
  isTurnKnown: boolean;
}

/**
 * The durable queue with one execution slot. Two functions process a request: `accept` stores it, and
 * `deliverNext` takes it from the disk to its end.
 *
 * `start` first settles the request that a dead process left in the slot, then works until `stop`, which lets
 * the request in the slot finish. A headless turn keeps running after `stop`, and the next start finds it.
 * Source: contract 2.2, 3.1, 4.3.
 */
export type Queue = ReturnType<typeof createQueue>;

export function createQueue(deps: QueueDeps) {
  const { store, agent, clock, events, log } = deps;
  const onChange = () => deps.slot.changed("queue");
  const acceptance = createAcceptance({ ...deps, onAccepted: onChange });
  const unfinished = createUnfinishedWork({ ...deps, addEvidence });
  let depth = store.depth();
  /** Whether a request holds the execution slot. */
  let inSlot = false;
  /** Why the oldest request has not started. */
  let waiting: Waiting | null = null;
  let started = false;
  /**
   * Lanes whose oldest request the last turn read. A later request of such a lane does not wake the loop, since
   * it changes no decision: with a busy agent, a wake for each makes an answer 10 % slower.
   */
  let lanesRead: ReadonlySet<Lane> = new Set();
  /** The request that a dead process left in the slot. */
  let unsettled: StoredRequest | null = null;
  /** The request whose end could not be written; the write is repeated before any other work. */
  let unwritten: { request: StoredRequest; end: End } | null = null;

  const now = () => timestampNow(clock);

  /**
   * Accepts a request: take, admit, store, answer. Resolves when the request is on disk. Throws, and stores
   * nothing, when the request is refused or cannot be stored. `key`: the caller's idempotency key; throws
   * `conflict` when another request was accepted with it.
   */
  async function accept(request: GatewayRequest, key?: string): Promise<AcceptedRequest> {
    // Take: a repeated request gets the first answer again.
    const firstAnswer = key === undefined ? null : earlierAnswer(request, key);
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

    // Store: the insert decides between two callers with one key at the same moment.
    try {
      const row = { ...toRow(request), ...(key === undefined ? {} : { idempotencyKey: key }) };
      const stored = await insert(row, () => {
        const answer = key === undefined ? null : earlierAnswer(request, key);
        if (answer) throw new AlreadyAccepted(answer);
      });

      // Answer.
      return toAccepted(request, stored, depth);
    } catch (error) {
      if (error instanceof AlreadyAccepted) return error.answer;
      throw error;
    }
  }

  /**
   * Delivers the next request and ends it. Returns the milliseconds that the queue may rest; null: until a
   * wake.
   */
  async function deliverNext(signal: AbortSignal): Promise<number | null> {
    // Look and decide: the oldest request of each lane, the slot and the agent.
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
      // Reserve the agent: until the permit is used, the state that admitted the request does not change.
      using permit = await reserve(request);
      if (!permit.ready) {
        setWaiting({ reason: permit.code, detail: permit.detail }, next.request);
        return refusalPauseMs;
      }
      // During the reservation the agent may have become another instance, which did not admit the request.
      if (request.epoch !== deps.epoch()) return 0;

      // Promote: from now on no process starts the request again.
      const collapsed = collapse(next.request);
      promote(request, collapsed?.next.requestId === request.requestId ? collapsed : null);

      // Submit: the agent proves each step.
      const outcome = await permit.submit();

      // End: with the outcome, or with the end of the turn.
      const turn = outcome.outcome === "submitted" ? outcome.turn : undefined;
      if (turn) await holdSlot(request, turn, signal);
      else finish(request, endOf(request, outcome, now()), { folding: interruptsDuring(request, outcome) });
      return 0;
    } catch (error) {
      // The request was withdrawn or ended during the reservation: nothing was typed.
      if (error instanceof IllegalTransition && !inSlot) return 0;
      releaseSlot(error);
      throw error;
    } finally {
      inSlot = unwritten !== null;
      onChange();
    }
  }

  /** The answer to the request that was accepted with this key; null without one. */
  function earlierAnswer(request: GatewayRequest, key: string): AcceptedRequest | null {
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
          isTurnIdUsed: (turnId: string) => store.claimsTurn(turnId) || turns.exists(turnId),
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

  /** Collapses the run of control intents that begins with `head`; null without such a run. */
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
    // No sync for a tracked prompt: the step "typed" is synced before Enter, and a power failure also ends
    // the agent's instance.
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

  /** The interrupts that arrived during a failed interrupt: executing them would only repeat the failure. */
  function interruptsDuring(
    request: StoredRequest,
    outcome: SubmitOutcome | InterruptOutcome,
  ): readonly StoredRequest[] {
    return request.kind === "interrupt" && outcome.outcome === "failed"
      ? interruptsOf(request, store.acceptedFrom(request.seq, coalesceWindow))
      : [];
  }

  /** Keeps the slot until the turn ends. When the queue stops earlier, the request stays `running`. */
  async function holdSlot(request: StoredRequest, turn: RunningTurn, signal: AbortSignal): Promise<void> {
    preemption.look();
    const ended = await orAborted(turn.ended, signal);
    if (ended) finish(request, endOfTurn(request, turn, ended, now()));
    else log.line("the turn continues without this gateway", { turn_id: turn.turnId });
  }

  /** `folding`: interrupts that end with the request, in the same transaction. */
  function finish(
    request: StoredRequest,
    end: End,
    { from = "running", folding = [] }: { from?: RequestState; folding?: readonly StoredRequest[] } = {},
  ): void {
    const { transitions, coalesced } = foldInto(request, folding, now());
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
   * Settles the request that a dead process left in the slot. A headless turn is found again and followed to
   * its end. For a terminal agent the outcome is unknown, so the prompt is never repeated; text that is
   * unsent in the composer is cleared, since it would keep the agent from being ready.
   */
  async function settle(request: StoredRequest, signal: AbortSignal): Promise<void> {
    const recordedSteps = new Set(request.evidence.map((one) => one.step));
    const turn = agent.turns?.resume(request.requestId, (evidence) => {
      if (!recordedSteps.has(evidence.step)) addEvidence(request.requestId, evidence);
      recordedSteps.add(evidence.step);
    });
    if (turn) return holdSlot(request, turn, signal);
    finish(request, await unfinished.settle(request));
  }

  /** Fails the request in the slot after an unexpected fault, which must not hold the slot for ever. */
  function releaseSlot(cause: unknown): void {
    const held = store.running();
    if (!held || unwritten) return;
    log.line("request failed unexpectedly", { request_id: held.requestId, error: messageOf(cause) });
    const errorDetail = "unexpected fault while executing; see the gateway's log";
    finish(held, { to: "failed", errorDetail, result: unknownOutcome(held.evidence) });
  }

  /** Sets the fault that stops the queue as the reason for which the oldest request waits. */
  function explainFault(error: unknown): void {
    const detail = tellStorageFault(error, "queue.sqlite") ?? deps.block()?.detail;
    const head = detail === undefined ? undefined : store.heads()[0];
    if (head && detail !== undefined) setWaiting({ reason: "blocked_unavailable", detail }, head);
  }

  /** `withPrompt`: with the text of the prompt and its options. */
  function record(requestId: string, { withPrompt = false } = {}): RequestRecord | null {
    const stored = store.get(requestId);
    if (!stored) return null;
    const record = toRecord(stored, { head: store.heads()[0] ?? null, waiting });
    return withPrompt ? { ...record, ...toPromptFields(stored) } : record;
  }

  /**
   * Withdraws a waiting prompt, which ends as failed (ruling 38). Null for an unknown request. Throws
   * `precondition_failed` for the prompt of another submitter, `conflict` for a request that runs or has
   * ended.
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

  /** Finishes earlier work first, then delivers the next request. */
  async function turn(signal: AbortSignal): Promise<number | null> {
    try {
      if (unwritten) {
        finish(unwritten.request, unwritten.end);
        unwritten = null;
        inSlot = false;
      }
      // Interrupts also end the turn of a direct prompt. While one is executed, it still counts as waiting.
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
     * Accepts a prompt that must not wait behind others. `refuse` decides by the state of the database at the
     * insert; `acceptIf` throws the error that it returns. The caller checks admission.
     */
    async acceptIf(
      request: GatewayRequest & { kind: "submit_prompt" },
      refuse: (facts: IdleFacts) => Error | null,
    ): Promise<AcceptedRequest> {
      const stored = await insert(toRow(request), () => {
        const { turn_id } = request.payload;
        const isTurnKnown = turn_id !== undefined && store.knowsTurn(turn_id);
        const refusal = refuse({ depth: store.depth(), isTurnKnown });
        if (refusal) throw refusal;
      });
      return toAccepted(request, stored, depth);
    },
    /**
     * Accepts the notifier's wake-up prompt, an internal kind that waits for a turn boundary. The notifier
     * checks admission before (`whyBusy`).
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
    /** Makes the queue look again after a change of the agent, the admission or stored requests. */
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
