import { type Clock, withinTime } from "../../system/clock.ts";

/** So many are asked at once: each costs several calls. */
const atOnce = 32;

/**
 * Asks each of many, 32 at once, and answers in their order. Each has `eachMs`, and all together `allMs`. One
 * that has not answered by then gets `late`, and the signal of its question aborts; one whose turn did not
 * come is not asked. Rejects when `ask` does.
 */
export async function askEach<Asked, Answer>(
  asked: readonly Asked[],
  how: {
    clock: Clock;
    ask: (one: Asked, signal: AbortSignal) => Promise<Answer>;
    late: (one: Asked) => Answer | Promise<Answer>;
    eachMs: number;
    allMs?: number;
  },
): Promise<Answer[]> {
  const { clock, ask, late, eachMs, allMs = Number.POSITIVE_INFINITY } = how;
  const endMs = clock.monotonicMs() + allMs;
  const answers: Answer[] = [];
  const rest = asked.entries();

  async function answerOf(one: Asked): Promise<Answer> {
    const limitMs = Math.min(eachMs, endMs - clock.monotonicMs());
    if (limitMs <= 0) return late(one);
    const over = new AbortController();
    // Boxed: an answer may be null.
    const boxed = ask(one, over.signal).then((answer) => ({ answer }));
    const found = await withinTime(clock, limitMs, boxed);
    if (found) return found.answer;
    over.abort(new Error("no answer in time"));
    return late(one);
  }

  async function work(): Promise<void> {
    for (const [index, one] of rest) answers[index] = await answerOf(one);
  }

  await Promise.all(Array.from({ length: Math.min(atOnce, asked.length) }, work));
  return answers;
}
