/** How a turn runs. Durations are milliseconds before `--speed` divides them. */
export interface TurnPlan {
  durationMs: number;
  /** False: nothing but the spinner shows. */
  streams: boolean;
  ending: TurnEnding;
  /** The whole answer, instead of words that it makes up. */
  says?: string;
}

export type TurnEnding =
  | { kind: "success" }
  /** `text`: the row that ends the turn, behind its mark. */
  | { kind: "error"; text: string }
  | { kind: "menu"; question: string }
  | { kind: "exit" }
  | { kind: "crash" };

/** How long a turn runs that nothing directs. */
export const DEFAULT_MS = 1500;
const FAST_MS = 30;
/** Long enough to be seen at work before it is gone. */
const ENDING_MS = 500;
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
      return { durationMs: ENDING_MS, streams: false, ending: { kind: word === "EXIT" ? "exit" : "crash" } };
    default:
      return null;
  }
}

function failure(text: string): TurnPlan {
  return { durationMs: DEFAULT_MS, streams: true, ending: { kind: "error", text } };
}

/** A turn that ends by asking `question`, or its default question when that is empty. */
export function menuPlan(question: string): TurnPlan {
  const ending = { kind: "menu", question: question || DEFAULT_QUESTION } as const;
  return { durationMs: DEFAULT_MS, streams: true, ending };
}

/** The slash command that a submitted text is, or null. A leading blank or a path makes plain text. */
export function parseCommand(text: string): string | null {
  return /^(\/[a-z][a-z-]*)(?:[^\S\n][^\n]*)?\n*$/.exec(text)?.[1] ?? null;
}
