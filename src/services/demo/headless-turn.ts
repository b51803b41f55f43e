import { assertNever } from "../../system/errors.ts";

/** A conversation of the scripted agent, as its file holds it. */
export interface HeadlessSession {
  session_id: string;
  /** Turns begun. */
  turns: number;
  remembered: string[];
}

/**
 * One line of the stream: `session {session_id, model, effort}`, `piece {text}` of an answer, `answer {text}`
 * whole, `thought {text}`, `action {action_id, name, arguments}`, `action_done {action_id, status, output}`,
 * and last `end {status, error?, usage?}`.
 */
type HeadlessRecord = { type: string } & Record<string, unknown>;

export type HeadlessStep =
  | { kind: "record"; record: HeadlessRecord }
  | { kind: "wait"; ms: number }
  | { kind: "warning"; text: string }
  /** Over ACP: asks before it does this; a refusal ends the work. */
  | { kind: "ask"; what: string }
  /** The conversation is worth keeping from now on. */
  | { kind: "save"; session: HeadlessSession }
  /** What a fixture of the tests does in between. */
  | { kind: "act"; act(): Promise<void> | void };

export interface HeadlessPlan {
  steps: HeadlessStep[];
  exitCode: number;
}

export interface HeadlessFacts {
  prompt: string;
  session: HeadlessSession;
  model: string | null;
  effort: string | null;
}

/**
 * What the scripted agent does with a prompt, as its last lines direct it (see `parseHeadlessPrompt`).
 * `session`: the conversation with this turn counted in. A prompt that says `remember X` is remembered once
 * the turn succeeds; `recall` is answered with everything remembered.
 */
export function planHeadlessTurn(facts: HeadlessFacts): HeadlessPlan {
  const { session, model, effort } = facts;
  const { said, wishes } = parseHeadlessPrompt(facts.prompt);
  const { answer, remembered } = wishes.echo
    ? { answer: said, remembered: session.remembered }
    : answerTo(said, session.remembered);
  const { session_id } = session;
  return {
    steps: [
      { kind: "record", record: { type: "session", session_id, model, effort } },
      ...wishes.warnings.map((text) => ({ kind: "warning", text }) as const),
      ...workSteps(wishes),
      ...pieceSteps(answer, wishes.answerMs),
      ...endSteps(wishes, answer, { ...session, remembered }),
    ],
    exitCode: exitCodeOf(wishes),
  };
}

function workSteps({ silentMs, thought, tools, asks }: HeadlessWishes): HeadlessStep[] {
  return [
    ...asks.map((what) => ({ kind: "ask", what }) as const),
    ...(silentMs === 0 ? [] : [{ kind: "wait", ms: silentMs } as const]),
    ...(thought === null ? [] : [record("thought", { text: thought })]),
    ...tools.flatMap((name, index) => [
      record("action", { action_id: `action_${index + 1}`, name, arguments: { target: "." } }),
      record("action_done", { action_id: `action_${index + 1}`, status: "success", output: `${name} done` }),
    ]),
  ];
}

function pieceSteps(answer: string, answerMs: number): HeadlessStep[] {
  const pieces = answer.match(/\S+\s*/g) ?? [];
  const ms = answerMs / Math.max(1, pieces.length);
  return pieces.flatMap((text) => [
    ...(ms === 0 ? [] : [{ kind: "wait", ms } as const]),
    record("piece", { text }),
  ]);
}

function endSteps(wishes: HeadlessWishes, answer: string, session: HeadlessSession): HeadlessStep[] {
  const { ending } = wishes;
  const usage = wishes.usage === null ? {} : { usage: wishes.usage };
  switch (ending.kind) {
    case "success":
      return [
        record("answer", { text: answer }),
        { kind: "save", session },
        record("end", { status: "success", ...usage }),
      ];
    case "error":
      return [record("end", { status: "error", error: ending.text, ...usage })];
    case "exit":
      return [];
    default:
      return assertNever(ending);
  }
}

function exitCodeOf({ ending }: HeadlessWishes): number {
  if (ending.kind === "exit") return ending.code;
  return ending.kind === "error" ? 1 : 0;
}

function answerTo(said: string, remembered: string[]): { answer: string; remembered: string[] } {
  const fact = /^remember (.+)$/im.exec(said)?.[1];
  if (fact !== undefined) return { answer: `I will remember ${fact}`, remembered: [...remembered, fact] };
  if (!/^recall\b/im.test(said))
    return { answer: said === "" ? "ok" : `You said: ${firstLine(said)}`, remembered };
  const answer = remembered.length === 0 ? "I remember nothing" : `I remember ${remembered.join("; ")}`;
  return { answer, remembered };
}

