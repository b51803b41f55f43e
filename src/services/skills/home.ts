import { isAbsolute, join } from "node:path";
import { ServiceError } from "../../system/errors.ts";

/** Tools whose skills we install; `universal` is the folder that several of them read. */
export const skillTools = ["claude", "codex", "gemini", "opencode", "kimi", "copilot", "universal"] as const;
export type SkillTool = (typeof skillTools)[number];

/** Where a person and a session are, as absolute paths. */
export interface HomeFacts {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  home: string;
}

interface ToolHome {
  /** The variable by which the tool is given another home. */
  variable: string | null;
  /** What the variable names stands for the person's whole home. */
  wholeHome?: true;
  /** Its folder in a project. */
  folder: string;
  /** Its folder in the person's home, where it is not named like that in a project. */
  ofPerson?: string;
  /** Folders of others that it reads too, in a project and in the person's home. */
  also: readonly string[];
}

const shared = ".agents";

/** Measured with the versions of the lab; kimi and copilot by their documentation. */
const homes: Readonly<Record<Exclude<SkillTool, "universal">, ToolHome>> = {
  claude: { variable: "CLAUDE_CONFIG_DIR", folder: ".claude", also: [] },
  codex: { variable: "CODEX_HOME", folder: ".codex", also: [shared] },
  gemini: { variable: "GEMINI_CLI_HOME", wholeHome: true, folder: ".gemini", also: [shared] },
  opencode: {
    variable: "OPENCODE_CONFIG_DIR",
    folder: ".opencode",
    ofPerson: ".config/opencode",
    also: [".opencode", ".claude", shared],
  },
  kimi: { variable: "KIMI_CODE_HOME", folder: ".kimi-code", also: [shared] },
  copilot: { variable: "COPILOT_HOME", folder: ".github", ofPerson: ".copilot", also: [shared] },
};

/**
 * The folder that holds the `skills` folder of a tool: the one that was named, else the tool's own variable, else its
 * folder in `cwd`; for `universal` `.agents` of the person. Throws `invalid_request` for a variable that is not an
 * absolute path. Source: spec/mailbox-agui.md D.
 */
export function skillHome(tool: SkillTool, facts: HomeFacts & { named: string | null }): string {
  if (facts.named !== null) return facts.named;
  if (tool === "universal") return join(facts.home, shared);
  const { variable, wholeHome = false, folder } = homes[tool];
  const value = variable === null ? undefined : facts.env[variable];
  if (value === undefined || value === "") return join(facts.cwd, folder);
  if (isAbsolute(value)) return wholeHome ? join(value, folder) : value;
  throw new ServiceError("invalid_request", `${variable} must be an absolute path, not "${value}"`);
}

/**
 * Every folder whose `skills` a tool reads when it runs in `cwd`, each once: its home first. A tool that we know
 * nothing of is taken to read its own dot-folder and the shared one. Never throws: a variable that is no absolute path
 * names nothing.
 */
export function readHomes(tool: string, { env, cwd, home }: HomeFacts): string[] {
  if (tool === "universal") return [join(home, shared)];
  const known = Object.hasOwn(homes, tool) ? homes[tool as keyof typeof homes] : null;
  const { variable, wholeHome = false, folder, ofPerson = folder, also } = known ?? unknownHome(tool);
  const value = variable === null ? undefined : env[variable];
  const chosen = value !== undefined && isAbsolute(value) ? value : null;
  const person = wholeHome && chosen !== null ? chosen : home;
  const own = wholeHome || chosen === null ? join(person, ofPerson) : chosen;
  const others = also.flatMap((name) => [join(person, name), join(cwd, name)]);
  return [...new Set([own, join(cwd, folder), ...others])];
}

/** The folders of a tool alone, in the person's home and in the project: where its skills are looked for by default. */
export function ownHomes(tool: SkillTool, facts: HomeFacts): string[] {
  return readHomes(tool, facts).slice(0, 2);
}

const unknownHome = (tool: string): ToolHome => ({ variable: null, folder: `.${tool}`, also: [shared] });
