import type { StepResult } from "./steps.ts";

/**
 * What the compiler says of a declaration that it cannot write, such as one of a schema; no error of types
 * says so.
 */
const ofDeclaration = /: error TS(?:4\d{3}: .* has or is using (?:private )?name |2742: |7056: )/;

/**
 * A run of the compiler that wrote declarations, as a check of types: what it says of declarations alone is
 * no fault. One that was cut short, or failed without a word, has failed. Pure.
 */
export function judgeTypes(run: StepResult): StepResult {
  const lines = run.output.split("\n").filter((line) => line !== "");
  const faults = lines.filter((line) => !ofDeclaration.test(line));
  const isWhole = !run.timedOut && run.exitCode !== null && (run.exitCode === 0 || lines.length > 0);
  return { ...run, ok: isWhole && faults.length === 0, output: faults.join("\n") };
}
