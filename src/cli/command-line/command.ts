import type { ArgsDef, CommandDef } from "citty";
import type { Advice, Remedy } from "../../protocol/remedy.ts";
import type { AgentSelector } from "../../services/sessions/find.ts";
import type { InputOptions, InputRead } from "../../system/read-input.ts";
import type { NamedAgent } from "./remedies.ts";

/** Values that depend on this machine. */
export type OfferedValues =
  | "agent-names"
  | "running-agents"
  /** They and `@NAME` of those that are in a team's file here. */
  | "running-agents-and-groups"
  | "agent-ids"
  | "addresses"
  /** Numbers of messages in the inbox of who types. */
  | "messages"
  | "request-ids"
  | "tools"
  | "skill-tools";

/** What only some programs offer to a shell. The caller has the flags of the line. */
export interface ProgramOffers {
  /** The groups that `@NAME` may mean where a command is given. */
  groups: (caller: Caller) => Promise<string[]>;
  /** The messages in the inbox of who types. */
  messages: (caller: Caller) => Promise<Candidate[]>;
}

/** A word that completes a command line. */
export interface Candidate {
  /** The whole word, also where a part of it is typed. */
  value: string;
  description: string;
}

/** One flag or positional of a command: citty's own shape, and what we need beyond it. */
export type Flag = {
  description: string;
  /** One letter, for `-x`. */
  alias?: string;
  /** What stands for the value in the help. */
  valueHint?: string;
  /**
   * Values that shells complete. Not a closed set, which is an enum; folders and files go by their value
   * hint.
   */
  offers?: OfferedValues;
  /** Words that shells complete where they are not all that is taken. */
  words?: readonly string[];
  /** Works, but the help does not mention it. */
  hidden?: true;
} & (
  | { type: "boolean" }
  | { type: "string"; required?: true; default?: string; multiple?: true }
  | { type: "enum"; options: readonly string[]; required?: true; default?: string }
  // With `many` it takes all words that are left, joined by blanks; with `verbatim` also those that begin with
  // a dash, but for one `--` before them.
  | { type: "positional"; required?: boolean; many?: true; verbatim?: true }
);
export type Flags = Record<string, Flag>;

type ValueOf<F extends Flag> = F extends { type: "boolean" }
  ? boolean
  : F extends { multiple: true }
    ? string[]
    : F extends { required: true } | { default: string } | { type: "positional"; required?: true }
      ? Word<F>
      : Word<F> | undefined;
type Word<F> = F extends { type: "enum"; options: readonly (infer O extends string)[] } ? O : string;

export type Values<A extends Flags> = { [Name in keyof A]: ValueOf<A[Name]> };

/** The value of a flag that is not given. Pure. */
export function presetOf(flag: Flag): string | boolean | string[] | undefined {
  switch (flag.type) {
    case "boolean":
      return false;
    case "string":
      return flag.multiple ? [] : flag.default;
    case "enum":
      return flag.default;
    case "positional":
      return undefined;
  }
}

type Needed<F extends Flag> = F extends { required: true } | { type: "positional"; required?: true }
  ? true
  : false;
/** Values of which those may be left out that a command line may leave out. */
type GivenValues<A extends Flags> = {
  [Name in keyof A as Needed<A[Name]> extends true ? Name : never]: ValueOf<A[Name]>;
} & {
  [Name in keyof A as Needed<A[Name]> extends true ? never : Name]?: ValueOf<A[Name]> | undefined;
};

/** Puts `text` into a colour, or leaves it as it is. */
export type Paint = (colour: "red" | "green" | "yellow" | "bold", text: string) => string;

/** A whole answer: one JSON document for `--json`, lines for people otherwise. */
export interface Answer {
  json: unknown;
  text: string;
  /** Puts our own colours into `text`, after it was made `visible`. */
  colour?: (text: string, paint: Paint) => string;
  /** Default 0. For an answer that is complete and yet says no, such as a failed check. */
  exitCode?: number;
}

/** The process and its roots, as an operation is called with. */
export interface Caller {
  io: CliIo;
  /** Values of the flags of all groups above, by name. */
  inherited: Readonly<Record<string, string | boolean | string[] | undefined>>;
}

/** Who calls a command. */
export interface CommandCaller extends Caller {
  /** Words that led here, the program's name first. */
  path: readonly string[];
  /** The agent, where a calling command knows it; without it `path` and the flags of the groups name it. */
  whom?: "self" | AgentSelector;
}

/** What a command is called with. */
export interface Invocation<A extends Flags = Flags> extends CommandCaller {
  args: Values<A>;
  /** What follows `--`. */
  rest: readonly string[];
}

