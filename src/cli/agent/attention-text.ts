import type { AttentionItem } from "../../protocol/attention.ts";
import type { Advise } from "../../protocol/remedy.ts";
import type { AttentionFacts } from "../../services/fleet/attention-facts.ts";
import type { AgentSnapshot } from "../../services/fleet/fleet-list.ts";
import { visibleLine } from "../../system/visible.ts";
import { ageText } from "./snapshot-text.ts";

/** What the agents of a list may need a person for. Pure. */
export function factsIn(snapshots: readonly AgentSnapshot[]): AttentionFacts[] {
  return snapshots.flatMap(({ attention }) => attention ?? []);
}

/** Lines above a list of agents. */
const maxAbove = 3;

/**
 * How many things wait for a person, and the first of them, a line for each; none when nothing waits. Pure.
 */
export function renderWaiting(items: readonly AttentionItem[], advise: Advise): string[] {
  if (items.length === 0) return [];
  const count = items.length === 1 ? "1 thing waits" : `${items.length} things wait`;
  const shown = items.slice(0, maxAbove).map((item) => {
    const choices = item.answers.map(({ answer, label }) => `${answer}. ${label}`).join(", ");
    return visibleLine(`  ${ageOf(item)}  ${item.reason}${choices && `: ${choices}`}`);
  });
  return [`${count} for you; all of it: ${advise({ code: "list_attention" }).command}`, ...shown, ""];
}

/** One item in full, in a few lines. Pure. */
export function renderItem(item: AttentionItem): string {
  const { answers, evidence, command, next, reason } = item;
  const lines = [
    ...answers.map(({ answer, label }) => `${answer}. ${label}`),
    ...(answers.length === 0 ? evidence.slice(0, maxEvidence) : []),
    command === null ? next : `${next}: ${command}`,
  ];
  const rest = lines.map((line) => `      ${visibleLine(line)}`);
  return [visibleLine(`${ageOf(item).padEnd(4)}  ${reason}`), ...rest].join("\n");
}

const maxEvidence = 3;

function ageOf({ since_utc, age_seconds }: AttentionItem): string {
  return since_utc === null || age_seconds === null ? "?" : ageText(age_seconds * 1000);
}
