import type { Speech } from "./scenario.ts";

/**
 * What the model says of one answer; all that was read, and all that was written, with parts of them beside.
 */
export interface ModelUsage {
  input: number;
  cached: number;
  cacheWrite: number;
  output: number;
  reasoning: number;
}

/**
 * Counts that differ from answer to answer, so that a sum which repeats one or lacks one is another sum.
 * `sequence`: of the request. Pure.
 */
export function modelUsage(sequence: number, speech: Speech): ModelUsage {
  const cached = (sequence % 7) * 3;
  const cacheWrite = sequence % 5;
  const reasoning = sequence % 4;
  return {
    input: 100 + sequence + cached + cacheWrite,
    cached,
    cacheWrite,
    output: speech.words.length + reasoning,
    reasoning,
  };
}
