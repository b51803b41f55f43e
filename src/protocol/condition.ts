import type { AgentIdentity, AgentState } from "./agents.ts";
import type { AttentionItem, AttentionKind } from "./attention.ts";

/**
 * The condition of an agent, which each program words for its users. `waits`: the agent waits for a person.
 * `broken`: the agent cannot work, or a person has to check the result of a failure. `unknown`: `unseen`
 * without a state, `unread` when the screen does not show the state.
 */
export type AgentCondition =
  /** `item`: null where the state alone shows the question. */
  | { kind: "waits"; item: AttentionItem | null; question: string }
  | { kind: "broken"; cause: "item"; item: AttentionItem }
  | { kind: "broken"; cause: "gone" | "unavailable" | "error" | "queue_closed" }
  | { kind: "working" }
  | { kind: "queued"; depth: number }
  /** `isResting`: a headless agent without a gateway; its next prompt starts one. */
  | { kind: "idle"; isResting: boolean }
  | { kind: "unknown"; cause: "unseen" | "unread" }
  | { kind: "stopped"; lifecycle: "stopped" | "retired" };

const questionKinds: ReadonlySet<AttentionKind> = new Set(["question", "permission", "usage_limit", "draft"]);

/**
 * The first of these that applies: a question to a person, another attention item except mail, a stopped
 * agent, the state of the agent. `items`: attention items of this agent. Pure.
 */
export function conditionOf(
  identity: Pick<AgentIdentity, "lifecycle_state" | "liveness" | "transport" | "has_gateway">,
  state: Pick<AgentState, "availability" | "turn" | "gateway" | "awaiting_decision"> | null,
  items: readonly AttentionItem[],
): AgentCondition {
  const question = items.find(({ kind }) => questionKinds.has(kind));
  if (question) return { kind: "waits", item: question, question: question.question ?? question.reason };
  const decision = state?.awaiting_decision;
  // A dialog that a person opened asks that person only.
  if (decision && decision.opened_by === undefined) {
    return { kind: "waits", item: null, question: decision.question };
  }
  // Unread mail of a person does not hinder the agent.
  const item = items.find(({ kind }) => kind !== "mail");
  if (item) return { kind: "broken", cause: "item", item };
  const { lifecycle_state: lifecycle } = identity;
  if (lifecycle === "stopped" || lifecycle === "retired") return { kind: "stopped", lifecycle };
  if (identity.liveness === "gone") return { kind: "broken", cause: "gone" };
  if (state === null) return { kind: "unknown", cause: "unseen" };
  if (identity.transport === "headless" && !identity.has_gateway) return { kind: "idle", isResting: true };
  if (state.availability !== "available") return { kind: "broken", cause: state.availability };
  const { request_admission: admission = "open", queue_depth: depth = 0 } = state.gateway ?? {};
  if (admission !== "open") return { kind: "broken", cause: "queue_closed" };
  if (state.turn.phase === "active") return { kind: "working" };
  if (depth > 0) return { kind: "queued", depth };
  return state.turn.phase === "ready"
    ? { kind: "idle", isResting: false }
    : { kind: "unknown", cause: "unread" };
}
