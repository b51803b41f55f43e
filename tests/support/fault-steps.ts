import { appendFileSync } from "node:fs";
import type { Steps } from "../../src/system/steps.ts";

/** One moment of a run: before or after the `nth` step (from 1) of this label. */
export interface Moment {
  label: string;
  when: "before" | "after";
  nth: number;
}

/** Environment of a process whose steps are watched. */
export const faultEnvironment = { trace: "FAULT_TRACE", kill: "FAULT_KILL" } as const;

/**
 * Steps that write each label to the file that `FAULT_TRACE` names, one line `before|after <label>` each, and
 * that end this process by SIGKILL at the moment that `FAULT_KILL` names, as JSON.
 */
export function createFaultSteps(env: Readonly<Record<string, string | undefined>>): Steps {
  const trace = env[faultEnvironment.trace];
  const kill = env[faultEnvironment.kill];
  const fatal = kill === undefined || kill === "" ? null : (JSON.parse(kill) as Moment);
  const seen = { before: new Map<string, number>(), after: new Map<string, number>() };

  function pass(when: Moment["when"], label: string): void {
    if (trace) appendFileSync(trace, `${when} ${label}\n`);
    const nth = (seen[when].get(label) ?? 0) + 1;
    seen[when].set(label, nth);
    if (fatal?.label === label && fatal.when === when && fatal.nth === nth) die();
  }
  return { before: (label) => pass("before", label), after: (label) => pass("after", label) };
}

/** Nothing of this process runs on, not even until the signal has arrived. */
function die(): never {
  process.kill(process.pid, "SIGKILL");
  for (;;);
}

/** How often each label was passed, from a trace. */
export function countLabels(trace: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of trace.split("\n")) {
    const label = line.startsWith("before ") ? line.slice("before ".length) : null;
    if (label !== null) counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return counts;
}
