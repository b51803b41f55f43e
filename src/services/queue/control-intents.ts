import type { RequestStore, StoredRequest, Transition } from "../../db/gateway/request-store.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { assertNever, messageOf } from "../../system/errors.ts";
import type { Agent, InterruptOutcome } from "../agent/agent.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { type End, endOf } from "./request.ts";

type Action = "interrupt" | "/compact" | "/clear" | "/new";

/** A leading run of control intents, reduced to the actions that survive. */
export interface Coalesced {
  /** The request that runs now: the interrupt if there is one, else the context action. */
  next: StoredRequest;
  /** Surviving actions in the order they run: `interrupt`, `submit_prompt:/new`, ... */
  effectiveActions: string[];
  effectiveIds: string[];
  /** Superseded requests, each with the surviving request that replaces it, oldest first. */
  superseded: { request: StoredRequest; into: StoredRequest; originalAction: string }[];
}

/**
 * Collapses the leading run of control intents in one epoch. `rows`: oldest first, state `accepted`. Keeps
 * the first interrupt and the last context action of the highest rank (`/new` over `/clear` over `/compact`);
 * the interrupt comes first. Ordinary prompts, internal kinds, another epoch, and rows with other options end
 * the run. Null when the head is not a control intent or is the only one. Source: contract 3.1.
 */
export function coalesce(rows: readonly StoredRequest[]): Coalesced | null {
  const epoch = rows[0]?.epoch;
  const run: { request: StoredRequest; action: Action }[] = [];
  for (const request of rows) {
    const action = request.epoch === epoch ? actionOf(request) : null;
    if (action === null) break;
    run.push({ request, action });
  }
  const interrupt = run.find((intent) => intent.action === "interrupt");
  const context = run
    .filter((intent) => intent.action !== "interrupt")
    .reduce<(typeof run)[number] | undefined>(
      (best, intent) => (best && rank(best.action) > rank(intent.action) ? best : intent),
      undefined,
    );
  const next = interrupt ?? context;
  if (!next || run.length < 2) return null;
  const effective = [interrupt, context].filter((intent) => intent !== undefined);
  return {
    next: next.request,
    effectiveActions: effective.map((intent) => describe(intent.action)),
    effectiveIds: effective.map((intent) => intent.request.requestId),
    superseded: run
      .filter((intent) => intent !== interrupt && intent !== context)
      .map((intent) => ({
        request: intent.request,
        into: (intent.action === "interrupt" ? interrupt : context)?.request ?? next.request,
        originalAction: describe(intent.action),
      })),
  };
}

/** Whether a request may begin a run that collapses. Pure. */
export function isControlIntent(request: StoredRequest): boolean {
  return actionOf(request) !== null;
}

function actionOf(request: StoredRequest): Action | null {
  if (request.kind === "interrupt") return "interrupt";
  if (request.kind !== "submit_prompt") return null;
  const { prompt, ...options } = request.payload;
  if (Object.keys(options).some((key) => key !== "delivery")) return null;
  const text = String(prompt).trim();
  return text === "/compact" || text === "/clear" || text === "/new" ? text : null;
}

function rank(action: Action): number {
  switch (action) {
    case "interrupt":
      return 0;
    case "/compact":
      return 1;
    case "/clear":
      return 2;
    case "/new":
      return 3;
    default:
      return assertNever(action);
  }
}

function describe(action: Action): string {
  return action === "interrupt" ? action : `submit_prompt:${action}`;
}

interface Supersession {
  transitions: Transition[];
  /** Fields of the event for the requests that `transitions` coalesce; null without any. */
  coalesced: Record<string, unknown> | null;
}

/**
 * The transitions that put `request` into the slot at `at`, for one transaction: first the requests that it
 * supersedes, then itself. Source: contract 3.1.
 */
export function promotionOf(request: StoredRequest, collapsed: Coalesced | null, at: string): Supersession {
  const { transitions, coalesced } = supersededBy(request, collapsed, at);
  return {
    transitions: [
      ...transitions,
      { requestId: request.requestId, from: "accepted", to: "running", startedAtUtc: at },
    ],
    coalesced,
  };
}

/** The other interrupts of the same epoch among `rows`. */
export function interruptsOf(request: StoredRequest, rows: readonly StoredRequest[]): StoredRequest[] {
  return rows.filter(
    (one) => one.kind === "interrupt" && one.epoch === request.epoch && one.requestId !== request.requestId,
  );
}

/** The transitions of the interrupts that end together with the interrupt `request`. */
export function foldInto(
  request: StoredRequest,
  folding: readonly StoredRequest[],
  at: string,
): Supersession {
  const originalAction = "interrupt";
  return supersededBy(
    request,
    {
      next: request,
      effectiveActions: [originalAction],
      effectiveIds: [request.requestId],
      superseded: folding.map((one) => ({ request: one, into: request, originalAction })),
    },
    at,
  );
}

/** The transitions of the requests that `request` supersedes. */
function supersededBy(request: StoredRequest, collapsed: Coalesced | null, at: string): Supersession {
  const superseded = collapsed?.superseded ?? [];
  const transitions = superseded.map(
    (one): Transition => ({
      requestId: one.request.requestId,
      from: "accepted",
      to: "coalesced",
      finishedAtUtc: at,
      result: {
        coalesced_at_utc: at,
        coalesced_into_request_id: one.into.requestId,
        coalesced_reason: "superseded_control_intent",
        effective_actions: collapsed?.effectiveActions ?? [],
        original_action: one.originalAction,
      },
    }),
  );
  return {
    transitions,
    coalesced:
      collapsed && superseded.length > 0
        ? {
            coalesced_at_utc: at,
            coalesced_request_ids: superseded.map((one) => one.request.requestId),
            effective_request_ids: collapsed.effectiveIds.toSorted(),
            effective_actions: collapsed.effectiveActions,
            next_request_id: request.requestId,
          }
        : null,
  };
}

const coalesceWindow = 64;

export function createPreemption(deps: {
  store: RequestStore;
  agent: Agent;
  clock: Clock;
  events: Pick<EventLog, "append">;
  log: Log;
  /** Whether a turn runs that an interrupt may end from outside, and admission is open. */
  turnRuns: () => boolean;
  epoch: () => number;
  onEnd: (request: StoredRequest, end: End) => void;
}) {
  const { store, agent, clock, events, log } = deps;
  let running: Promise<void> | null = null;

  function nextInterrupt(): StoredRequest | null {
    if (!deps.turnRuns()) return null;
    const head = store.heads().find((one) => one.kind === "interrupt");
    return head && head.epoch === deps.epoch() ? head : null;
  }

  async function stopTurn(): Promise<InterruptOutcome> {
    try {
      using permit = await agent.interrupt();
      return await permit.submit();
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
    /** Executes the waiting interrupts, one after another, while `turnRuns`. Safe to call at any time. */
    look(): void {
      running ??= work()
        .catch((error: unknown) => log.line("interrupt fault", { error: messageOf(error) }))
        .finally(() => {
          running = null;
        });
    },
    /** Resolves when no interrupt is being executed. */
    async settled(): Promise<void> {
      await running;
    },
  };
}
