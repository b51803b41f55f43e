import type { AdmissionBlock } from "../../protocol/gateway.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import { createLoop, type Lifecycle } from "../../system/lifecycle.ts";
import { storageFaultOf, tellStorageFault } from "../../system/storage-fault.ts";

/** Whether the queue's file takes what is accepted, also while nobody submits anything (ruling 32). */
export interface StorageWatch extends Lifecycle {
  /** Why every request would be refused, or null. At most 100 ms old. */
  problem(): AdmissionBlock | null;
}

const pollIntervalMs = 1000;
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

  function look(): void {
    lookedAtMs = clock.monotonicMs();
    const fault = deps.fault();
    problem = fault === null ? null : toStorageBlock(fault);
  }

  let reported: string | null = null;
  const loop = createLoop({
    clock,
    async turn() {
      look();
      const now = problem?.detail ?? null;
      if (now !== reported) {
        reported = now;
        deps.onChange();
      }
      return pollIntervalMs;
    },
    onError: deps.onError,
  });

  return {
    problem() {
      if (clock.monotonicMs() - lookedAtMs >= freshMs) look();
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
