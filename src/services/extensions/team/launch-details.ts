import type { TeamAgent } from "../../../protocol/team-file.ts";

/**
 * What a person decides about when an agent of the file is launched. Without values of variables, which may
 * be secrets. Fields that the file leaves out are null, false or empty.
 */
export interface LaunchDetails {
  tool: string;
  args: readonly string[];
  headless: boolean;
  model: string | null;
  mailbox: boolean;
  unattended: boolean;
  worktree: boolean;
  /** Absolute, where the file names one. */
  workdir: string | null;
  /** Where it really is, if that is not in the folder of the file. */
  workdir_outside: string | null;
  role_file: string | null;
  env_file: string | null;
  /** Names of its variables, also of those in its `env_file`. */
  env: readonly string[];
  /** Those of them that choose which code runs. */
  code_env: readonly string[];
  /** Those of them that choose which server gets its requests, or which certificates count. */
  server_env: readonly string[];
  /** Those of them that choose what the tool may do without asking. */
  permission_env: readonly string[];
  /** Those of `args` that change what the tool may do without asking, with their values. */
  permission_args: readonly string[];
  /** The others of `args` that are not known to choose neither code nor access. */
  unproved_args: readonly string[];
}

/** `variables`: all of the agent; `workdir`: where it works; `outside`: as `workdir_outside`. Pure. */
export function toLaunchDetails(
  agent: TeamAgent,
  {
    variables,
    workdir,
    outside,
  }: { variables: Readonly<Record<string, string>>; workdir: string; outside: string | null },
): LaunchDetails {
  const names = Object.keys(variables).sort();
  const args = sortArguments(agent.tool, agent.args ?? []);
  return {
    tool: agent.tool,
    args: agent.args ?? [],
    headless: agent.headless === true,
    model: agent.model ?? null,
    mailbox: agent.mailbox === true,
    unattended: agent.unattended === true,
    worktree: agent.worktree === true,
    workdir: agent.workdir === undefined ? null : workdir,
    workdir_outside: outside,
    role_file: agent.role_file ?? null,
    env_file: agent.env_file ?? null,
    env: names,
    code_env: names.filter((name) => choosesCode(name, variables)),
    server_env: names.filter((name) => !choosesCode(name, variables) && choosesServer(name)),
    permission_env: names.filter((name) => !choosesCode(name, variables) && choosesPermissions(name)),
    permission_args: args.permission,
    unproved_args: args.unproved,
  };
}

/**
 * Words of the flags and settings by which the known tools skip, widen or move their permissions and
 * sandboxes.
 */
const permissionWord =
  /dangerous|yolo|bypass|full-auto|auto-?(?:approve|accept|edit)|permission|approv|sandbox|trust|allow(?:ed)?[-_]?tools|skip[-_]|^--auto\b/i;
/** Their short forms, with or without an attached value. */
const shortPermissionFlags: Readonly<Record<string, readonly string[]>> = {
  codex: ["-a", "-s"],
  gemini: ["-y", "-s"],
  kimi: ["-y"],
};
/**
 * Flags that choose neither code nor access. `value`: the next word is theirs. Every other argument is marked:
 * a list of what is dangerous would lack the flags of the next release.
 */
const harmlessFlags: Readonly<
  Record<TeamAgent["tool"], { value: readonly string[]; alone: readonly string[] }>
> = {
  claude: { value: ["--model", "--fallback-model", "--effort"], alone: ["--verbose"] },
  codex: { value: ["--model", "-m"], alone: ["--no-alt-screen"] },
  gemini: { value: ["--model", "-m"], alone: [] },
  opencode: { value: ["--model", "-m"], alone: [] },
  kimi: { value: ["--model", "-m"], alone: ["--thinking"] },
  demo: { value: ["--speed"], alone: ["--signals"] },
};

/** `permission`: those about what the tool may do, with their values; `unproved`: no harmless flag. Pure. */
function sortArguments(
  tool: TeamAgent["tool"],
  args: readonly string[],
): { permission: string[]; unproved: string[] } {
  const shortFlags = shortPermissionFlags[tool] ?? [];
  const { value, alone } = harmlessFlags[tool];
  const isPermission = (arg: string) =>
    permissionWord.test(arg) || shortFlags.some((flag) => arg.startsWith(flag));
  const permission: string[] = [];
  const unproved: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const [arg = "", next] = args.slice(at, at + 2);
    if (alone.includes(arg) || value.some((flag) => arg.startsWith(`${flag}=`))) continue;
    const takesNext = /^-[^=]*$/.test(arg) && next !== undefined && !next.startsWith("-");
    const words = takesNext ? [arg, next] : [arg];
    at += words.length - 1;
    if (words.some(isPermission)) permission.push(...words);
    else if (!(takesNext && value.includes(arg))) unproved.push(...words);
  }
  return { permission, unproved };
}

/**
 * Read by the dynamic linker, shells, interpreters and git, or the place of programs and of their
 * configuration.
 */
const codeNames = [
  /^(?:PATH|HOME|SHELL|ENV|BASH_ENV|ZDOTDIR|IFS|PS4|SHELLOPTS|BASHOPTS|PROMPT_COMMAND)$/i,
  /^(?:LD|DYLD|XDG|SVC|NPM_CONFIG|BUN|DENO|LUA)_/i,
  /^(?:PERL|RUBY)/i,
  /^PYTHON(?!UNBUFFERED$|UTF8$|DONTWRITEBYTECODE$)/i,
  /^GIT_(?!AUTHOR_|COMMITTER_|CONFIG_VALUE_)/i,
  /^(?:NODE_OPTIONS|NODE_PATH|GEM_PATH|GCONV_PATH|LESSOPEN|LESSCLOSE|TMUX_TMPDIR)$/i,
  /(?:PRELOAD|EDITOR|VISUAL|PAGER|BROWSER|ASKPASS)$/i,
  /_(?:HOME|CONFIG|CONFIG_DIR|CONFIG_FILE|CONFIG_CONTENT|SETTINGS_PATH|COMMAND|OPTIONS|WRAPPER|SHELL|SHELL_PREFIX)$/i,
];

const serverNames = [
  /(?:_BASE_URL|_API_BASE|_ENDPOINT|_PROXY)$/i,
  /^(?:SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED)$/i,
];

/** What the tool may do without asking. */
const permissionNames = [
  /PERMISSION|SANDBOX|APPROV|YOLO|BYPASS|UNSAFE|DANGEROUS|TRUST/i,
  /(?:^|_)(?:ALLOW|ALLOWED|SKIP)(?:_|$)/i,
];

/** Settings of git whose values are logins. */
const gitLogin = /extraheader|cookie|password|token|secret|username/i;

/** Their values are not shown. */
const secretName = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|_AUTH)$/i;

/** A list of names is never complete: other variables may choose code too. */
function choosesCode(name: string, variables: Readonly<Record<string, string>>): boolean {
  const gitSetting = /^GIT_CONFIG_VALUE_(\d+)$/.exec(name)?.[1];
  if (gitSetting !== undefined) {
    const key = variables[`GIT_CONFIG_KEY_${gitSetting}`];
    return key !== undefined && !gitLogin.test(key);
  }
  return !secretName.test(name) && codeNames.some((pattern) => pattern.test(name));
}

function choosesPermissions(name: string): boolean {
  return !secretName.test(name) && permissionNames.some((pattern) => pattern.test(name));
}

function choosesServer(name: string): boolean {
  return serverNames.some((pattern) => pattern.test(name));
}
