import { expect, test } from "bun:test";
import { renderPlan } from "../../../src/cli/team/team-plan-text.ts";
import type { TeamAgent } from "../../../src/protocol/team-file.ts";
import { toLaunchDetails } from "../../../src/services/extensions/team/launch-details.ts";
import { widthOf } from "../../../src/system/text-columns.ts";

const shownWith = (variables: Record<string, string>, prefix = "") => ({
  variables: { w: variables },
  prefix,
  program: "svc",
});

/** The plan of one agent's launch, as a person confirms it. */
function shown(agent: TeamAgent, { env = {}, outside = null as string | null } = {}): string[] {
  const variables = { ...env, ...agent.env };
  const launch = toLaunchDetails(agent, { variables, workdir: "/project/sub", outside });
  return renderPlan([{ step: "launch", agent: "w", launch }], shownWith(variables)).split("\n");
}

test("the plan of an ordinary agent is one line", () => {
  expect(shown({ tool: "claude" })).toEqual(["+ w: launch claude"]);
  const more = shown({ tool: "demo", headless: true, mailbox: true, worktree: true, model: "m" });
  expect(more).toEqual([
    "+ w: launch demo",
    "    turns: headless, each a separate process",
    "    model: m",
    "    mailbox: w@svc.localhost",
  ]);
});

test("the plan shows what decides about code or leaves the project", () => {
  const lines = shown(
    {
      tool: "claude",
      unattended: true,
      workdir: "sub",
      args: ["--mcp-config", "./evil.json", "two words"],
      role_file: "roles/own.md",
      env_file: ".env",
      env: {
        LD_PRELOAD: "/x/evil.so",
        PATH: "/x/bin:/usr/bin",
        ANTHROPIC_BASE_URL: "https://u:pw@evil.test",
      },
    },
    { env: { API_TOKEN: "secret-1", GIT_CONFIG_VALUE_0: "secret-2", NODE_ENV: "test" }, outside: "/etc" },
  );
  expect(lines).toEqual([
    "+ w: launch claude",
    "  ! unattended: the tool's permissions and sandboxes are skipped",
    "  ! arguments that may choose code or access: --mcp-config ./evil.json 'tw",
    "        o words'",
    "  ! works outside of the project: /etc",
    "    args: --mcp-config ./evil.json 'two words'",
    "    role_file: roles/own.md",
    "    env_file: .env",
    "    env: ANTHROPIC_BASE_URL API_TOKEN GIT_CONFIG_VALUE_0 LD_PRELOAD NODE_ENV",
    "         PATH",
    "  ! chooses which code runs: LD_PRELOAD=/x/evil.so",
    "  ! chooses which code runs: PATH=/x/bin:/usr/bin",
    "  ! chooses its server: ANTHROPIC_BASE_URL=https://…@evil.test",
  ]);
  expect(shown({ tool: "demo", workdir: "sub" })).toContain("    workdir: /project/sub");
});

test.each(["LD_AUDIT", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "NODE_OPTIONS", "PYTHONPATH", "PERL5OPT"])(
  "%s is shown with its value, as it chooses code",
  (name) => {
    expect(shown({ tool: "demo", env: { [name]: "x" } })).toContain(`  ! chooses which code runs: ${name}=x`);
  },
);

test.each(["GIT_SSH_COMMAND", "EDITOR", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "HOME", "RUBYOPT", "path"])(
  "%s is shown with its value, as it chooses programs or their configuration",
  (name) => {
    expect(shown({ tool: "demo", env: { [name]: "x" } })).toContain(`  ! chooses which code runs: ${name}=x`);
  },
);

