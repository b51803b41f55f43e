import type { TeamStep } from "../../services/extensions/team/plan.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";

export interface TeamFailure {
  step: TeamStep;
  detail: string;
}

/** How far the steps of a plan got. `left`: not begun, because the command was interrupted. */
interface PerformedSteps {
  done: TeamStep[];
  failures: TeamFailure[];
  left: TeamStep[];
}

/**
 * Performs one step after the other. Begins none after `signal` aborts. `perform` returns why a step failed,
 * or null.
 */
export async function performSteps(
  steps: readonly TeamStep[],
  perform: (step: TeamStep) => Promise<string | null>,
  signal: AbortSignal,
): Promise<PerformedSteps> {
  const performed: PerformedSteps = { done: [], failures: [], left: [] };
  for (const step of steps) {
    if (signal.aborted) {
      performed.left.push(step);
      continue;
    }
    const detail = await perform(step);
    if (detail === null) performed.done.push(step);
    else performed.failures.push({ step, detail });
  }
  return performed;
}

/** The end of an interrupted command, exit 130: names each step and its outcome. Pure. */
export function interruptedSteps(
  { done, failures, left }: PerformedSteps,
  describe: (step: TeamStep) => string,
  command: string,
  document: object,
): CommandFailure {
  const lines = [
    `interrupted; ${command} does the rest when it is called again`,
    ...done.map((step) => `done: ${describe(step)}`),
    ...failures.map(({ step, detail }) => `failed: ${describe(step)}: ${detail}`),
    ...left.map((step) => `not done: ${describe(step)}`),
  ];
  const [detail] = lines;
  const json = { error: "interrupted", detail, ...document, done, failures, not_done: left };
  return new CommandFailure(exitCodes.interrupted, lines.join("\n"), json);
}
