import type { StoredRequest, Transition } from "../../db/gateway/request-store.ts";
import type { Coalesced } from "./coalesce.ts";

export interface Superseding {
  transitions: Transition[];
  /** Fields of the event that tells of the requests which `transitions` coalesce; null when there are none. */
  coalesced: Record<string, unknown> | null;
}

/**
 * The changes that put `request` into the slot at `at`, in one transaction: first the requests it stands for, then
 * itself. Source: contract 3.1.
 */
export function promotionOf(request: StoredRequest, collapsed: Coalesced | null, at: string): Superseding {
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

/** The changes of interrupts that end with `request`, which is one, too. */
export function foldedInto(
  request: StoredRequest,
  folding: readonly StoredRequest[],
  at: string,
): Superseding {
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

/** The changes of the requests that `request` stands for. */
export function supersededBy(request: StoredRequest, collapsed: Coalesced | null, at: string): Superseding {
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
