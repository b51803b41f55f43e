import { Value } from "@sinclair/typebox/value";
import type { StoredRequest } from "../../db/gateway/request-store.ts";
import { ChatSession, Execution, type GatewayRequest } from "../../protocol/gateway.ts";
import type { Submission } from "../agent/agent.ts";
import { policyOf } from "./plan.ts";

/** How a request is stored. Pure. */
export function toRow(request: GatewayRequest): Pick<StoredRequest, "kind" | "lane" | "payload"> {
  if (request.kind === "interrupt") return { kind: request.kind, lane: "interrupt", payload: {} };
  const { kind, payload } = request;
  return { kind, lane: payload.delivery ?? "turn_boundary", payload };
}

/** What a stored prompt asks of the agent; its payload was checked when it was accepted. Pure. */
export function toSubmission(request: StoredRequest): Omit<Submission, "begin" | "onEvidence"> {
  const { prompt, turn_id: turnId, chat_session: chatSession, execution } = request.payload;
  return {
    prompt: String(prompt),
    policy: policyOf(request),
    requestId: request.requestId,
    ...(typeof turnId === "string" ? { turnId } : {}),
    ...(Value.Check(ChatSession, chatSession) ? { chatSession } : {}),
    ...(Value.Check(Execution, execution) ? { execution } : {}),
  };
}
