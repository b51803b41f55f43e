import { field } from "./product.ts";

/** How a product reported one turn. Times are epoch milliseconds. */
export interface WatchedTurn {
  /** The last byte of the model's answer. */
  endedMs: number;
  /** What the product said since the submission, oldest first. */
  looks: readonly { atMs: number; idle: boolean }[];
}

/**
 * From the end of the model's answer to the first look from which on the product says idle. `early`: it has
 * said so since before that end. `unseen`: it never said that the agent works, or still says so at the last
 * look.
 */
export function toIdle({ endedMs, looks }: WatchedTurn): number | "early" | "unseen" {
  const lastBusy = looks.findLastIndex(({ idle }) => !idle);
  const idle = looks[lastBusy + 1];
  if (lastBusy === -1 || idle === undefined) return "unseen";
  return idle.atMs < endedMs ? "early" : idle.atMs - endedMs;
}

export interface Arrivals {
  /** Prompts that were never whole in what the model received. */
  lost: string[];
  /** Prompts that came more than once in one conversation. */
  repeated: string[];
  /** Prompts that came as one text with another. */
  merged: string[];
}

/**
 * What became of prompts that a product accepted. `conversations`: the user's texts of each request to the
 * model, which repeats those before it. No prompt may be a part of another.
 */
export function countArrivals(
  prompts: readonly string[],
  conversations: readonly (readonly string[])[],
): Arrivals {
  const texts = [...new Set(conversations.flat())];
  const wholes = conversations.map((one) => one.join("\n"));
  const holding = new Map(prompts.map((prompt) => [prompt, texts.filter((text) => text.includes(prompt))]));
  const isShared = (text: string) => prompts.filter((prompt) => text.includes(prompt)).length > 1;
  return {
    lost: prompts.filter((prompt) => holding.get(prompt)?.length === 0),
    repeated: prompts.filter((prompt) => wholes.some((whole) => whole.split(prompt).length > 2)),
    merged: prompts.filter((prompt) => holding.get(prompt)?.some(isShared)),
  };
}

/**
 * All that a request of the Anthropic Messages protocol says in the user's role, also what the CLI wraps in a
 * note: Claude Code passes a prompt on that way when it was typed during a turn. What tools gave is left out.
 */
export function saidByUser(body: unknown): string[] {
  const messages = field(body, "messages");
  if (!Array.isArray(messages)) return [];
  return messages
    .filter((message) => field(message, "role") === "user")
    .flatMap((message) => {
      const content = field(message, "content");
      if (typeof content === "string") return [content];
      if (!Array.isArray(content)) return [];
      return content.map((block) => field(block, "text")).filter((text) => typeof text === "string");
    });
}
