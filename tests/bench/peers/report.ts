import { durationRows, type Row } from "../bench.ts";
import type { IdleCpu, Losses, TurnTimes } from "./measure.ts";

/** Rows `NAME_answer_p50_ms` and so on. A time of which there is no sample has no row. */
export function turnRows(name: string, times: TurnTimes): Row[] {
  const durations = { answer: times.answer, to_model: times.toModel, to_idle: times.toIdle };
  return [
    ...Object.entries(durations).flatMap(([part, samples]) =>
      samples.length === 0 ? [] : durationRows(`${name}_${part}`, samples),
    ),
    { metric: `${name}_idle_too_early`, value: times.early, unit: "" },
    { metric: `${name}_turns_unseen`, value: times.unseen, unit: "" },
  ];
}

/** Counts among `submitted` prompts, which is a row itself: a count says nothing without it. */
export function lossRows(name: string, losses: Losses): Row[] {
  const counts = {
    submitted: losses.submitted,
    lost: losses.lost.length,
    repeated: losses.repeated.length,
    merged: losses.merged.length,
    refusals: losses.refusals,
  };
  return Object.entries(counts).map(([part, value]) => ({
    metric: `${name}_prompts_${part}`,
    value,
    unit: "",
  }));
}

/** Percent of one core for each agent. */
export function idleRows(name: string, { product, cli, agents }: IdleCpu): Row[] {
  return [
    { metric: `${name}_idle_agents`, value: agents, unit: "" },
    { metric: `${name}_idle_cpu_percent_each`, value: product, unit: "%" },
    { metric: `${name}_idle_cli_cpu_percent_each`, value: cli, unit: "%" },
  ];
}

/** `cao: not measured: WHY`, in one line. */
export function notMeasured(what: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  const lines = why.split("\n").filter((line) => line.trim() !== "");
  return `${what}: not measured: ${lines
    .map((line) => line.trim())
    .join("; ")
    .slice(0, 600)}`;
}
