import { DEFAULT_MS, menuPlan, parseDirective, type TurnPlan } from "./directive.ts";
import { isChosen } from "./occasion.ts";
import type { DemoRule } from "./script.ts";

/**
 * The plan of a prompt. Its last line counts first, then a leading `MENU`, then the first rule that applies.
 * `seen`: how often each rule matched before, by index. The returned `seen` includes this prompt.
 */
export function planTurn(
  prompt: string,
  rules: readonly DemoRule[],
  seen: readonly number[],
  seed: number,
): { plan: TurnPlan; seen: number[] } {
  const counts = rules.map((_, index) => seen[index] ?? 0);
  const trimmed = prompt.trim();
  const own = parseDirective(trimmed.slice(trimmed.lastIndexOf("\n") + 1));
  if (own) return { plan: own, seen: counts };
  const leading = /^MENU\b[^\S\n]*(.*)/.exec(trimmed);
  if (leading) return { plan: menuPlan(leading[1] ?? ""), seen: counts };
  for (const [index, rule] of rules.entries()) {
    if (rule.contains !== undefined && !prompt.includes(rule.contains)) continue;
    const ordinal = (counts[index] ?? 0) + 1;
    counts[index] = ordinal;
    const plan = isChosen(rule, seed, `rule ${index}`, ordinal) ? parseDirective(rule.directive) : null;
    if (plan) return { plan, seen: counts };
  }
  return { plan: { durationMs: DEFAULT_MS, streams: true, ending: { kind: "success" } }, seen: counts };
}
