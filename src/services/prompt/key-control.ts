import type { SendKeysRequest, SendKeysResult } from "../../protocol/gateway.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Agent } from "../agent/agent.ts";
import { backendFacts } from "../agent/backends.ts";
import { previewKeys } from "../agent/key-sequence.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { StatusBoard } from "../status/status-board.ts";

/**
 * Raw keys: outside the queue, without a prompt note, without a look at readiness. Throws ServiceError:
 * `blocked_reconciliation`, `unavailable`, `unsupported` for a backend that has no keys, `invalid_request` for a bad token with nothing sent, `dispatch_failed`.
 * Source: contract 4.1, 4.3; spec/gateway.md 4.3.
 */
export interface KeyControl {
  send(request: SendKeysRequest): Promise<SendKeysResult>;
}

export function createKeyControl(deps: {
  agent: Agent;
  board: Pick<StatusBoard, "reconciliationRequired">;
  events: EventLog;
  clock: Clock;
}): KeyControl {
  const { agent, board, events, clock } = deps;
  return {
    async send(request) {
      if (board.reconciliationRequired()) {
        throw new ServiceError("blocked_reconciliation", "the agent is a new instance; reconcile first");
      }
      const presence = agent.presence();
      if (!presence.connected) throw new ServiceError("unavailable", presence.detail);
      if (!backendFacts(agent.backend).exactKeys) {
        throw new ServiceError("unsupported", `keys do not arrive exactly at a ${agent.backend} session`);
      }
      const literal = request.escape_special_keys ?? false;
      await agent.keys({ sequence: request.sequence, literal });
      events.append("control_input", {
        escape_special_keys: literal,
        sequence_preview: previewKeys(request.sequence, literal),
        submitted_at_utc: timestampNow(clock),
      });
      return { status: "ok", action: "control_input", detail: "sent" };
    },
  };
}
