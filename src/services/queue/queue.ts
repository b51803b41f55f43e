import type { Lane, RequestStore, StoredRequest } from "../../db/gateway/request-store.ts";
import type {
  AcceptedRequest,
  Evidence,
  GatewayRequest,
  RequestAdmission,
  RequestRecord,
  RequestState,
  Waiting,
} from "../../protocol/gateway.ts";
import { afterThisTurn, type Clock, timestampNow } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Ids } from "../../system/ids.ts";
import { createLoop, type Lifecycle } from "../../system/lifecycle.ts";
import type { Agent, InterruptOutcome, SubmitOutcome } from "../agent/agent.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { type Coalesced, coalesce } from "./coalesce.ts";
import { type End, endOf, endUnknown, unknownOutcome } from "./end.ts";
import { planNext, policyOf } from "./plan.ts";
import { promotionOf } from "./promotion.ts";
import { toRecord } from "./record.ts";
import { createRequestIds } from "./request-ids.ts";

/**
 * The durable queue with one execution slot. `start` first settles what a dead process left behind, then works
 * until `stop`, which lets the request in the slot finish. Source: contract 2.2, 3.1, 4.3.
 */
export interface Queue extends Lifecycle {
  /** On disk when it resolves; rejects when it could not be stored. The caller has checked admission. */
  accept(request: GatewayRequest): Promise<AcceptedRequest>;
  /** The same for the notifier's wake-up prompt, which is no public kind; it waits for a turn boundary. */
  acceptNotice(prompt: string): Promise<{ request_id: string }>;
  record(requestId: string): RequestRecord | null;
  /** Newest first. */
  list(options: { limit: number; state?: RequestState }): RequestRecord[];
  /** Requests accepted or running. */
  depth(): number;
  /** True while a request holds the execution slot. */
  running(): boolean;
  /** Why the oldest request has not started, or null when nothing waits. */
  waiting(): Waiting | null;
  /** Look again: the agent, the admission or stored requests may have changed. */
  wake(): void;
  /** Stored requests were changed by another hand: count them again, then look. */
  reload(): void;
}

export interface QueueDeps {
  store: RequestStore;
  agent: Agent;
  clock: Clock;
  ids: Ids;
  events: EventLog;
  log: Log;
  admission: () => RequestAdmission;
  epoch: () => number;
  /** What holds the execution slot beside the queue, as a clause for people, or null. Its end calls `wake`. */
  slotTaken: () => string | null;
  /** Depth, slot or waiting changed. */
  onChange: () => void;
}

/** After a refusal that contradicts what we knew, look again this soon even if nothing is reported. */
const refusedAgainMs = 250;
/** A control-intent run longer than this is collapsed in steps. */
const coalesceWindow = 64;

type Told = Pick<AcceptedRequest, "request_id" | "accepted_at_utc"> & { request_kind: StoredRequest["kind"] };

