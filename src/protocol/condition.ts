import type { AgentIdentity, AgentState } from "./agents.ts";
import type { AttentionItem, AttentionKind } from "./attention.ts";

/**
 * What an agent does, as each program shows it in its own words. `waits`: for a person. `broken`: it cannot
 * do its work, or a person has to look at what became of it. `unknown`, `unseen`: nobody asked, or nothing
 * answers; `unread`: its screen says nothing.
 */
export type AgentCondition =
  /** `item`: null where the state alone shows the question. */
  | { kind: "waits"; item: AttentionItem | null; question: string }
  | { kind: "broken"; cause: "item"; item: AttentionItem }
  | { kind: "broken"; cause: "gone" | "unavailable" | "error" | "queue_closed" }
  | { kind: "working" }
  | { kind: "queued"; depth: number }
  /** `resting`: a headless agent without a gateway, which its next prompt starts. */
  | { kind: "idle"; isResting: boolean }
  | { kind: "unknown"; cause: "unseen" | "unread" }
  | { kind: "stopped"; lifecycle: "stopped" | "retired" };

const asking: ReadonlySet<AttentionKind> = new Set(["question", "permission", "usage_limit", "draft"]);

/**
 * In this order: what a person is asked, what else waits for a person but mail, that the agent was stopped,
 * and what its state says. `items`: of this agent. Pure.
 */
export function conditionOf(
  identity: Pick<AgentIdentity, "lifecycle_state" | "liveness" | "transport" | "has_gateway">,
  state: Pick<AgentState, "availability" | "turn" | "gateway" | "awaiting_decision"> | null,
  items: readonly AttentionItem[],
): AgentCondition {
  const question = items.find(({ kind }) => asking.has(kind));
  if (question) return { kind: "waits", item: question, question: question.question ?? question.reason };
  const asked = state?.awaiting_decision;
  // A dialog that somebody opened asks that person alone.
  if (asked && asked.opened_by === undefined) return { kind: "waits", item: null, question: asked.question };
  // Mail waits for a person and hinders no agent.
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
