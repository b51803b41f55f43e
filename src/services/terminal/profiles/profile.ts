import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import {
  type DialogRule,
  type Marker,
  type ToolProfile,
  ToolProfileFile,
} from "../../../protocol/tool-profile.ts";
import type { ProcessFacts } from "../../../system/processes.ts";
import { builtInProfiles } from "./built-in.ts";
import { compilePattern, type Pattern } from "./profile-pattern.ts";

export interface CompiledMarker extends Omit<Marker, "pattern"> {
  pattern: Pattern;
}

type DialogPatterns =
  | "question"
  | "option"
  | "header"
  | "checkbox"
  | "button"
  | "startup_answer"
  | "unattended_answer";

export interface CompiledDialog
  extends Omit<DialogRule, DialogPatterns | "end">,
    Record<DialogPatterns, Pattern | null> {
  end: Pattern;
}

/** A profile with its patterns ready to run. `data` is the profile as written. */
export interface CompiledProfile {
  data: ToolProfile;
  title: { idle: Pattern[]; busy: Pattern[]; decision: Pattern[] };
  banner: Pattern | null;
  composer: {
    glyph: Pattern;
    shellGlyph: Pattern | null;
    upper: Pattern | null;
    scrolled: Pattern | null;
    lower: Pattern | null;
    model: Pattern | null;
    above: Pattern | null;
    chromeAbove: Pattern[];
    placeholders: { text: Pattern | null; style: "dim" | "muted" | "any" }[];
  };
  popups: { draft: Pattern; where: "above" | "inside" | "below"; row: Pattern; opens_within_ms?: number }[];
  userCell: { pattern: Pattern; style: Marker["style"] } | null;
  answer: Pattern | null;
  turnEnd: { pattern: Pattern; style: Marker["style"] }[];
  busy: CompiledMarker[];
  notReady: CompiledMarker[];
  modes: CompiledMarker[];
  pending: CompiledMarker[];
  interrupted: CompiledMarker[];
  failures: CompiledMarker[];
  errors: CompiledMarker[];
  parked: CompiledMarker[];
  background: CompiledMarker[];
  degraded: { type: string; pattern: Pattern }[];
  dialogs: CompiledDialog[];
  blankAfter: Pattern | null;
}

/** A profile that cannot be used; the message names the tool, the field and what is wrong. */
class ProfileError extends Error {
  override readonly name = "ProfileError";
}

/** Throws ProfileError when a pattern is not usable (see `compilePattern`). */
export function compileProfile(data: ToolProfile): CompiledProfile {
  // Ours are proved on recorded screens; others are not trusted with the time they take.
  const own = builtInProfiles.includes(data);
  const compile = (field: string, pattern: string): Pattern => {
    const compiled = own ? { pattern: new RegExp(pattern, "u") } : compilePattern(pattern);
    if ("problem" in compiled) {
      throw new ProfileError(`profile of ${data.tool}: ${field}: ${compiled.problem}: ${pattern}`);
    }
    return compiled.pattern;
  };
  const maybe = (field: string, pattern: string | null) =>
    pattern === null ? null : compile(field, pattern);
  const all = (field: string, patterns: readonly string[]) =>
    patterns.map((pattern, index) => compile(`${field}[${index}]`, pattern));
  const markers = (field: string, list: readonly Marker[]): CompiledMarker[] =>
    list.map((marker) => ({ ...marker, pattern: compile(`${field}.${marker.id}`, marker.pattern) }));
  const { composer, turn } = data;
  const edges =
    composer.strategy === "framed"
      ? { upper: composer.upper, scrolled: composer.scrolled ?? null, lower: composer.lower }
      : { upper: null, scrolled: null, lower: composer.strategy === "block" ? composer.end : null };
  return {
    data,
    title: {
      idle: all("title.idle", data.title.idle),
      busy: all("title.busy", data.title.busy),
      decision: all("title.decision", data.title.decision),
    },
    banner: maybe("banner", data.banner),
    composer: {
      glyph: compile("composer.glyph", composer.glyph),
      shellGlyph: maybe("composer.shell_glyph", composer.shell_glyph),
      upper: maybe("composer.upper", edges.upper),
      scrolled: maybe("composer.scrolled", edges.scrolled),
      lower: maybe("composer.lower", edges.lower),
      model: maybe("composer.model", composer.strategy === "block" ? (composer.model ?? null) : null),
      above: maybe("composer.above", composer.above),
      chromeAbove: all("composer.chrome_above", composer.chrome_above),
      placeholders: composer.placeholders.map((one) => ({
        ...one,
        text: maybe("composer.placeholders", one.text),
      })),
    },
    popups: data.popups.map((popup) => ({
      ...popup,
      draft: compile("popups.draft", popup.draft),
      row: compile("popups.row", popup.row),
    })),
    userCell: turn.user_cell && {
      pattern: compile("turn.user_cell", turn.user_cell.pattern),
      style: turn.user_cell.style,
    },
    answer: maybe("turn.answer", turn.answer ?? null),
    turnEnd: turn.end.map((end, index) => {
      const { pattern, style } = typeof end === "string" ? { pattern: end, style: undefined } : end;
      return { pattern: compile(`turn.end[${index}]`, pattern), style };
    }),
    busy: markers("busy", data.busy),
    notReady: markers("not_ready", data.not_ready),
    modes: markers("modes", data.modes ?? []),
    pending: markers("pending", data.pending),
    interrupted: markers("interrupted", data.interrupted),
    failures: markers("failures", data.failures),
    errors: markers("errors", data.errors),
    parked: markers("parked", data.parked),
    background: markers("background", data.background ?? []),
    degraded: data.degraded_context.map((rule) => ({
      ...rule,
      pattern: compile(`degraded_context.${rule.type}`, rule.pattern),
    })),
    dialogs: data.dialogs.map((dialog) => ({
      ...dialog,
      question: maybe(`dialogs.${dialog.id}.question`, dialog.question),
      end: compile(`dialogs.${dialog.id}.end`, dialog.end),
      option: maybe(`dialogs.${dialog.id}.option`, dialog.option),
      header: maybe(`dialogs.${dialog.id}.header`, dialog.header ?? null),
      checkbox: maybe(`dialogs.${dialog.id}.checkbox`, dialog.checkbox ?? null),
      button: maybe(`dialogs.${dialog.id}.button`, dialog.button ?? null),
      startup_answer: maybe(`dialogs.${dialog.id}.startup_answer`, dialog.startup_answer),
      unattended_answer: maybe(`dialogs.${dialog.id}.unattended_answer`, dialog.unattended_answer ?? null),
    })),
    blankAfter: maybe("submit.blank_after", data.submit.blank_after),
  };
}

