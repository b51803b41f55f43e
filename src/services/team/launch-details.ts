import type { TeamAgent } from "../../protocol/team-file.ts";

/**
 * What a person decides about when an agent of the file is launched. Without values of variables, which may be secrets.
 * Fields that the file leaves out are null, false or empty.
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
  /** Text of the file in each wake-up prompt. */
  notifier_text: string | null;
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
    code_env: names.filter(choosesCode),
    server_env: names.filter((name) => !choosesCode(name) && choosesServer(name)),
    notifier_text: agent.notifier?.appendix_text ?? null,
  };
}

/** Read by the dynamic linker, shells, interpreters and git, or the place of programs and of their configuration. */
const codeNames = [
  /^(?:PATH|HOME|SHELL|ENV|BASH_ENV|ZDOTDIR|IFS|PS4|SHELLOPTS|BASHOPTS|PROMPT_COMMAND)$/i,
  /^(?:LD|DYLD|XDG|SVC|NPM_CONFIG|BUN|DENO|LUA)_/i,
  /^(?:PERL|RUBY)/i,
  /^PYTHON(?!UNBUFFERED$|UTF8$|DONTWRITEBYTECODE$)/i,
  // A value of GIT_CONFIG_VALUE_N may be a login; its GIT_CONFIG_KEY_N is shown.
  /^GIT_(?!AUTHOR_|COMMITTER_|CONFIG_VALUE_|CONFIG_PARAMETERS$)/i,
  /^(?:NODE_OPTIONS|NODE_PATH|GEM_PATH|GCONV_PATH|LESSOPEN|LESSCLOSE|TMUX_TMPDIR)$/i,
  /(?:PRELOAD|EDITOR|VISUAL|PAGER|BROWSER|ASKPASS)$/i,
  /_(?:HOME|CONFIG|CONFIG_DIR|CONFIG_FILE|CONFIG_CONTENT|SETTINGS_PATH|COMMAND|OPTIONS|WRAPPER|SHELL|SHELL_PREFIX)$/i,
];

const serverNames = [
  /(?:_BASE_URL|_API_BASE|_ENDPOINT|_PROXY)$/i,
  /^(?:SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED)$/i,
];

/** Their values are not shown. */
const secretName = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|_AUTH)$/i;

/** A list of names is never complete: other variables may choose code too. */
function choosesCode(name: string): boolean {
  return !secretName.test(name) && codeNames.some((pattern) => pattern.test(name));
}

function choosesServer(name: string): boolean {
  return serverNames.some((pattern) => pattern.test(name));
}
