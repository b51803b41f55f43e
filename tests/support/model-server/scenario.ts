import { type AnswerName, modelAnswers } from "./answers.ts";

/**
 * What the scripted model says. The last line of the newest user text directs it by words in capitals:
 *
 * | word | reply |
 * |---|---|
 * | (none) | 0.4 s of silence, then about 50 words over 2 s |
 * | FAST | `ok` at once |
 * | SAYMARKDOWN, SAYWIDE, SAYHUGE | that text of `modelAnswers`; with RUNTOOL after the command's result |
 * | SLOWTURN | words over 12 s |
 * | MEDIUMTURN | 100 words over 5 s |
 * | LONGTURN | 640 words over 9 s |
 * | SILENT | 9 s before the first word |
 * | FAIL400, FAIL401, FAIL429, FAIL500, FAIL529 | that HTTP status |
 * | CUTSTREAM | the connection closes in the middle of the words |
 * | RUNTOOL | one shell command after the words: `touch tool-out.txt` |
 * | RUNTOOL SLEEPTOOL | the command sleeps 8 s first |
 * | RUNTOOL ESCALATE | the command asks for approval where the tool knows how (codex) |
 * | ASKONE, ASKSEVERAL, ASKPAGES | the questions of `modelQuestions`, of a CLI that has a tool for them (claude) |
 *
 * Times are milliseconds at pace 1.
 */
export interface Speech {
  kind: "speech";
  words: readonly { afterMs: number; text: string }[];
  /** The connection breaks after this many words; null speaks to the end. */
  cutAfterWords: number | null;
  command: ShellCommand | null;
  /** The skill that it has the CLI open, by its name; for a CLI that gives the model a tool for that. */
  skill: string | null;
  /** What it asks the person. */
  questions?: readonly ModelQuestion[];
  /** The tool of our MCP server that it calls, by its short name. */
  mcp?: { tool: string; input: object };
}

interface ShellCommand {
  command: string;
  escalate: boolean;
}

export type Reply = Speech | { kind: "failure"; status: number };

/** The reply to a turn. `toolAnswered`: the newest item is a tool's result, which ends the turn in words. */
export function planReply(newestUserText: string, toolAnswered: boolean): Reply {
  const directive = lastLine(newestUserText);
  const says = (word: string) => new RegExp(`(^|[^A-Z0-9])${word}($|[^A-Z0-9])`).test(directive);
  const answer = (Object.keys(modelAnswers) as AnswerName[]).find(says);
  if (toolAnswered) return answer ? sayAtOnce(modelAnswers[answer]) : speak({ count: 12, overMs: 400 });
  const failure = /(?:^|[^A-Z0-9])FAIL(\d{3})(?:$|[^A-Z0-9])/.exec(directive)?.[1];
  if (failure !== undefined) return { kind: "failure", status: Number(failure) };
  const asked = (Object.keys(modelQuestions) as (keyof typeof modelQuestions)[]).find(says);
  if (asked) return { ...sayAtOnce("ok"), questions: modelQuestions[asked] };
  const command = says("RUNTOOL") ? shellCommand(says("SLEEPTOOL"), says("ESCALATE")) : null;
  if (answer && !command) return sayAtOnce(modelAnswers[answer]);
  if (answer || says("FAST")) return { ...sayAtOnce("ok"), command };
  if (says("SLOWTURN")) return { ...speak({ count: 60, overMs: 12_000 }), command };
  if (says("MEDIUMTURN")) return { ...speak({ count: 100, overMs: 5000 }), command };
  if (says("LONGTURN")) return { ...speak({ count: 640, overMs: 9000 }), command };
  if (says("SILENT")) return { ...speak({ count: 20, overMs: 500, silentMs: 9000 }), command };
  if (says("CUTSTREAM")) return { ...speak({ count: 40, overMs: 1000 }), cutAfterWords: 15, command };
  return { ...speak({ count: 50, overMs: 2000, silentMs: 400 }), command };
}

/** In the form of the tool `AskUserQuestion` of Claude Code. */
interface ModelQuestion {
  question: string;
  header: string;
  multiSelect: boolean;
  options: readonly { label: string; description: string }[];
}

const colour: ModelQuestion = {
  question: "Which colour shall the door have?",
  header: "Colour",
  multiSelect: false,
  options: [
    { label: "Red", description: "warm, seen from afar" },
    { label: "Blue", description: "cold" },
  ],
};
const fruits: ModelQuestion = {
  question: "Which fruits do we buy?",
  header: "Fruit",
  multiSelect: true,
  options: [
    { label: "Apple", description: "from the orchard" },
    { label: "Pear", description: "from the market" },
    { label: "Plum", description: "dried" },
  ],
};

const modelQuestions = {
  ASKONE: [colour],
  ASKSEVERAL: [fruits],
  ASKPAGES: [fruits, colour],
} as const satisfies Record<string, readonly ModelQuestion[]>;

/** A reply of one piece without delay, as side requests want it. */
export function sayAtOnce(text: string): Speech {
  return { kind: "speech", words: [{ afterMs: 0, text }], cutAfterWords: null, command: null, skill: null };
}

/** The whole text of a reply, as the last event of some protocols repeats it. */
export function spokenText(speech: Speech): string {
  return speech.words.map((word) => word.text).join("");
}

/** A line break follows them: Claude Code 2.1.150 shows an answer by whole lines. */
const firstLineWords = 8;

function speak(plan: { count: number; overMs: number; silentMs?: number }): Speech {
  const gapMs = plan.overMs / plan.count;
  const words = Array.from({ length: plan.count }, (_, index) => ({
    afterMs: index === 0 ? (plan.silentMs ?? gapMs) : gapMs,
    text: `${index === 0 ? "" : index === firstLineWords ? "\n" : " "}${wordAt(index)}`,
  }));
  return { kind: "speech", words, cutAfterWords: null, command: null, skill: null };
}

function shellCommand(sleeps: boolean, escalate: boolean): ShellCommand {
  return { command: sleeps ? "sleep 8 && touch tool-out.txt" : "touch tool-out.txt", escalate };
}

function lastLine(text: string): string {
  return (
    text
      .trimEnd()
      .split(/\r\n|\r|\n/)
      .at(-1) ?? ""
  );
}

/** Each round through the words takes them in another order: gemini stops a model that repeats itself. */
function wordAt(index: number): string {
  const round = Math.floor(index / vocabulary.length);
  const stride = 1 + (round % (vocabulary.length - 1));
  return vocabulary[((index + round) * stride) % vocabulary.length] ?? "";
}

// Plain words without glyphs or markup: a screen detector must not find its markers in the answer by chance.
// A prime number of them, so that every stride meets them all.
const vocabulary = (
  "the river carries small stones down to the plain where farmers wait for rain and count the days until " +
  "the first green leaves open above the dark soil again"
).split(" ");
