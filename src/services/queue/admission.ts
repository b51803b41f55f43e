import type { GatewayRequest } from "../../protocol/gateway.ts";
import { ServiceError } from "../../system/errors.ts";

export interface AdmissionFacts {
  reconciliationRequired: boolean;
  connected: boolean;
  presenceDetail: string;
}

/**
 * Whether a request may enter the queue of a terminal agent: null, or why not. The order is the contract's:
 * reconciliation, availability, then what this backend cannot do. Source: contract 4.3, 7; spec/gateway.md 2.2.
 */
export function refuseRequest(request: GatewayRequest, facts: AdmissionFacts): ServiceError | null {
  if (facts.reconciliationRequired) {
    return new ServiceError(
      "blocked_reconciliation",
      "the agent is a new instance; reconcile before new work (svc-mgr agents single --agent-name NAME gateway reconcile)",
    );
  }
  if (!facts.connected) return new ServiceError("unavailable", facts.presenceDetail);
  if (request.kind === "interrupt") return null;
  if (request.payload.execution) {
    return new ServiceError(
      "invalid_request",
      "payload.execution: a terminal agent runs the model it was started with",
    );
  }
  if (request.payload.chat_session || request.payload.turn_id) {
    return new ServiceError(
      "invalid_request",
      "payload.chat_session and payload.turn_id are for headless agents",
    );
  }
  return null;
}