function firstLine(text: string): string {
  return [...(text.split("\n")[0] ?? "")].slice(0, 200).join("");
}

function record(type: string, fields: Record<string, unknown>): HeadlessStep {
  return { kind: "record", record: { type, ...fields } };
}

/** What the last lines of a prompt ask of a headless turn. Durations are milliseconds before `--speed`. */
interface HeadlessWishes {
  answerMs: number;
  silentMs: number;
  thought: string | null;
  /** Names of the tools that it pretends to use, in order. */
  tools: string[];
  warnings: string[];
  /** What it asks permission for, in order; over ACP only. */
  asks: string[];
  /** The answer is what was said, as it was said. */
  echo: boolean;
  usage: { input_tokens: number; output_tokens: number } | null;
  ending: HeadlessEnding;
}

type HeadlessEnding =
  | { kind: "success" }
  | { kind: "error"; text: string }
  /** Without a terminal event. */
  | { kind: "exit"; code: number };

interface Words {
  rest: string;
  numbers: number[];
}

type Directive = (words: Words, soFar: HeadlessWishes) => Partial<HeadlessWishes> | null;

const fail: Directive = ({ rest }) => ({
  ending: { kind: "error", text: rest || "the scripted turn had to fail" },
});

const directives: Readonly<Record<string, Directive>> = {
  FAST: ({ rest }) => (rest === "" ? {} : null),
  SLOW: ({ numbers: [ms] }) => (ms === undefined ? null : { answerMs: ms }),
  SILENT: ({ numbers: [ms] }) => (ms === undefined ? null : { silentMs: ms }),
  THINK: ({ rest }) => ({ thought: rest || "thinking" }),
  TOOL: ({ rest }, { tools }) => ({ tools: [...tools, rest || "look"] }),
  STDERR: ({ rest }, { warnings }) => ({ warnings: [...warnings, rest || "warning"] }),
  ASK: ({ rest }, { asks }) => ({ asks: [...asks, rest || "touch proof"] }),
  ECHO: ({ rest }) => (rest === "" ? { echo: true } : null),
  USAGE: ({ numbers: [input, output] }) =>
    input === undefined || output === undefined
      ? null
      : { usage: { input_tokens: input, output_tokens: output } },
  ERROR: fail,
  FAIL: fail,
  EXIT: ({ numbers: [code = 0] }) => ({ ending: { kind: "exit", code: code & 255 } }),
  CRASH: () => ({ ending: { kind: "exit", code: 3 } }),
};

/**
 * Reads the directives that end a prompt, one a line: `FAST`, `SLOW <ms>`, `SILENT <ms>`, `THINK [text]`,
 * `TOOL [name]`, `ASK [what]`, `STDERR [text]`, `ECHO`, `USAGE <input> <output>`, `ERROR [text]` (also
 * `FAIL`), `EXIT [code]`, `CRASH`. `said`: the lines before them.
 */
export function parseHeadlessPrompt(prompt: string): { said: string; wishes: HeadlessWishes } {
  const lines = prompt.trimEnd().split(/\r\n|\r|\n/);
  const first = lines.findLastIndex((line) => readDirective(line, noWishes) === null) + 1;
  let wishes = noWishes;
  for (const line of lines.slice(first)) wishes = { ...wishes, ...readDirective(line, wishes) };
  return { said: lines.slice(0, first).join("\n").trim(), wishes };
}

const noWishes: HeadlessWishes = {
  answerMs: 0,
  silentMs: 0,
  thought: null,
  tools: [],
  warnings: [],
  asks: [],
  echo: false,
  usage: null,
  ending: { kind: "success" },
};

/** What one line changes, or null when it is no directive. */
function readDirective(line: string, soFar: HeadlessWishes): Partial<HeadlessWishes> | null {
  const [, word = "", rest = ""] = /^([A-Z]+)(?:\s+(.*))?$/.exec(line.trim()) ?? [];
  return directives[word]?.({ rest, numbers: toNumbers(rest) }, soFar) ?? null;
}

function toNumbers(text: string): number[] {
  return text
    .split(/\s+/)
    .filter((word) => /^\d{1,9}$/.test(word))
    .map(Number);
}
