import type { AttentionItem } from "../../src/protocol/attention.ts";
import type { AttentionStreamItem } from "../../src/services/attention/attention.ts";

export function attentionItem(fields: Partial<AttentionItem> = {}): AttentionItem {
  return {
    id: "question-000000000001",
    kind: "question",
    agent_id: "id-worker",
    agent_name: "worker",
    tracked_agent_id: "demo_worker",
    address: null,
    since_utc: "2026-01-01T00:00:00.000+00:00",
    age_seconds: 1,
    epoch: 3,
    reason: '"worker" asks: Go on?',
    question: "Go on?",
    subject: null,
    evidence: [],
    answers: [],
    next: "Choose one of its answers",
    command: null,
    ...fields,
  };
}

/** What waits, as a test sets it. A follower sees it as a stream of the coordination server shows it. */
export function fakeAttention() {
  let items: AttentionItem[] = [];
  let change = Promise.withResolvers<void>();
  return {
    set(now: readonly AttentionItem[]) {
      items = [...now];
      change.resolve();
      change = Promise.withResolvers<void>();
    },
    async *follow({ signal }: { signal: AbortSignal }): AsyncGenerator<AttentionStreamItem> {
      const ended = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      while (!signal.aborted) {
        const changed = change.promise;
        const event = { kind: "attention_list", at_utc: "2026-01-01T00:00:00.000+00:00", items } as const;
        yield { item: "event", event };
        await Promise.race([changed, ended]);
      }
    },
  };
}
