import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { type AcpProfile, AcpProfileFile, PermissionPolicyFile } from "../../protocol/acp.ts";
import type { AcpLaunch, PermissionPolicy } from "../../protocol/acp-launch.ts";
import { ServiceError } from "../../system/errors.ts";
import type { LaunchTool } from "./launch-tools.ts";

/** The tool of an ACP profile. `demoCommand`: as in `toLaunchTool`. */
export function toAcpTool(profile: AcpProfile, demoCommand: readonly [string, ...string[]]): LaunchTool {
  const { tool, command, modes, load, env } = profile;
  const [executable = tool, ...args] = command;
  return {
    tool,
    command: tool === demoAcp.tool ? [...demoCommand, ...args] : [executable, ...args],
    installHint: profile.install ?? `Install it as the makers of ${tool} say.`,
    occupies: () => false,
    profile: null,
    homeVariable: profile.home_variable ?? null,
    unattendedArgs: [],
    ownAutoMode: null,
    headless: true,
    acp: { ...(modes ? { modes } : {}), ...(load ? { load } : {}), ...(env ? { env } : {}) },
  };
}

/** The scripted agent that this very program contains; its command is completed by `toAcpTool`. */
const demoAcp: AcpProfile = { tool: "demo-acp", command: ["demo-agent", "--acp"] };

/** Agents whose behaviour over ACP was measured. Source: reference/acp-mcp.md. */
export const acpProfiles: readonly AcpProfile[] = [
  {
    tool: "claude-acp",
    command: ["claude-agent-acp"],
    env: { CLAUDE_CODE_EXECUTABLE: { program: "claude" } },
    home_variable: "CLAUDE_CONFIG_DIR",
    modes: { ask: "default", unattended: "bypassPermissions" },
    install: "Install it with: npm install -g @agentclientprotocol/claude-agent-acp",
  },
  {
    tool: "codex-acp",
    command: ["codex-acp"],
    env: { CODEX_PATH: { program: "codex" } },
    home_variable: "CODEX_HOME",
    modes: { ask: "workspace-write", unattended: "agent-full-access" },
    install: "Install it with: npm install -g @agentclientprotocol/codex-acp",
  },
  {
    tool: "gemini-acp",
    command: ["gemini", "--acp"],
    home_variable: "GEMINI_CLI_HOME",
    modes: { unattended: "yolo" },
    // gemini 0.61.0 overwrites a conversation that is loaded within the clock minute in which its file was
    // written.
    load: "next_minute",
    install: "Install it with: npm install -g @google/gemini-cli",
  },
  {
    tool: "opencode-acp",
    command: ["opencode", "acp"],
    install: "Install it with: npm install -g opencode-ai",
  },
  {
    tool: "kimi-acp",
    command: ["kimi", "acp"],
    home_variable: "KIMI_CODE_HOME",
    install: "Install it with: npm install -g @moonshot-ai/kimi-code",
  },
  demoAcp,
];

/**
 * How an agent of this tool is run. Unattended, what no rule of the person's own decides is allowed. Pure.
 */
export function toAcpLaunch(
  { modes, load }: NonNullable<LaunchTool["acp"]>,
  { policy, unattended }: { policy: PermissionPolicy; unattended: boolean },
): AcpLaunch {
  return {
    mode: (unattended ? modes?.unattended : modes?.ask) ?? null,
    policy: [...policy, ...(unattended ? [{ action: "allow" as const }] : [])],
    ...(load ? { load } : {}),
  };
}

/** The variables of an ACP tool with their values; those of programs that are not there are left out. */
export function acpEnvironment(
  { env = {} }: NonNullable<LaunchTool["acp"]>,
  which: (program: string) => string | null,
): Record<string, string> {
  const values = Object.entries(env).map(
    ([name, value]) => [name, typeof value === "string" ? value : which(value.program)] as const,
  );
  return Object.fromEntries(values.filter((one): one is [string, string] => one[1] !== null));
}

/** The agents of a file of profiles. Throws `invalid_request` with the problem. Pure. */
export function parseAcpProfiles(json: string): readonly AcpProfile[] {
  const { agents } = checked(AcpProfileFile, json);
  const twice = agents.find((one, at) => agents.findIndex(({ tool }) => tool === one.tool) !== at);
  if (twice) throw new ServiceError("invalid_request", `two profiles of ${twice.tool}`);
  return agents;
}

/** The rules of a policy file. Throws as above. Pure. */
export function parsePolicy(json: string): PermissionPolicy {
  return checked(PermissionPolicyFile, json).rules;
}

function checked<S extends TSchema>(schema: S, json: string) {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new ServiceError("invalid_request", "not JSON");
  }
  const first = Value.Errors(schema, value).First();
  if (!first) return Value.Decode(schema, value);
  throw new ServiceError(
    "invalid_request",
    `${first.path.replace(/^\//, "").replaceAll("/", ".") || "it"}: ${first.message}`,
  );
}
