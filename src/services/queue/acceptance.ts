import type { InsertGuard, RequestStore, StoredRequest } from "../../db/gateway/request-store.ts";
import type { AcceptedRequest } from "../../protocol/gateway.ts";
import { afterThisTurn, type Clock, createTimestamps } from "../../system/clock.ts";
import type { Ids } from "../../system/ids.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { createRequestIds } from "./request-ids.ts";

type Told = Pick<AcceptedRequest, "request_id" | "accepted_at_utc"> & { request_kind: StoredRequest["kind"] };

/** Puts requests on disk at once and tells of them a moment later, once for all of that moment. */
export interface Acceptance {
  /** On disk when it resolves; rejects with what `guard` throws, and then nothing was taken. */
  take(
    request: Pick<StoredRequest, "kind" | "lane" | "payload">,
    guard?: InsertGuard,
  ): Promise<{ request_id: string; accepted_at_utc: string; epoch: number }>;
  /** Tells now what was not told yet: nothing is told of a request before its acceptance. False without any. */
  tell(): boolean;
}

export function createAcceptance(deps: {
  store: RequestStore;
  clock: Clock;
  ids: Ids;
  events: EventLog;
  log: Log;
  epoch: () => number;
  /** What was accepted has been told. */
  onTold: () => void;
}): Acceptance {
  const { store, events, log } = deps;
  const timestamp = createTimestamps(deps.clock);
  const newRequestId = createRequestIds(deps);
  /** On disk, and not yet in the event log. */
  let untold: Told[] = [];

  function tell(): boolean {
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

  /** What follows an acceptance is done after its answer. */
  function tellLater(accepted: Told): void {
    if (untold.push(accepted) > 1) return;
    afterThisTurn(() => {
      if (tell()) deps.onTold();
    });
  }

  return {
    tell,
    async take(request, guard) {
      const accepted_at_utc = timestamp();
      const request_id = newRequestId();
      const epoch = deps.epoch();
      const row = {
        ...request,
        requestId: request_id,
        acceptedAtUtc: accepted_at_utc,
        epoch,
      };
      await store.insertAccepted(row, guard);
      tellLater({ request_id, request_kind: request.kind, accepted_at_utc });
      return { request_id, accepted_at_utc, epoch };
    },
  };
}
