import { afterThisTurn } from "../../system/clock.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Acceptance } from "./acceptance.ts";

/** The queue's history, in order: nothing is told of a request before its acceptance and its promotion. */
export interface Telling extends Pick<EventLog, "append"> {
  /** Tells of a promotion once this turn of the event loop is over: the tool is given its text first. */
  promoted(tell: () => void): void;
  /** Tells now what was not told yet. */
  flush(): void;
}

export function createTelling(deps: {
  events: Pick<EventLog, "append">;
  acceptance: Pick<Acceptance, "tell">;
}): Telling {
  let promotion: (() => void) | null = null;

  function flush(): void {
    deps.acceptance.tell();
    const tell = promotion;
    promotion = null;
    tell?.();
  }

  return {
    append(kind, fields) {
      flush();
      deps.events.append(kind, fields);
    },
    promoted(tell) {
      promotion = tell;
      afterThisTurn(flush);
    },
    flush,
  };
}
