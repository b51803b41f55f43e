import type { AguiConnectInput } from "../../protocol/agui.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Ids } from "../../system/ids.ts";
import type { Connection } from "./snapshot.ts";

export interface OpenConnection {
  connection: Connection;
  /** Aborted by a detach, and when `over` is. */
  ended: AbortSignal;
}

/** The GUI streams that are attached now; none outlives its client. */
export interface Connections {
  /** `over`: aborted when the client leaves or the gateway ends. Throws `unavailable` when too many are attached. */
  open(input: AguiConnectInput, over: AbortSignal): OpenConnection;
  /** False when there is no such connection. */
  detach(connectionId: string): boolean;
}

/** Each gets every change of the state. */
const maxConnections = 64;

export function createConnections(deps: { clock: Clock; ids: Ids }): Connections {
  const { clock, ids } = deps;
  const open = new Map<string, AbortController>();

  function end(connectionId: string): boolean {
    const controller = open.get(connectionId);
    open.delete(connectionId);
    controller?.abort();
    return controller !== undefined;
  }

  return {
    open(input, over) {
      if (open.size >= maxConnections) {
        throw new ServiceError(
          "unavailable",
          `${maxConnections} GUI clients are attached already; detach one first`,
        );
      }
      const connectionId = `agui-${ids.hex(16)}`;
      const controller = new AbortController();
      open.set(connectionId, controller);
      const drop = () => void end(connectionId);
      if (over.aborted) drop();
      else over.addEventListener("abort", drop, { once: true });
      return {
        connection: {
          connectionId,
          threadId: input.threadId,
          runId: input.runId,
          ...(input.parentRunId == null ? {} : { parentRunId: input.parentRunId }),
          ...(input.lastSeenEventId == null ? {} : { lastSeenEventId: input.lastSeenEventId }),
          createdAtUtc: timestampNow(clock),
        },
        ended: controller.signal,
      };
    },
    detach: end,
  };
}
