import type { ScreenRun } from "../../protocol/console.ts";
import { jsonValue } from "../../protocol/json.ts";
import type { RecordedDecision, RecordedTerminal } from "../../protocol/recorder.ts";
import { joinRuns } from "../../protocol/screen-runs.ts";
import { words } from "./format.ts";
import { factsInWords, wordsOfFact } from "./readiness.ts";

/** Recordings of an agent's terminal and what was known then. Pure. */

/** One asciicast v2 file, as far as it is needed here. */
interface CastStart {
  width: number;
  height: number;
  /** What the terminal was sent until the first moment of the cast. */
  screen: string;
}

/** The screen that a cast begins with; null for a text that is none. */
export function startOf(cast: string): CastStart | null {
  const [head = "", ...lines] = cast.split("\n");
  const header = jsonValue(head) as { width?: unknown; height?: unknown } | null;
  if (typeof header?.width !== "number" || typeof header.height !== "number") return null;
  const outputs = lines.map(jsonValue).filter((line): line is [number, string, string] => isOutput(line));
  const screen = outputs.filter(([seconds]) => seconds === 0).map(([, , data]) => data);
  return { width: header.width, height: header.height, screen: screen.join("") };
}

const isOutput = (line: unknown) => Array.isArray(line) && line[1] === "o" && typeof line[2] === "string";

/**
 * Answers with the parts of one recording as one asciicast v2 file: each part begins with a header and a
 * whole screen, and its times count from its first moment, `fromMs`.
 */
export function joinCasts(parts: readonly { fromMs: number; cast: string }[]): string {
  const [first] = parts;
  if (first === undefined) return "";
  return parts
    .map(({ fromMs, cast }, index) =>
      index === 0 ? cast : laterBy((fromMs - first.fromMs) / 1000, cast.slice(cast.indexOf("\n") + 1)),
    )
    .join("");
}

function laterBy(seconds: number, lines: string): string {
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [at, ...rest] = JSON.parse(line) as [number, ...unknown[]];
      return `${JSON.stringify([Number((at + seconds).toFixed(6)), ...rest])}\n`;
    })
    .join("");
}

/** A character of a terminal with its style, as its emulator has it. */
export interface TerminalCell {
  getWidth(): number;
  getChars(): string;
  getFgColor(): number;
  getBgColor(): number;
  isFgRGB(): boolean;
  isBgRGB(): boolean;
  isFgPalette(): boolean;
  isBgPalette(): boolean;
  isBold(): number;
  isDim(): number;
  isItalic(): number;
  isUnderline(): number;
  isInverse(): number;
}

/**
 * The cells of a row as the server renders a live picture: runs of one style, without plain blanks at the
 * end.
 */
export function toRuns(cells: Iterable<TerminalCell>): ScreenRun[] {
  return joinRuns(partsOf(cells));
}

function* partsOf(cells: Iterable<TerminalCell>): Generator<ScreenRun> {
  for (const cell of cells) {
    // The right half of a wide character.
    if (cell.getWidth() === 0) continue;
    // A space that does not break is shown as one, too.
    yield { ...styleOf(cell), text: (cell.getChars() || " ").replaceAll("\u00a0", " ") };
  }
}

function styleOf(cell: TerminalCell): Omit<ScreenRun, "text"> {
  const foreground = colourOf(cell.getFgColor(), cell.isFgRGB(), cell.isFgPalette());
  const background = colourOf(cell.getBgColor(), cell.isBgRGB(), cell.isBgPalette());
  return {
    ...(foreground === null ? {} : { foreground }),
    ...(background === null ? {} : { background }),
    ...(cell.isBold() ? { bold: true } : {}),
    ...(cell.isDim() ? { dim: true } : {}),
    ...(cell.isItalic() ? { italic: true } : {}),
    ...(cell.isUnderline() ? { underline: true } : {}),
    ...(cell.isInverse() ? { inverse: true } : {}),
  };
}

function colourOf(value: number, isRgb: boolean, isPalette: boolean): string | null {
  if (isRgb) return `#${value.toString(16).padStart(6, "0")}`;
  return isPalette ? `palette:${value}` : null;
}

/** Whether a queued prompt could be typed then, and what kept it back. */
export function verdictOf(terminal: RecordedTerminal | null): string {
  if (terminal === null) return "Nothing is recorded of its terminal";
  if (terminal.ready) return "Ready for a prompt";
  const because = terminal.blocking === null ? "" : `: ${factsInWords(terminal.blocking)}`;
  return `Not ready for a prompt${because}`;
}

/** What the queue chose then. */
export function choiceOf(decision: RecordedDecision | null): string {
  if (decision === null) return "No choice of the queue is recorded.";
  const { request_id: id, reason, detail } = decision;
  switch (decision.do) {
    case "rest":
      return "Nothing waited.";
    case "wait":
      return `${id} waited, ${words(reason ?? "")}: ${factsInWords(detail ?? "")}`;
    case "expire":
      return `${id} failed: ${detail}`;
    case "run":
      return `${id} was begun.`;
  }
}

/** The first that did not hold kept the agent from being ready. */
export function factsOf(terminal: RecordedTerminal | null) {
  const facts = terminal?.facts ?? [];
  const kept = facts.find(({ holds }) => !holds);
  return facts.map((fact) => ({
    ...fact,
    words: fact.holds ? null : wordsOfFact(`${fact.name}=${fact.value}`),
    kept: fact === kept,
  }));
}
