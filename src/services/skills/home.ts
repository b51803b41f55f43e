import { isAbsolute, join } from "node:path";
import { ServiceError } from "../../system/errors.ts";

/** Tools whose skills we install; `universal` is the folder that several of them read. */
export const skillTools = ["claude", "codex", "gemini", "opencode", "kimi", "copilot", "universal"] as const;
export type SkillTool = (typeof skillTools)[number];

/** The variable by which a tool is given another home, and its folder in a project. */
const homes: Record<Exclude<SkillTool, "universal">, { variable: string | null; folder: string }> = {
  claude: { variable: "CLAUDE_CONFIG_DIR", folder: ".claude" },
  codex: { variable: "CODEX_HOME", folder: ".codex" },
  gemini: { variable: null, folder: ".gemini" },
  opencode: { variable: "OPENCODE_CONFIG_DIR", folder: ".opencode" },
  kimi: { variable: "KIMI_CODE_HOME", folder: ".kimi-code" },
  copilot: { variable: "COPILOT_HOME", folder: ".github" },
};

/**
 * The folder that holds the `skills` folder of a tool: the one that was named, else the tool's own variable, else its
 * folder in `cwd`; for `universal` `.agents` of the person. Throws `invalid_request` for a variable that is not an
 * absolute path. Source: spec/mailbox-agui.md D.
 */
export function skillHome(
  tool: SkillTool,
  facts: {
    named: string | null;
    env: Readonly<Record<string, string | undefined>>;
    cwd: string;
    home: string;
  },
): string {
  if (facts.named !== null) return facts.named;
  if (tool === "universal") return join(facts.home, ".agents");
  const { variable, folder } = homes[tool];
  const value = variable === null ? undefined : facts.env[variable];
  if (value === undefined || value === "") return join(facts.cwd, folder);
  if (isAbsolute(value)) return value;
  throw new ServiceError("invalid_request", `${variable} must be an absolute path, not "${value}"`);
}