/** The streams of the process as a command may use them. */
export interface CliIo {
  env: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  cwd: string;
  home: string;
  stdoutIsTty: boolean;
  /** Size of the terminal on stdout at this moment; 80 x 24 where it is none. */
  readonly columns: number;
  readonly rows: number;
  stderrIsTty: boolean;
  stdinIsTty: boolean;
  /**
   * Resolves once written; rejects when the reader has gone. At a terminal all of it is `visible`, JSON too,
   * which stays the same value.
   */
  writeOut(text: string | Uint8Array): Promise<void>;
  writeError(text: string): Promise<void>;
  /** As it is, for our colours and moves of the cursor: text from others goes through `visible` first. */
  writeScreen(stream: "stdout" | "stderr", text: string): Promise<void>;
  /** Standard input as text, read no further than asked for. */
  readInput(options: InputOptions): Promise<InputRead>;
  /** One line of stdin without its end, for an answer typed at a terminal; null at the end of the input. */
  readLine(): Promise<string | null>;
  /**
   * Aborts on SIGINT and SIGTERM, so that a command can undo what it began. Always the same signal. Once it
   * was asked for, the first Ctrl-C ends nothing by itself: all that takes time must listen. The second one
   * ends the process.
   */
  interrupted(): AbortSignal;
  /** The same, and when nobody reads stdout any more: for a command that does nothing but show. */
  unheard(): AbortSignal;
  /** Whose commands the texts name: `svc` or `svc-mgr`. */
  program: string;
  /** A remedy in the terms of this program. `agent`: as the caller named it. */
  advise(remedy: Remedy, agent?: NamedAgent): Advice;
}

// biome-ignore lint/suspicious/noExplicitAny: citty's own type of a tree of commands with different flags.
export type Command = CommandDef<any>;
export type LazyCommand = () => Promise<Command>;

/** Facts that citty's meta has no room for; `examples` are whole command lines. */
export interface CommandMeta {
  name: string;
  description: string;
  examples: readonly string[];
  hidden?: boolean;
  /** What words after `--` are; without it there may be none. */
  rest?: string;
}

/** What a leaf is made from. */
export interface CommandDeclaration<A extends Flags, R extends Answer | number = Answer | number> {
  name: string;
  description: string;
  examples: readonly string[];
  args?: A;
  rest?: string;
  /** A number is the exit code of a command that wrote its own output. */
  run: (invocation: Invocation<A>) => Promise<R>;
}

/** A leaf of the command tree. */
export type Leaf<A extends Flags, R extends Answer | number> = Command & {
  flags: A;
  /**
   * Does the same for another command, with values in place of words. An error of usage names the help of
   * `caller`.
   */
  call(caller: CommandCaller, given: GivenValues<A>): Promise<R>;
};

export function command<const A extends Flags, R extends Answer | number>(
  declaration: CommandDeclaration<A, R>,
): Leaf<A, R> {
  const { name, description, examples, rest, run } = declaration;
  const meta: CommandMeta = { name, description, examples, ...(rest === undefined ? {} : { rest }) };
  const flags = declaration.args ?? ({} as A);
  return {
    meta,
    args: flags as unknown as ArgsDef,
    run: ({ data }) => run(data as Invocation<A>),
    flags,
    async call({ io, inherited, path, whom }, given: Readonly<Record<string, unknown>>) {
      const values = Object.entries(flags).map(([flag, one]) => [flag, given[flag] ?? presetOf(one)]);
      const args = Object.fromEntries(values) as Values<A>;
      const caller = { io, inherited, path, ...(whom === undefined ? {} : { whom }) };
      return run({ ...caller, args, rest: [] }).catch((error: unknown) => {
        throw error instanceof UsageError ? new UsageError(error.message, path) : error;
      });
    },
  };
}

/** Leaves and groups by the word that calls them. */
export type Commands = Record<string, Command | LazyCommand>;

/** A group: its flags may be anywhere after it. Its commands are loaded when one of them is called. */
export function group(declaration: {
  name: string;
  description: string;
  examples: readonly string[];
  args?: Flags;
  hidden?: boolean;
  subCommands: Commands | (() => Promise<Commands>);
}): Command {
  const { name, description, examples, hidden = false, subCommands } = declaration;
  const meta: CommandMeta = { name, description, examples, hidden };
  return { meta, args: (declaration.args ?? {}) as unknown as ArgsDef, subCommands };
}

/** The leaves of one file by word. The file is loaded when one of them is called. */
export function lazyLeaves<Word extends string>(
  words: readonly Word[],
  load: () => Promise<Readonly<Record<Word, Command>>>,
): Record<Word, LazyCommand> {
  const entries = words.map((word) => [word, async () => (await load())[word]] as const);
  return Object.fromEntries(entries) as Record<Word, LazyCommand>;
}

/** The command line cannot be understood: exit 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** Words of the command whose help is worth a look. */
  readonly path: readonly string[];

  constructor(message: string, path: readonly string[] = []) {
    super(message);
    this.path = path;
  }
}
