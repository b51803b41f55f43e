import { isChosen } from "./occasion.ts";
import type { DemoRule } from "./script.ts";

/** How a turn runs. Durations are milliseconds before `--speed` divides them. */
export interface TurnPlan {
  durationMs: number;
  /** False: nothing but the spinner shows. */
  streams: boolean;
  ending: TurnEnding;
}

export type TurnEnding =
  | { kind: "success" }
  /** `text`: the row that ends the turn, behind its mark. */
  | { kind: "error"; text: string }
  | { kind: "menu"; question: string }
  | { kind: "exit" }
  | { kind: "crash" };

const DEFAULT_MS = 1500;
const FAST_MS = 30;
const DEFAULT_QUESTION = "Go on with this?";

/**
 * Reads a directive: `FAST`, `SLOW <ms>`, `SILENT <ms>`, `FAIL <text>`, `LIMIT [time]`, `MENU [question]`,
 * `EXIT` or `CRASH`, alone on its line. Null when the line is none of them.
 */
export function parseDirective(line: string): TurnPlan | null {
  const [, word = "", rest = ""] = /^([A-Z]+)(?:\s+(.*))?$/.exec(line.trim()) ?? [];
  const success: TurnEnding = { kind: "success" };
  const durationMs = /^\d{1,7}$/.test(rest) ? Number(rest) : null;
  switch (word) {
    case "FAST":
      return rest ? null : { durationMs: FAST_MS, streams: true, ending: success };
    case "SLOW":
      return durationMs === null ? null : { durationMs, streams: true, ending: success };
    case "SILENT":
      return durationMs === null ? null : { durationMs, streams: false, ending: success };
    case "FAIL":
      return failure(`error: ${rest || "failed"}`);
    case "LIMIT":
      return failure(`usage limit reached${rest ? ` · resets ${rest}` : ""}`);
    case "MENU":
      return menuPlan(rest);
    case "EXIT":
    case "CRASH":
      if (rest) return null;
      return { durationMs: FAST_MS, streams: false, ending: { kind: word === "EXIT" ? "exit" : "crash" } };
    default:
      return null;
  }
}

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

function failure(text: string): TurnPlan {
  return { durationMs: DEFAULT_MS, streams: true, ending: { kind: "error", text } };
}

function menuPlan(question: string): TurnPlan {
  const ending = { kind: "menu", question: question || DEFAULT_QUESTION } as const;
  return { durationMs: DEFAULT_MS, streams: true, ending };
}

/** The slash command that a submitted text is, or null. A leading blank or a path makes plain text. */
export function parseCommand(text: string): string | null {
  return /^(\/[a-z][a-z-]*)(?:[^\S\n][^\n]*)?\n*$/.exec(text)?.[1] ?? null;
}