export function createQueue(deps: QueueDeps): Queue {
  const { store, agent, clock, ids, events, log } = deps;
  const newRequestId = createRequestIds({ clock, ids });
  let depth = store.depth();
  let inSlot = false;
  let waiting: Waiting | null = null;
  let started = false;
  /** On disk, and not yet in the event log. */
  let untold: Told[] = [];
  /** Lanes whose oldest request was seen by the last turn: what comes behind it in its lane changes nothing. */
  let headed: ReadonlySet<Lane> = new Set();
  let left: StoredRequest | null = null;

  const now = () => timestampNow(clock);

  /** What follows an acceptance is done after its answer, once for all of one moment. */
  function tellLater(accepted: Told): void {
    if (untold.push(accepted) > 1) return;
    afterThisTurn(() => {
      if (tellAccepted()) deps.onChange();
    });
  }

  /** False when there was nothing to tell. */
  function tellAccepted(): boolean {
    const accepted = untold;
    untold = [];
    for (const { request_id, request_kind, accepted_at_utc } of accepted) {
      const kind = request_kind === "mail_notifier_prompt" ? "accepted_internal" : "accepted";
      events.append(kind, { request_id, request_kind, accepted_at_utc });
    }
    const [first] = accepted;
    const others = accepted.length - 1;
    if (first) {
      log.line("accepted request", {
        request_id: first.request_id,
        kind: first.request_kind,
        ...(others > 0 ? { and_others: others } : {}),
      });
    }
    return accepted.length > 0;
  }

  function changed(): void {
    depth = store.depth();
    deps.onChange();
  }

  function setWaiting(next: { reason: string; detail: string } | null, head?: StoredRequest): void {
    if (next?.reason === waiting?.reason && next?.detail === waiting?.detail) return;
    const sameReason = next !== null && next.reason === waiting?.reason;
    waiting = next && { ...next, since_utc: sameReason && waiting ? waiting.since_utc : now() };
    if (waiting && !sameReason && head) {
      events.append("request_waiting", { request_id: head.requestId, ...waiting });
    }
    deps.onChange();
  }

  /**
   * The request that a dead process held in the slot: what became of it cannot be known, so it is never repeated.
   * Its text may still stand unsent in the composer, where it would keep the agent from ever being ready.
   */
  async function settle(left: StoredRequest): Promise<void> {
    const { prompt } = left.payload;
    const sameInstance = left.epoch === deps.epoch();
    const seen =
      typeof prompt === "string" && sameInstance ? await agent.withdraw(prompt) : "nothing was looked for";
    finish(left, endUnknown(left, { step: "settled", at_utc: now(), proof: seen }));
  }

  /** The turn of the newest prompt that was delivered may outlive the process that delivered it. */
  function followLast(): void {
    const last = store.list({ limit: 8, state: "completed" }).find((one) => one.kind !== "interrupt");
    const steps = last?.evidence.map((one) => one.step) ?? [];
    if (!last || last.epoch !== deps.epoch() || !steps.includes("submitted")) return;
    if (steps.includes("turn_ended")) return;
    agent.followTurn({
      started: steps.includes("turn_started"),
      onEvidence: (evidence) => addEvidence(last.requestId, evidence),
    });
  }

  function finish(request: StoredRequest, end: End, from: RequestState = "running"): void {
    store.transition("sql:request-finished", [
      { requestId: request.requestId, from, finishedAtUtc: now(), ...end },
    ]);
    events.append(end.to, {
      request_id: request.requestId,
      request_kind: request.kind,
      ...(end.errorDetail === undefined ? {} : { error_detail: end.errorDetail }),
      ...(end.result === undefined ? {} : { result_json: end.result }),
    });
    log.line(`${end.to} request`, { request_id: request.requestId, error: end.errorDetail });
    changed();
  }

  function promote(request: StoredRequest, collapsed: Coalesced | null): void {
    const { transitions, coalesced } = promotionOf(request, collapsed, now());
    store.transition("sql:request-promoted", transitions);
    inSlot = true;
    if (coalesced) {
      events.append("coalesced", coalesced);
      log.line("coalesced requests", { count: transitions.length - 1, next: request.requestId });
    }
    events.append("executing", { request_id: request.requestId, request_kind: request.kind });
    log.line("executing request", { request_id: request.requestId, kind: request.kind });
    waiting = null;
    changed();
  }

  function addEvidence(requestId: string, evidence: Evidence): void {
    try {
      store.addEvidence("sql:request-evidence", requestId, [evidence]);
    } catch (error) {
      log.line("evidence not stored", { request_id: requestId, error: messageOf(error) });
    }
    events.append("request_evidence", { request_id: requestId, ...evidence });
    deps.onChange();
  }

  /** Returns the refusal when the agent, looked at afresh, did not admit the prompt. */
  async function execute(request: StoredRequest): Promise<SubmitOutcome | InterruptOutcome> {
    const coalesced = coalesce(store.acceptedFrom(request.seq, coalesceWindow));
    const chosen = coalesced?.next ?? request;
    const begin = () => promote(chosen, coalesced);
    const outcome =
      chosen.kind === "interrupt"
        ? await agent.interrupt({ begin })
        : await agent.submit({
            prompt: String(chosen.payload["prompt"]),
            policy: policyOf(chosen),
            begin,
            onEvidence: (evidence) => addEvidence(chosen.requestId, evidence),
          });
    if (inSlot) finish(chosen, endOf(chosen, outcome, now()));
    return outcome;
  }

  async function turn(): Promise<number | null> {
    // Nothing is told of a request before its acceptance.
    tellAccepted();
    if (left) {
      await settle(left);
      left = null;
      inSlot = false;
      deps.onChange();
    }
    const admission = deps.admission();
    const heads = store.heads();
    headed = new Set(heads.map((head) => head.lane));
    if (admission !== "open") {
      const head = heads[0];
      setWaiting(head ? { reason: admission, detail: agent.presence().detail } : null, head);
      return null;
    }
    for (const stale of heads.filter((head) => head.epoch !== deps.epoch())) {
      const errorDetail = `accepted for instance epoch ${stale.epoch}; the agent is now at ${deps.epoch()}`;
      finish(stale, { to: "failed", errorDetail }, "accepted");
      return 0;
    }
    const taken = deps.slotTaken();
    const [head] = heads;
    if (taken !== null && head) {
      setWaiting({ reason: "execution_slot", detail: taken }, head);
      return null;
    }
    const plan = planNext(heads, (policy) => agent.readiness(policy));
    switch (plan.do) {
      case "rest":
        setWaiting(null);
        return null;
      case "wait":
        setWaiting({ reason: plan.refusal.code, detail: plan.refusal.detail }, plan.head);
        return null;
      case "run": {
        try {
          const outcome = await execute(plan.request);
          if (outcome.outcome !== "refused") return inSlot ? 0 : refusedAgainMs;
          const { code, detail } = outcome.refusal;
          setWaiting({ reason: code, detail }, plan.request);
          return refusedAgainMs;
        } catch (error) {
          await releaseSlot(error);
          throw error;
        } finally {
          inSlot = false;
          deps.onChange();
        }
      }
    }
  }

  /** An unexpected fault must not leave the slot taken for ever. */
  async function releaseSlot(cause: unknown): Promise<void> {
    const held = store.running();
    if (!held) return;
    log.line("request failed unexpectedly", { request_id: held.requestId, error: messageOf(cause) });
    const errorDetail = "unexpected fault while executing; see the gateway's log";
    finish(held, { to: "failed", errorDetail, result: unknownOutcome(held.evidence) });
  }

  async function take(request: Pick<StoredRequest, "kind" | "lane" | "payload">) {
    const accepted_at_utc = now();
    const request_id = newRequestId();
    const epoch = deps.epoch();
    await store.insertAccepted({
      ...request,
      requestId: request_id,
      acceptedAtUtc: accepted_at_utc,
      epoch,
      evidence: [{ step: "accepted", at_utc: accepted_at_utc, proof: "committed to queue.sqlite" }],
    });
    depth += 1;
    tellLater({ request_id, request_kind: request.kind, accepted_at_utc });
    if (!headed.has(request.lane)) loop.wake();
    return { request_id, accepted_at_utc, epoch };
  }

  const loop = createLoop({
    clock,
    turn,
    onError: (error) => log.line("queue worker fault", { error: messageOf(error) }),
  });

  return {
    async accept(request) {
      const { request_id, accepted_at_utc, epoch } = await take({
        kind: request.kind,
        lane: laneOf(request),
        payload: request.kind === "submit_prompt" ? request.payload : {},
      });
      return {
        request_id,
        request_kind: request.kind,
        state: "accepted",
        accepted_at_utc,
        queue_depth: depth,
        managed_agent_instance_epoch: epoch,
      };
    },
    async acceptNotice(prompt) {
      const { request_id } = await take({
        kind: "mail_notifier_prompt",
        lane: "turn_boundary",
        payload: { prompt },
      });
      return { request_id };
    },
    record(requestId) {
      const stored = store.get(requestId);
      return stored && toRecord(stored, { head: store.heads()[0] ?? null, waiting });
    },
    list(options) {
      const head = store.heads()[0] ?? null;
      return store.list(options).map((stored) => toRecord(stored, { head, waiting }));
    },
    depth: () => depth,
    running: () => inSlot,
    waiting: () => waiting,
    wake: () => loop.wake(),
    reload() {
      changed();
      loop.wake();
    },
    start() {
      if (started) return;
      started = true;
      left = store.running();
      inSlot = left !== null;
      followLast();
      loop.start();
    },
    async stop() {
      started = false;
      await loop.stop();
      tellAccepted();
    },
  };
}

function laneOf(request: GatewayRequest): Lane {
  if (request.kind === "interrupt") return "interrupt";
  return request.payload.delivery ?? "turn_boundary";
}
