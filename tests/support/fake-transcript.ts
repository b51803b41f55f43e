import type { ReadTurn, TurnSource } from "../../src/services/extensions/observe/transcript/turn-source.ts";
import { keyOfText } from "../../src/services/terminal/keys.ts";

/** A turn with what a test says of it. */
export function fakeTurn(turnId: string, facts: Partial<ReadTurn> = {}): ReadTurn {
  return {
    turnId,
    source: "tool",
    evidence: "the record of fake",
    conversationId: "conversation-1",
    cut: false,
    prompt: "hello",
    answer: "Hello, world",
    remarks: [],
    toolCalls: [{ name: "Bash", input: '{"command":"true"}', output: "", status: "ok" }],
    toolCallsOmitted: 0,
    status: "completed",
    error: null,
    startedMs: 1_000,
    endedMs: 2_000,
    usage: [],
    ...facts,
  };
}

/** A source that has exactly these turns, oldest first. */
export function fakeTurns(turns: readonly ReadTurn[], gap: string | null = null): TurnSource {
  return {
    gap: () => gap,
    damagedLines: () => 0,
    heads: async () =>
      turns.map(({ turnId, startedMs, prompt, own }) => ({
        turnId,
        startedMs,
        promptKey: prompt === null || own ? null : keyOfText(prompt),
        ...(own ? { own } : {}),
      })),
    read: async (turnId) => turns.find((turn) => turn.turnId === turnId) ?? null,
  };
}
