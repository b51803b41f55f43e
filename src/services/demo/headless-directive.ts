/** What the last lines of a prompt ask of a headless turn. Durations are milliseconds before `--speed`. */
export interface HeadlessWishes {
  answerMs: number;
  silentMs: number;
  thought: string | null;
  /** Names of the tools that it pretends to use, in order. */
  tools: string[];
  warnings: string[];
  /** An extra answer on one line of about this many bytes. */
  bigBytes: number | null;
  invalidText: boolean;
  usage: { input_tokens: number; output_tokens: number } | null;
  /** A process of its own that it starts and leaves; a stubborn one ignores SIGINT and SIGTERM. */
  child: "ordinary" | "stubborn" | null;
  ending: HeadlessEnding;
}

export type HeadlessEnding =
  | { kind: "success" }
  | { kind: "error"; text: string }
  /** Without a terminal event. */
  | { kind: "exit"; code: number }
  | { kind: "kill" }
  /** In the middle of a line, with exit code 0. */
  | { kind: "cut" }
  | { kind: "hang"; ignores: IgnoredSignal[] };

export type IgnoredSignal = "SIGINT" | "SIGTERM";

interface Words {
  rest: string;
  numbers: number[];
}

type Directive = (words: Words, soFar: HeadlessWishes) => Partial<HeadlessWishes> | null;

const fail: Directive = ({ rest }) => ({
  ending: { kind: "error", text: rest || "the scripted turn was told to fail" },
});

const directives: Readonly<Record<string, Directive>> = {
  FAST: ({ rest }) => (rest === "" ? {} : null),
  SLOW: ({ numbers: [ms] }) => (ms === undefined ? null : { answerMs: ms }),
  SILENT: ({ numbers: [ms] }) => (ms === undefined ? null : { silentMs: ms }),
  THINK: ({ rest }) => ({ thought: rest || "thinking" }),
  TOOL: ({ rest }, { tools }) => ({ tools: [...tools, rest || "look"] }),
  STDERR: ({ rest }, { warnings }) => ({ warnings: [...warnings, rest || "warning"] }),
  BIG: ({ numbers: [bytes] }) => (bytes === undefined ? null : { bigBytes: bytes }),
  INVALID: () => ({ invalidText: true }),
  USAGE: ({ numbers: [input, output] }) =>
    input === undefined || output === undefined
      ? null
      : { usage: { input_tokens: input, output_tokens: output } },
  CHILD: ({ rest }) => ({ child: rest === "STUBBORN" ? "stubborn" : "ordinary" }),
  ERROR: fail,
  FAIL: fail,
  EXIT: ({ numbers: [code = 0] }) => ({ ending: { kind: "exit", code: code & 255 } }),
  CRASH: () => ({ ending: { kind: "exit", code: 3 } }),
  KILL: () => ({ ending: { kind: "kill" } }),
  CUT: () => ({ ending: { kind: "cut" } }),
  HANG: ({ rest }) => ({
    ending: { kind: "hang", ignores: (["SIGINT", "SIGTERM"] as const).filter((name) => rest.includes(name)) },
  }),
};

/**
 * Reads the directives that end a prompt, one a line: `FAST`, `SLOW <ms>`, `SILENT <ms>`, `THINK [text]`,
 * `TOOL [name]`, `STDERR [text]`, `BIG <bytes>`, `INVALID`, `USAGE <input> <output>`, `CHILD [STUBBORN]`,
 * `ERROR [text]` (also `FAIL`), `EXIT [code]`, `CRASH`, `KILL`, `CUT`, `HANG [SIGINT] [SIGTERM]` with the signals
 * that it ignores. `said`: the lines before them.
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
  bigBytes: null,
  invalidText: false,
  usage: null,
  child: null,
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
