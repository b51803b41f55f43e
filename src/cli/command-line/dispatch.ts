import { renderJson } from "../../protocol/json.ts";
import { type Advise, remedyOf } from "../../protocol/remedy.ts";
import { messageOf, ServiceError, type ServiceErrorCode } from "../../system/errors.ts";
import { tellStorageFault } from "../../system/storage-fault.ts";
import { visible } from "../../system/visible.ts";
import {
  type Answer,
  type CliIo,
  type Command,
  type Flag,
  type Invocation,
  type Paint,
  type ProgramOffers,
  UsageError,
} from "./command.ts";
import { answerShell } from "./completion.ts";
import { painterFor, renderTable } from "./format.ts";
import { childrenOf, everywhere, type Parsed, parseCommandLine, type Station, wordsOf } from "./parse.ts";
import { rewordRefusal, withRemedy } from "./remedies.ts";
import { type ProgramVersion, versionText } from "./version.ts";

/** Exit codes of all our programs. A reader that has gone (broken pipe) is `done`. */
export const exitCodes = { done: 0, refused: 1, usage: 2, unreachable: 3, interrupted: 130 } as const;

/** A command that came to a clear no: what to print on stderr and how to exit. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly exitCode: number;
  /** The document of `--json`. */
  readonly json: unknown;

  constructor(exitCode: number, message: string, json: unknown = { detail: message }) {
    super(message);
    this.exitCode = exitCode;
    this.json = json;
  }
}

/**
 * Runs one command line against the tree under `root` and returns the exit code. Answers go to stdout, all
 * errors to stderr; with `--json` each is one document. `given`: the process, also by whether a document is
 * asked for. `offers`: what shells complete. Never throws.
 */
export async function runProgram(
  root: Command,
  version: () => Promise<ProgramVersion>,
  argv: readonly string[],
  given: CliIo | ((isJson: boolean) => CliIo),
  { offers }: { offers?: ProgramOffers } = {},
): Promise<number> {
  const ioFor = typeof given === "function" ? given : () => given;
  let isJson = asksForJson(argv);
  try {
    if (argv[0] === "complete") return await answerShell(root, argv.slice(1), ioFor(false), offers);
    const parsed = await parseCommandLine(root, argv);
    isJson = parsed.kind === "run" ? parsed.inherited["json"] === true : isJson;
    return await perform(parsed, version, ioFor(isJson));
  } catch (error) {
    if (isBrokenPipe(error)) return exitCodes.done;
    return report(error, isJson, ioFor(isJson)).catch(() => exitCodes.refused);
  }
}

async function perform(parsed: Parsed, version: () => Promise<ProgramVersion>, io: CliIo): Promise<number> {
  switch (parsed.kind) {
    case "help":
      await io.writeScreen(
        "stdout",
        withHeadings(visible(await renderHelp(parsed.chain)), painterFor(io, "stdout")),
      );
      return exitCodes.done;
    case "version": {
      const shown = await version();
      await io.writeOut(parsed.json ? renderJson(shown) : `${versionText(shown)}\n`);
      return exitCodes.done;
    }
    case "run": {
      const leaf = parsed.chain.at(-1)?.command;
      const invocation: Invocation = {
        args: parsed.own as Invocation["args"],
        inherited: parsed.inherited,
        path: wordsOf(parsed.chain),
        rest: parsed.rest,
        io,
      };
      const context = {
        rawArgs: [],
        args: { _: [], ...parsed.own } as never,
        cmd: leaf ?? {},
        data: invocation,
      };
      const answer = (await leaf?.run?.(context)) as Answer | number | undefined;
      if (answer === undefined) return exitCodes.done;
      if (typeof answer === "number") return answer;
      if (parsed.inherited["json"] === true) await io.writeOut(renderJson(answer.json));
      else if (answer.colour === undefined) await io.writeOut(withNewline(answer.text));
      else {
        const text = answer.colour(visible(answer.text), painterFor(io, "stdout"));
        await io.writeScreen("stdout", withNewline(text));
      }
      return answer.exitCode ?? exitCodes.done;
    }
  }
}

async function report(error: unknown, json: boolean, io: CliIo): Promise<number> {
  const { exitCode, document, text } = describeFailure(error, io.advise);
  if (json) await io.writeError(renderJson(document));
  else {
    const paint = painterFor(io, "stderr");
    const clean = io.stderrIsTty ? visible(text) : text;
    await io.writeScreen("stderr", withNewline(clean.replace(/^Error:/, (word) => paint("red", word))));
  }
  return exitCode;
}

/**
 * What a program exits with and prints for a refusal or a fault. `detail`: one sentence or more in its terms,
 * for a text that goes on. Pure.
 */
export function describeFailure(
  error: unknown,
  advise: Advise,
): { exitCode: number; document: unknown; detail: string; text: string } {
  if (error instanceof UsageError) {
    const help = error.path.length > 0 ? `\nSee: ${error.path.join(" ")} --help` : "";
    const document = { error: "usage", detail: error.message };
    return {
      exitCode: exitCodes.usage,
      document,
      detail: error.message,
      text: `Error: ${error.message}${help}`,
    };
  }
  const { exitCode, document, detail } = describeRefusal(error, advise);
  return { exitCode, document, detail, text: `Error: ${detail}` };
}

