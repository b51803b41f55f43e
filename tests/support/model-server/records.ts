import type { ModelUsage } from "./usage.ts";

export type ProtocolName = "anthropic_messages" | "openai_responses" | "gemini" | "chat_completions";

/** Why a CLI asked. Only `turn` carries a person's prompt forward. */
export type Purpose = "turn" | "compaction" | "title" | "router" | "count_tokens" | "other";

/** How the reply went: `aborted` means that the client hung up before the end, as on an interrupt. */
type Outcome = "open" | "finished" | "aborted" | "failed" | "cut";

/**
 * One request as it came. Kept by reference: `outcome` and `ended_at_ms` move while the reply is under way.
 */
export interface ReceivedRequest {
  /** Counts from 1 in order of arrival. */
  sequence: number;
  protocol: ProtocolName;
  path: string;
  purpose: Purpose;
  /** Epoch milliseconds. */
  at_ms: number;
  ended_at_ms: number | null;
  outcome: Outcome;
  /**
   * What the answer said that it used; null for a failure. Of one that was cut, what its end would have said.
   */
  usage: ModelUsage | null;
  model: string;
  streamed: boolean;
  /** True when the CLI says that it runs without a terminal, null when it does not say. */
  headless: boolean | null;
  user_agent: string;
  /** The last of `all_user_texts`, or an empty string. */
  newest_user_text: string;
  /** What was said in the user's role, oldest first, exactly as sent; the CLI's own notes are left out. */
  all_user_texts: readonly string[];
  /** True when the newest item answers a tool call. */
  tool_answered: boolean;
  /** What tools gave since the newest user text, oldest first. */
  tool_results: readonly string[];
  body: unknown;
}

/** The server's memory and the way to await it. */
export interface Records {
  received(): readonly ReceivedRequest[];
  /**
   * The first request, past or future, for which `predicate` holds; it is asked again whenever an outcome
   * changes. Rejects after `timeoutMs` with a summary of what did come.
   */
  next(predicate: (request: ReceivedRequest) => boolean, timeoutMs: number): Promise<ReceivedRequest>;
  /** `atMs`: when its first byte came. */
  add(
    request: Omit<ReceivedRequest, "sequence" | "at_ms" | "ended_at_ms" | "outcome" | "usage">,
    atMs: number,
  ): ReceivedRequest;
  end(request: ReceivedRequest, outcome: Outcome): void;
}

export function createRecords(): Records {
  const requests: ReceivedRequest[] = [];
  const watchers = new Set<() => void>();
  const changed = () => {
    for (const watcher of [...watchers]) watcher();
  };
  return {
    received: () => requests,
    add(request, atMs) {
      const record: ReceivedRequest = {
        ...request,
        sequence: requests.length + 1,
        at_ms: atMs,
        ended_at_ms: null,
        outcome: "open",
        usage: null,
      };
      requests.push(record);
      changed();
      return record;
    },
    end(request, outcome) {
      if (request.outcome !== "open") return;
      request.outcome = outcome;
      request.ended_at_ms = Date.now();
      changed();
    },
    next: (predicate, timeoutMs) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = requests.find(predicate);
          if (found) settle(() => resolve(found));
        };
        const settle = (act: () => void) => {
          clearTimeout(timer);
          watchers.delete(look);
          act();
        };
        const timer = setTimeout(
          () =>
            settle(() => reject(new Error(`no such request within ${timeoutMs} ms; ${summary(requests)}`))),
          timeoutMs,
        );
        watchers.add(look);
        look();
      }),
  };
}

function summary(requests: readonly ReceivedRequest[]): string {
  if (requests.length === 0) return "nothing was received";
  const lines = requests.map(
    (request) =>
      `#${request.sequence} ${request.protocol} ${request.purpose} ${request.outcome} ` +
      JSON.stringify(request.newest_user_text.slice(-120)),
  );
  return `received:\n${lines.join("\n")}`;
}