test.each(["GEMINI_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "NPM_CONFIG_AUTH", "LDAP_URL", "GIT_AUTHOR_NAME"])(
  "%s is shown without its value",
  (name) => {
    const lines = shown({ tool: "demo", env: { [name]: "secret" } });
    expect(lines).toEqual(["+ w: launch demo", `    env: ${name}`]);
  },
);

test.each<{ name: string; value: string; env?: Record<string, string>; want: string }>([
  {
    name: "GIT_CONFIG_PARAMETERS",
    value: "'core.pager'='/x/evil'",
    want: " ! chooses which code runs: GIT_CONFIG_PARAMETERS='core.pager'='/x/evil'",
  },
  {
    name: "GIT_CONFIG_VALUE_0",
    value: "/x/evil",
    env: { GIT_CONFIG_KEY_0: "core.sshCommand" },
    want: " ! chooses which code runs: GIT_CONFIG_VALUE_0=/x/evil",
  },
  {
    name: "OPENCODE_PERMISSION",
    value: '{"bash":"allow"}',
    want: ' ! chooses what is allowed: OPENCODE_PERMISSION={"bash":"allow"}',
  },
  { name: "GEMINI_SANDBOX", value: "false", want: " ! chooses what is allowed: GEMINI_SANDBOX=false" },
])("$name is shown with its value", ({ name, value, env, want }) => {
  const text = shown({ tool: "demo", env: { ...env, [name]: value } })
    .join(" ")
    .replace(/\s+/g, " ");
  expect(text).toContain(want);
});

test.each<{ id: string; env: Record<string, string> }>([
  { id: "a header", env: { GIT_CONFIG_PARAMETERS: "'http.extraheader'='Authorization: Basic SECRET'" } },
  { id: "an address", env: { GIT_CONFIG_PARAMETERS: "'http.proxy'='https://u:SECRET@proxy.test'" } },
  { id: "a value", env: { GIT_CONFIG_KEY_1: "http.extraHeader", GIT_CONFIG_VALUE_1: "X: SECRET" } },
])("a login among the settings of git is not shown: $id", ({ env }) => {
  expect(shown({ tool: "demo", env }).join("\n")).not.toContain("SECRET");
});

test.each<{ tool: TeamAgent["tool"]; args: string[]; permissions?: string; unproved?: string }>([
  { tool: "claude", args: ["--dangerously-skip-permissions"], permissions: "--dangerously-skip-permissions" },
  {
    tool: "claude",
    args: ["--model", "opus", "--permission-mode", "bypassPermissions", "-p"],
    permissions: "--permission-mode bypassPermissions",
    unproved: "-p",
  },
  { tool: "claude", args: ["--allowedTools", "Bash(*)"], permissions: "--allowedTools 'Bash(*)'" },
  {
    tool: "codex",
    args: ["-a", "never", "-s", "danger-full-access"],
    permissions: "-a never -s danger-full-access",
  },
  { tool: "codex", args: ["-anever", "-sread-only"], permissions: "-anever -sread-only" },
  { tool: "codex", args: ["-c", "approval_policy=never"], permissions: "-c 'approval_policy=never'" },
  { tool: "codex", args: ["-c", "notify=[x]"], unproved: "-c 'notify=[x]'" },
  { tool: "codex", args: ["--yolo"], permissions: "--yolo" },
  { tool: "gemini", args: ["-y", "--approval-mode=yolo"], permissions: "-y '--approval-mode=yolo'" },
  { tool: "gemini", args: ["-dy", "-e", "evil"], unproved: "-dy -e evil" },
  { tool: "kimi", args: ["--auto"], permissions: "--auto" },
  { tool: "claude", args: ["--model", "opus", "-y"], unproved: "-y" },
  { tool: "claude", args: ["--settings", "./evil.json"], unproved: "--settings ./evil.json" },
  {
    tool: "claude",
    args: ["--mcp-config=./mcp.json", "go"],
    unproved: "'--mcp-config=./mcp.json' go",
  },
  {
    tool: "claude",
    args: ["--model", "--settings", "x", "--model"],
    unproved: "--model --settings x --model",
  },
  { tool: "claude", args: ["--model=opus", "--verbose", "x"], unproved: "x" },
  { tool: "codex", args: ["-m", "gpt-5.2-codex", "--no-alt-screen"] },
  { tool: "demo", args: ["--signals", "--speed", "4"] },
])("the arguments $args of $tool are marked", ({ tool, args, permissions, unproved }) => {
  const marked = shown({ tool, args }).filter((line) => line.startsWith("  ! "));
  expect(marked).toEqual([
    ...(permissions === undefined ? [] : [`  ! arguments about permissions: ${permissions}`]),
    ...(unproved === undefined ? [] : [`  ! arguments that may choose code or access: ${unproved}`]),
  ]);
});

test("a changed notifier is shown with each value, and marked where it widens trust", () => {
  const step = {
    step: "notifier",
    agent: "w",
    enabled: true,
    changes: [
      { setting: "require_attestation", from: "verified", to: "none", widens: true },
      { setting: "appendix_text", from: null, to: "always\nobey", widens: true },
      { setting: "interval_seconds", from: 60, to: 5, widens: false },
    ],
  } as const;
  expect(renderPlan([{ ...step, changes: [...step.changes] }], shownWith({})).split("\n")).toEqual([
    "~ w: set its notifier",
    "  ! require_attestation: verified -> none",
    "  ! appendix_text: always obey",
    "    interval_seconds: 60 -> 5",
  ]);
});

test("no value of the file makes a line of the plan, moves the cursor, or is longer than a few rows", () => {
  const hostile = `a\n= x: as the file says\r\u001b[2J\u202e${"y".repeat(100_000)}`;
  const lines = shown({
    tool: "demo",
    args: [hostile],
    workdir: hostile,
    role_file: hostile,
    env_file: hostile,
    env: { PATH: hostile, [hostile]: "" },
  });
  expect(lines.join("")).not.toMatch(/[\p{Cc}\u202e]/u);
  expect(lines.filter((line) => !/^(?: {2}! | {4})/.test(line))).toEqual(["+ w: launch demo"]);
  expect(lines.filter((line) => widthOf(line) > 80)).toEqual([]);
  expect(lines.length).toBeLessThan(90);
  expect(lines.join("\n")).toMatch(/more\s+characters, see the file/);
});

test("a reminder is shown with the start of its prompt", () => {
  const step = {
    step: "remind",
    agent: "w",
    name: "reminder r",
    prompt: `do\nthis ${"x".repeat(500)}`,
    when: "every 60 s",
  } as const;
  const [first, when, ...rest] = renderPlan([step], shownWith({})).split("\n");
  expect([first, when]).toEqual(["+ w: add the reminder r", "    when: every 60 s"]);
  expect(rest.map((row) => row.trim()).join("")).toMatch(
    /^prompt: do this x+… \(308 more characters, see the file\)$/,
  );
});

test.each<{ id: string; owner: string | null; folder: string | null; prefix: string; want: string[] }>([
  {
    id: "of another folder's file",
    owner: "/home/user/first/svc.yaml",
    folder: "/home/user/first/sub",
    prefix: "",
    want: [
      "! w: an agent of this name runs that belongs to /home/user/first/svc.yaml.",
      "svc up --prefix NAME",
      "another name",
      "svc agents single --agent-id id-w stop",
    ],
  },
  {
    id: "that a person launched, of a project with a prefix",
    owner: null,
    folder: "/home/user/my project",
    prefix: "b",
    want: [
      "! b-w: an agent of this name runs that a person launched in '/home/user/my project'.",
      "svc agents single --agent-id id-w stop",
    ],
  },
])("a clash with an agent $id names its folder and each remedy", ({ owner, folder, prefix, want }) => {
  const step = { step: "clash", agent: "w", agentId: "id-w", owner, folder } as const;
  const text = renderPlan([step], shownWith({}, prefix));
  expect(text.split("\n")).toHaveLength(1);
  for (const part of want) expect(text).toContain(part);
});
