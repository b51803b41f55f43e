import { patterns } from "../../protocol/enforced.ts";
import type { ChatSession, Execution, GatewayRequest, PromptPayload } from "../../protocol/gateway.ts";
import { ServiceError } from "../../system/errors.ts";

interface AdmissionFacts {
  reconciliationRequired: boolean;
  connected: boolean;
  connectivityDetail: string;
  /** Set for an agent whose turns are separate processes. */
  headless: {
    /** A request or a turn of this id is there. */
    turnTaken: (turnId: string) => boolean;
    /** Why the tool cannot run a turn like that, as a clause for people, or null. */
    executionProblem: (execution: Execution | undefined) => string | null;
  } | null;
}

/**
 * Whether a request may enter the queue: null, or why not. The order is the contract's: what can never be
 * valid, reconciliation, availability, then what this backend cannot do. Source: contract 4.3, 7;
 * spec/gateway.md 2.2.
 */
export function refuseRequest(request: GatewayRequest, facts: AdmissionFacts): ServiceError | null {
  const chatProblem = request.kind === "interrupt" ? null : chatSessionProblem(request.payload.chat_session);
  if (chatProblem) {
    return new ServiceError("invalid_request", `payload.chat_session: invalid_chat_session: ${chatProblem}`);
  }
  if (facts.reconciliationRequired) {
    return new ServiceError(
      "blocked_reconciliation",
      "the agent is a new instance; reconcile before new work",
    );
  }
  if (!facts.connected) return new ServiceError("unavailable", facts.connectivityDetail);
  if (request.kind === "interrupt") return null;
  if (facts.headless) return refuseTurn(request.payload, facts.headless);
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

/** A busy headless agent lets a prompt wait; only a turn id may be taken (ruling 8). */
function refuseTurn(
  payload: PromptPayload,
  headless: NonNullable<AdmissionFacts["headless"]>,
): ServiceError | null {
  const problem = headless.executionProblem(payload.execution);
  if (problem) return new ServiceError("invalid_request", `payload.execution: invalid_execution: ${problem}`);
  if (payload.turn_id !== undefined && headless.turnTaken(payload.turn_id)) {
    return new ServiceError("conflict", `turn ${payload.turn_id} exists or waits already`);
  }
  return null;
}

const idForm = new RegExp(patterns.chatSessionId);

/**
 * Why a chat session is invalid, or null: an id belongs to `exact`, and nothing that reads as a flag is one.
 * Holds for terminal and headless agents alike, wherever a chat session is accepted (ruling 30).
 */
export function chatSessionProblem(wanted: ChatSession | undefined): string | null {
  if (!wanted) return null;
  if (wanted.mode !== "exact") {
    return wanted.id === undefined ? null : `chat_session.id belongs to mode exact, not ${wanted.mode}`;
  }
  if (wanted.id === undefined) return "chat_session.mode exact needs an id";
  return idForm.test(wanted.id) ? null : "chat_session.id: nothing invisible, and no dash in front";
}
