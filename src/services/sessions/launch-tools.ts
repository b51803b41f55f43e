import type { AcpProfile } from "../../protocol/acp.ts";
import { ServiceError } from "../../system/errors.ts";
import type { ProcessFacts } from "../../system/processes.ts";
import { suggest } from "../../system/similar-word.ts";
import { type CompiledProfile, matchProcesses } from "../terminal/profiles/profile.ts";

/** What a launch must know of a tool. */
export interface LaunchTool {
  tool: string;
  /** Executable (a name for PATH, or a path) and the arguments that always come first. */
  command: readonly [string, ...string[]];
  /** How to get the executable, as a sentence for a person. */
  installHint: string;
  /** True for a process that is this tool's program, and not the shell around it. */
  occupies: (process: ProcessFacts) => boolean;
  /** By which its screen is read; null when nothing describes it. */
  profile: CompiledProfile | null;
  /** Variable that selects another home of the tool, or null when none is known. */
  homeVariable: string | null;
  /** Flags that skip permissions or sandboxes; null when the tool has none to add. */
  unattendedArgs: readonly string[] | null;
  /** The tool's own mode that asks nothing, which is its default; null when it asks by default. */
  ownAutoMode: OwnAutoMode | null;
  /** A turn can be run without a terminal. */
  headless: boolean;
  /** Set for an agent that speaks ACP, which has no terminal at all. */
  acp?: Pick<AcpProfile, "modes" | "load" | "env">;
}

interface OwnAutoMode {
  fromVersion: string;
  /** Arguments that make it ask; the first one in a launch's own arguments is the person's choice. */
  askingArgs: readonly [string, ...string[]];
}

interface LaunchFacts {
  package: string | null;
  homeVariable: string | null;
  unattendedArgs: readonly string[] | null;
  ownAutoMode?: OwnAutoMode;
}

const unknownTool: LaunchFacts = { package: null, homeVariable: null, unattendedArgs: null };

/** Source: spec/coordination.md "Chat sessions, commands". */
const knownTools: Readonly<Record<string, LaunchFacts>> = {
  claude: {
    package: "@anthropic-ai/claude-code",
    homeVariable: "CLAUDE_CONFIG_DIR",
    unattendedArgs: ["--dangerously-skip-permissions"],
    ownAutoMode: { fromVersion: "2.1.300", askingArgs: ["--permission-mode", "default"] },
  },
  codex: {
    package: "@openai/codex",
    homeVariable: "CODEX_HOME",
    unattendedArgs: ['--config=approval_policy="never"', '--config=sandbox_mode="danger-full-access"'],
  },
  gemini: {
    package: "@google/gemini-cli",
    homeVariable: "GEMINI_CLI_HOME",
    unattendedArgs: ["--approval-mode=yolo", "--sandbox=false"],
  },
  opencode: { package: "opencode-ai", homeVariable: null, unattendedArgs: null },
  kimi: { package: "@moonshot-ai/kimi-code", homeVariable: "KIMI_CODE_HOME", unattendedArgs: ["--auto"] },
};

/**
 * The tool of a profile, ready to launch. `demoCommand` starts the scripted agent that this very program
 * contains; the profile's executable stands for every other tool.
 */
export function toLaunchTool(
  profile: CompiledProfile,
  demoCommand: readonly [string, ...string[]],
  hasHeadlessForm: (tool: string) => boolean,
): LaunchTool {
  const { tool, executable } = profile.data;
  const facts = knownTools[tool] ?? unknownTool;
  return {
    tool,
    command: tool === "demo" ? demoCommand : [executable],
    installHint: facts.package
      ? `Install it with: npm install -g ${facts.package}`
      : `Install it as the makers of ${tool} say.`,
    occupies: (process) => matchProcesses([process], profile).length > 0,
    profile,
    homeVariable: facts.homeVariable,
    unattendedArgs: facts.unattendedArgs,
    ownAutoMode: facts.ownAutoMode ?? null,
    headless: hasHeadlessForm(tool),
  };
}

/** The tool named `tool`. Throws `invalid_request` that lists those there are. */
export function chooseTool(tools: readonly LaunchTool[], tool: string): LaunchTool {
  const found = tools.find((one) => one.tool === tool);
  if (found) return found;
  throw noSuchTool(tools, tool);
}

/** For a tool that is none of these; names the nearest of them. */
export function noSuchTool(tools: readonly LaunchTool[], wanted: string): ServiceError {
  const names = tools.map(({ tool }) => tool);
  const near = suggest(wanted, names);
  const known = `known are: ${names.join(", ")}`;
  const advice = near === null ? known : `did you mean "${near}"? ${known}`;
  return new ServiceError("invalid_request", `unknown tool "${wanted}"; ${advice}`);
}
