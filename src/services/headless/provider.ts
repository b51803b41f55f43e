import type { CanonicalEvent } from "../../protocol/turn-files.ts";

/** How one tool is driven without a terminal. Pure: nothing is started or read here. */
export interface HeadlessProvider {
  tool: string;
  /** What to run for one turn. No argument and no variable has the prompt. */
  command(turn: ProviderTurn): ProviderCommand;
  /** A fresh parser of one turn's standard output. */
  parser(context: { turnIndex: number; sessionId?: string }): ProviderParser;
  /** Reasoning presets of a model, lowest first; `off` is the preset of level 0 where the ladder has one. */
  ladder(model: string | null): ReasoningLadder;
  /** Why neither model nor level can be chosen for a turn, as a clause for people; absent where they can. */
  modelRefusal?: string;
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
  /**
   * The path of a file that only this user can read, for a tool that does not read its prompt from standard
   * input.
   */
  promptFile: string;
}

export type ProviderSession = { mode: "new" } | { mode: "exact"; id: string } | { mode: "tool_last_or_new" };

interface ProviderCommand {
  argv: [string, ...string[]];
  /** Written to the tool's standard input, which is then closed; null: closed at once. */
  stdin: string | null;
  /** Added to the environment of the launch. */
  env: Record<string, string>;
  /**
   * What `turn.promptFile` has to hold, for a tool that takes its prompt as an argument only, which others on
   * the machine can see: the argument then names the file. Absent where standard input has the prompt.
   */
  promptFile?: string;
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

interface ReasoningLadder {
  levels: readonly string[];
  off: string | null;
}

type ReasoningChoice = { ok: true; preset: string } | { ok: false; reason: string };

/**
 * The preset of a level: 1 is the lowest, numbers above the ladder saturate to its highest, 0 is off where
 * the ladder has an off. Source: contract 4.2; spec/gateway.md "Reasoning".
 */
export function saturate(level: number, { levels, off }: ReasoningLadder): ReasoningChoice {
  if (!Number.isInteger(level) || level < 0) {
    return { ok: false, reason: "a reasoning level is a whole number, 0 or above" };
  }
  if (level === 0) {
    return off === null
      ? { ok: false, reason: "reasoning cannot be turned off for this tool and model" }
      : { ok: true, preset: off };
  }
  const preset = levels[Math.min(level, levels.length) - 1];
  return preset === undefined
    ? { ok: false, reason: "this tool and model have no reasoning levels" }
    : { ok: true, preset };
}

interface ModelChoice {
  name: string | null;
  level: number | null;
}

/**
 * Why a turn of `provider`, launched with `args`, cannot have this model and level, or null: to be asked at
 * admission. A name that begins with a dash is none, since a tool would read it as a flag.
 */
export function refuseModel(
  provider: Pick<HeadlessProvider, "ladder" | "modelRefusal">,
  { model, args }: { model: ModelChoice; args: readonly string[] },
): string | null {
  if (provider.modelRefusal !== undefined) return provider.modelRefusal;
  if (model.name !== null && !/^[^-\s\p{Cc}][^\p{Cc}]*$/u.test(model.name)) {
    return "model.name: no dash or blank in front, no control characters";
  }
  if (model.level === null) return null;
  const choice = saturate(model.level, provider.ladder(model.name ?? modelIn(args)));
  return choice.ok ? null : choice.reason;
}

/**
 * The model that the arguments of a launch name in any of our tools' ways, the last one; null when none does.
 */
export function modelIn(args: readonly string[]): string | null {
  const named = args.flatMap((arg, index) => {
    const next = args[index + 1] ?? "";
    if (arg === "--model" || arg === "-m") return [next];
    if (arg === "--config" || arg === "-c") return modelSetting.exec(next)?.[1] ?? [];
    return modelFlag.exec(arg)?.[1] ?? [];
  });
  return named.at(-1) || null;
}

const modelSetting = /^model=["']?([^"']*)["']?$/;
const modelFlag = /^(?:--model=|-m=|--config=model=)["']?([^"']*)["']?$/;

/** The tool's own word for the level that a turn asks for; null when it asks for none or there is none. */
export function presetOf(
  provider: Pick<HeadlessProvider, "ladder">,
  { model, args }: { model: ModelChoice | null; args: readonly string[] },
): string | null {
  if (model === null || model.level === null) return null;
  const choice = saturate(model.level, provider.ladder(model.name ?? modelIn(args)));
  return choice.ok ? choice.preset : null;
}

/** The flags that choose a conversation: `exact` precedes its id, `last` is alone, none begins a new one. */
export function sessionFlags(
  { session }: ProviderTurn,
  flags: { exact: string; last: readonly string[] },
): string[] {
  switch (session.mode) {
    case "new":
      return [];
    case "exact":
      return [flags.exact, session.id];
    case "tool_last_or_new":
      return [...flags.last];
  }
}

/** For tools without a flag for the role: it precedes the first prompt of a conversation. */
export function promptWithRole({
  session,
  rolePrompt,
  prompt,
}: Pick<ProviderTurn, "session" | "rolePrompt" | "prompt">): string {
  return rolePrompt === null || session.mode !== "new" ? prompt : `${rolePrompt}\n\n${prompt}`;
}

/** The flag of a model that this turn names. */
export function modelFlags({ model }: ProviderTurn): string[] {
  return model?.name ? ["--model", model.name] : [];
}

/** What to run, and its first arguments: those of the launch. */
export function programOf({ executable, args }: ProviderTurn): [string, ...string[]] {
  return [executable, ...args];
}
