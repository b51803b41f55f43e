import { cutText, wrapText } from "./layout.ts";
import { demoSignature as signature } from "./signature.ts";
import { type Cell, type DemoState, streamedWords } from "./state.ts";

const VOCABULARY = [
  "the change keeps every row in order and says why it waits",
  "first the file is read then the plan is made and then it is done",
  "nothing here needs a model so the same prompt gives the same words",
  "each step is small enough to be looked at and none is left out",
].flatMap((sentence) => sentence.split(" "));
const WORDS_IN_LINE = 14;
const MOST_USER_ROWS = 8;
const STYLES = { plain: "", dim: "\x1b[2m", error: "\x1b[31m" } as const;

/** The last rows of the transcript, at most `most` of them; cells are one blank row apart. */
export function transcriptRows(state: DemoState, cols: number, most: number): string[] {
  const cells = [...state.cells];
  if (state.phase.kind === "busy") {
    const { turn } = state.phase;
    const words = streamedWords(turn, state.nowMs);
    if (words > 0 && turn.number !== null) cells.push({ kind: "answer", turn: turn.number, words });
  }
  const rows: string[] = [];
  let below: Cell | null = null;
  for (const cell of cells.reverse()) {
    if (rows.length >= most) break;
    const apart = below !== null && !(cell.kind === "note" && below.kind === "note");
    rows.unshift(...cellRows(cell, cols, most), ...(apart ? [""] : []));
    below = cell;
  }
  return rows.slice(-most);
}

function cellRows(cell: Cell, cols: number, most: number): string[] {
  switch (cell.kind) {
    case "banner":
      return [
        `\x1b[1m${signature.banner}\x1b[22m`,
        `\x1b[2m${cutText(`scripted, without a model · session ${cell.session}`, cols)}\x1b[22m`,
      ];
    case "user":
      return userRows(cell.text, cols);
    case "answer":
      return answerRows(cell.turn, cell.words, cols, most);
    case "note":
      return [`${STYLES[cell.tone]}${cutText(cell.text, cols)}\x1b[0m`];
  }
}

function userRows(text: string, cols: number): string[] {
  const lines = text.split("\n");
  const few = lines
    .slice(0, MOST_USER_ROWS)
    .join("\n")
    .slice(0, MOST_USER_ROWS * cols);
  const rows = wrapText(few, cols - signature.userPrefix.length).slice(0, MOST_USER_ROWS);
  if (few.length < text.length) rows.push("…");
  return rows.map((row, index) => (index === 0 ? signature.userPrefix : "  ") + row);
}

/** Only the last lines are made: a long turn may stream more words than any screen shows. */
function answerRows(turn: number, words: number, cols: number, most: number): string[] {
  const lines = Math.ceil(words / WORDS_IN_LINE);
  const rows: string[] = [];
  for (let line = Math.max(0, lines - most); line < lines; line++) {
    const count = Math.min(WORDS_IN_LINE, words - line * WORDS_IN_LINE);
    const said = Array.from({ length: count }, (_, index) => {
      return VOCABULARY[(turn * 7 + line * WORDS_IN_LINE + index) % VOCABULARY.length] ?? "";
    });
    const wrapped = wrapText(said.join(" "), cols - signature.answerPrefix.length);
    rows.push(...wrapped.map((row, index) => (index === 0 ? signature.answerPrefix : "  ") + row));
  }
  return rows;
}