function shapeProblem<S extends TSchema>(schema: S, value: unknown): string | null {
  const first = Value.Errors(schema, value).First();
  return first ? `${first.path || "/"}: ${first.message}` : null;
}

/**
 * Reads the override file's text. All profiles are checked and compiled, so that a bad one is refused whole.
 * Throws ProfileError that names the place.
 */
export function parseProfiles(json: string): ToolProfile[] {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new ProfileError(
      `tool profiles: not JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  const problem = shapeProblem(ToolProfileFile, value);
  if (problem) throw new ProfileError(`tool profiles: ${problem}`);
  const { profiles } = value as Static<typeof ToolProfileFile>;
  const seen = new Set<string>();
  for (const profile of profiles) {
    if (seen.has(profile.tool)) throw new ProfileError(`tool profiles: two profiles of ${profile.tool}`);
    seen.add(profile.tool);
    compileProfile(profile);
  }
  return profiles;
}

/** What `parseProfiles` read, or nothing. */
export type ProfileSet = readonly ToolProfile[];

/** The built-in profiles, each replaced by the override of its tool, then the overrides' further tools. */
export function allProfiles(overrides: ProfileSet = []): ToolProfile[] {
  const byTool = new Map([...builtInProfiles, ...overrides].map((profile) => [profile.tool, profile]));
  return [...byTool.values()];
}

/**
 * The compiled profile that tracks `tool`, or null for a tool that nothing describes: its surface reads
 * unknown and it can still be driven with `always`.
 */
export function profileFor(tool: string, overrides: ProfileSet = []): CompiledProfile | null {
  const data = allProfiles(overrides).find((profile) => profile.tool === tool);
  return data ? compileProfile(data) : null;
}

/**
 * Whether `version` is among those that the profile was proved on. A profile without versions claims nothing,
 * and a version that is not known is not held against the tool. Pure.
 */
export function isProvedVersion(profile: CompiledProfile, version: string | null): boolean {
  const proved = profile.data.proved_versions;
  return version === null || proved.length === 0 || proved.includes(version);
}

const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** Programs whose arguments name the program that really runs. */
const interpreters = /^(?:node|nodejs|bun|deno|python[\d.]*|tsx)$/;

const shells = /^-?(?:sh|bash|dash|ksh|zsh)$/;

/** The script that a shell runs: its first argument that is no option. Null for commands given with `-c`. */
function shellScript(options: readonly string[]): string | null {
  const script = options.find((option) => !/^[-+]/.test(option));
  const before = options.slice(0, script === undefined ? undefined : options.indexOf(script));
  return script === undefined || before.some((option) => /^-\w*c/.test(option)) ? null : script;
}

/**
 * Names of the processes of `tree` that are the profile's tool, root first; empty when none is. A script is
 * recognised by any argument of its interpreter, so that `node --flag /x/bin/gemini` is gemini and
 * `vim gemini` is not; a shell's script by being the one it runs, because a shell is given much else.
 */
export function matchProcesses(tree: readonly ProcessFacts[], profile: CompiledProfile): string[] {
  const { commands, scripts, arguments: tokens } = profile.data.process;
  const isTool = ({ command, argv }: ProcessFacts): boolean => {
    if (commands.includes(command)) return true;
    const program = baseName(argv[0] ?? "");
    if (scripts.includes(program)) return true;
    if (argv.slice(1).some((argument) => tokens.includes(argument))) return true;
    if (shells.test(program)) return scripts.includes(baseName(shellScript(argv.slice(1)) ?? ""));
    return (
      interpreters.test(program) && argv.slice(1).some((argument) => scripts.includes(baseName(argument)))
    );
  };
  return tree.filter(isTool).map((process) => process.command);
}