function describeRefusal(
  error: unknown,
  advise: Advise,
): { exitCode: number; document: unknown; detail: string } {
  if (error instanceof CommandFailure) {
    const detail = rewordRefusal(error.message, error.json, advise);
    return { exitCode: error.exitCode, document: error.json, detail };
  }
  if (error instanceof ServiceError) {
    const detail = withRemedy(error.message, remedyOf(error), advise);
    return {
      exitCode: exitOf(error.reason),
      document: { error: error.reason, ...error.data, detail },
      detail,
    };
  }
  // The path is of the person's own machine and goes to their own terminal.
  const { path } = (error ?? {}) as { path?: unknown };
  const storage = tellStorageFault(error, typeof path === "string" ? path : undefined);
  const detail = storage ?? messageOf(error);
  return {
    exitCode: exitCodes.refused,
    document: { error: storage ? "storage" : "internal", detail },
    detail,
  };
}

function exitOf(reason: ServiceErrorCode): number {
  if (reason === "invalid_request") return exitCodes.usage;
  return reason === "unavailable" || reason === "transport_failed"
    ? exitCodes.unreachable
    : exitCodes.refused;
}

function withHeadings(help: string, paint: Paint): string {
  return help.replace(/^[A-Z][A-Za-z ]*:$/gm, (heading) => paint("bold", heading));
}

/** The command line may be the very thing that could not be understood. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return (end < 0 ? argv : argv.slice(0, end)).includes("--json");
}

function isBrokenPipe(error: unknown): boolean {
  return (error as { code?: string } | null)?.code === "EPIPE";
}

function withNewline(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

/** The help of the last command of `chain`: what it does, how it is called, its flags, an example. */
export async function renderHelp(chain: readonly Station[]): Promise<string> {
  const here = chain.at(-1);
  if (!here) return "";
  const children = (await childrenOf(here.command)).filter((child) => !child.meta.hidden);
  const own = Object.entries(here.flags);
  const positionals = own.filter(([, flag]) => flag.type === "positional");
  const options = own.filter(([, flag]) => flag.type !== "positional");
  const above = chain.slice(0, -1).flatMap((station) => Object.entries(station.flags));
  const sections = [
    here.meta.description,
    `Usage:\n  ${usageLine(chain, positionals, children.length > 0)}`,
    listing(
      "Commands",
      children.map((child) => [child.word, child.meta.description]),
    ),
    listing(
      "Arguments",
      positionals.map(([name, flag]) => [`<${name}>`, flag.description]),
    ),
    listing("Options", options.flatMap(flagRow)),
    listing("Options of every command", [...above, ...Object.entries(everywhere)].flatMap(flagRow)),
    here.meta.examples.length > 0
      ? `Examples:\n${here.meta.examples.map((line) => `  ${exampleOf(chain, line)}`).join("\n")}`
      : "",
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

/** The examples of a command name `svc-mgr`; `svc` runs the same command line under its own name. */
function exampleOf(chain: readonly Station[], line: string): string {
  return chain[0]?.word === "svc" ? line.replace(/^svc-mgr /, "svc ") : line;
}

function usageLine(
  chain: readonly Station[],
  positionals: readonly [string, Flag][],
  isGroup: boolean,
): string {
  const { rest } = chain.at(-1)?.meta ?? {};
  const words = positionals.map(([name, flag]) =>
    flag.type === "positional" && flag.required === false ? `[<${name}>]` : `<${name}>`,
  );
  const isFlagsFirst = positionals.some(([, flag]) => flag.type === "positional" && flag.verbatim);
  return [
    ...wordsOf(chain),
    ...(isGroup ? ["<command>"] : []),
    ...(isFlagsFirst ? ["[options]", ...words] : [...words, "[options]"]),
    ...(rest === undefined ? [] : [`[-- ${rest}]`]),
  ].join(" ");
}

function flagRow([name, flag]: [string, Flag]): [string, string][] {
  if (flag.hidden) return [];
  const short = flag.alias ? `-${flag.alias}, ` : "";
  const value =
    flag.type === "enum"
      ? ` ${flag.options.join("|")}`
      : flag.type === "string"
        ? ` ${hint(name, flag)}`
        : "";
  return [[`${short}--${name}${value}`, notes(flag)]];
}

function hint(name: string, flag: Flag): string {
  return flag.valueHint ?? name.toUpperCase().replaceAll("-", "_");
}

function notes(flag: Flag): string {
  if (flag.type === "boolean" || flag.type === "positional") return flag.description;
  if (flag.required) return `${flag.description} (required)`;
  if (flag.type === "string" && flag.multiple) return `${flag.description} (may be repeated)`;
  return flag.default === undefined ? flag.description : `${flag.description} (default ${flag.default})`;
}

function listing(title: string, rows: readonly (readonly [string, string])[]): string {
  if (rows.length === 0) return "";
  const [first, ...others] = rows.map(([left, right]) => [`  ${left}`, right]);
  return `${title}:\n${renderTable(first ?? [], others)}`;
}
