import type { RequestStore, StoredRequest } from "../../db/gateway/request-store.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Agent, InterruptOutcome } from "../agent/agent.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { coalesce, supersededBy } from "./coalesce.ts";
import { type End, endOf } from "./request.ts";

/**
 * Interrupts beside a turn that is a process of its own: each goes from `accepted` to its end in one update and
 * never takes the slot (ruling 8).
 */
export interface Preemption {
  /** Executes the interrupts that wait, as long as `turnRuns`, one after another. Safe to call at any time. */
  look(): void;
  /** Resolves when none is being executed. */
  settled(): Promise<void>;
}

const coalesceWindow = 64;

export function createPreemption(deps: {
  store: RequestStore;
  agent: Agent;
  clock: Clock;
  events: Pick<EventLog, "append">;
  log: Log;
  /** There is a turn that an interrupt may end from outside, and admission is open. */
  turnRuns: () => boolean;
  epoch: () => number;
  onEnd: (request: StoredRequest, end: End) => void;
}): Preemption {
  const { store, agent, clock, events, log } = deps;
  let running: Promise<void> | null = null;

  function nextInterrupt(): StoredRequest | null {
    if (!deps.turnRuns()) return null;
    const head = store.heads().find((one) => one.kind === "interrupt");
    return head && head.epoch === deps.epoch() ? head : null;
  }

  async function stopTurn(): Promise<InterruptOutcome> {
    try {
      return await agent.interrupt({ begin: () => {} });
    } catch (error) {
      return { outcome: "failed", detail: messageOf(error) };
    }
  }

  async function execute(request: StoredRequest): Promise<void> {
    const startedAtUtc = timestampNow(clock);
    log.line("executing request", { request_id: request.requestId, kind: request.kind });
    const outcome = await stopTurn();
    const at = timestampNow(clock);
    const rows = store.acceptedFrom(request.seq, coalesceWindow);
    const others = rows.findIndex((one) => one.kind !== "interrupt");
    const collapsed = coalesce(others < 0 ? rows : rows.slice(0, others));
    const { transitions, coalesced } = supersededBy(request, collapsed, at);
    const end = endOf(request, outcome, at);
    store.transition("sql:request-preempted", [
      ...transitions,
      { requestId: request.requestId, from: "accepted", startedAtUtc, finishedAtUtc: at, ...end },
    ]);
    if (coalesced) events.append("coalesced", coalesced);
    deps.onEnd(request, end);
  }

  async function work(): Promise<void> {
    for (let request = nextInterrupt(); request; request = nextInterrupt()) await execute(request);
  }

  return {
    look() {
      running ??= work()
        .catch((error: unknown) => log.line("interrupt fault", { error: messageOf(error) }))
        .finally(() => {
          running = null;
        });
    },
    async settled() {
      await running;
    },
  };
}
