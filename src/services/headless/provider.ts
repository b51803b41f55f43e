import type { CanonicalEvent } from "../../protocol/turns.ts";

/** How one tool is driven without a terminal. Pure: nothing is started or read here. */
export interface HeadlessProvider {
  tool: string;
  /** What to run for one turn. The prompt goes by standard input wherever the tool reads it there. */
  command(turn: ProviderTurn): ProviderCommand;
  /** A fresh parser of one turn's standard output. */
  parser(context: { turnIndex: number }): ProviderParser;
  /** Reasoning presets of a model, lowest first; `off` is the preset of level 0 where the ladder has one. */
  ladder(model: string | null): ReasoningLadder;
}

export interface ProviderTurn {
  prompt: string;
  session: ProviderSession;
  /** What this turn asks for; null, or a null field: the launch's default holds. */
  model: { name: string | null; level: number | null } | null;
  executable: string;
  /** The launch's arguments, unattended flags included. */
  args: readonly string[];
  rolePrompt: string | null;
  workingDirectory: string;
}

export type ProviderSession = { mode: "new" } | { mode: "exact"; id: string } | { mode: "tool_last_or_new" };

export interface ProviderCommand {
  argv: [string, ...string[]];
  /** Written to the tool's standard input, which is then closed; null: closed at once. */
  stdin: string | null;
  /** Added to the environment of the launch. */
  env: Record<string, string>;
  /** True where the tool takes the prompt as an argument only: others on the machine can see it. */
  promptInArguments: boolean;
}

/** Turns the lines of one turn into canonical events, in order. Never throws, whatever the line. */
export interface ProviderParser {
  /** `text`: one line of standard output without its end; `atUtc`: when it was read, RFC 3339. */
  line(text: string, atUtc: string): CanonicalEvent[];
  /** The stream has ended: what the parser still held. Call once, after the last line. */
  end(atUtc: string): CanonicalEvent[];
  /** What is known so far. */
  summary(): TurnSummary;
}

export interface TurnSummary {
  sessionId: string | null;
  /** The tool's own verdict: null when it wrote none. */
  terminal: "success" | "error" | null;
  /** False: the tool has no such verdict in its stream in every case, its exit code stands in for one. */
  writesTerminal: boolean;
  /** The error the tool named, on one line. */
  errorText: string | null;
  /** The final answer, whole. */
  resultText: string | null;
  /** The answer, or else the error, on one line of at most 160 characters. */
  historySummary: string | null;
  usage: TurnUsage | null;
}

/** Tokens as the tool counts them; null: it does not say. */
export interface TurnUsage {
  input_tokens: number | null;
  cached_input_tokens: number | null;
  output_tokens: number | null;
  total_tokens: number | null;
  reasoning_tokens: number | null;
}

export interface ReasoningLadder {
  levels: readonly string[];
  off: string | null;
}
