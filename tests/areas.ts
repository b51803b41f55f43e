/**
 * Which tests of started programs belong to which sources. A program is built from all sources, so imports
 * cannot say which of its stories a change may break. `bun run test --changed` and `bun run check` read this
 * table; a guard keeps each source and each such test in an area (tests/guards/areas.test.ts).
 */
export interface Area {
  name: string;
  /** Beginnings of paths below `src/`. */
  sources: readonly string[];
  /** Beginnings of paths below `tests/`: stories, matrices, and tests of the machine that start a program. */
  tests: readonly string[];
}

/**
 * A change of these can break any story: time, files, processes, databases, routes, and the terms of the
 * wire.
 */
export const sharedSources: readonly string[] = [
  "system/",
  "db/",
  "protocol/endpoint",
  "protocol/core-endpoints",
  "protocol/enforced",
  "protocol/events",
  "protocol/fields",
  "protocol/files",
  "protocol/gateway",
  "protocol/json",
  "protocol/null-absence",
  "protocol/remedy",
  "protocol/wire",
  "routes/gateway/",
  "routes/http/",
  "services/diagnostics/",
  "services/sessions/",
  "services/status/",
  "cli/gateway.ts",
  "cli/gateway-",
  "cli/extension",
  "cli/programs",
  "cli/process-io",
  "cli/svc",
  "cli/endpoint-command",
  "cli/field-flags",
  "cli/target",
  "cli/parse",
  "cli/command.ts",
  "cli/cli-context",
];

export const areas: readonly Area[] = [
  {
    name: "queue",
    sources: [
      "services/queue/",
      "services/prompt/",
      "services/agent/",
      "cli/agent-background",
      "cli/operations/prompt",
      "cli/agent-requests",
      "cli/turn-end",
    ],
    tests: [
      "e2e/cli-closed-queue",
      "e2e/cli-offline-queue",
      "e2e/cli-lifecycle",
      "e2e/failed-turn",
      "e2e/gateway-terminal",
      "e2e/hostile-agent",
      "e2e/hostile-prompts",
      "e2e/hostile-reports",
      "faults/crash",
      "faults/draft-left",
      "faults/durable-answer",
      "faults/gateway-killed",
      "faults/ignored-interrupt",
      "faults/soak",
      "faults/sick-",
      "hostile/paste",
      "hostile/limits",
    ],
  },
  {
    name: "terminal",
    sources: [
      "services/terminal/",
      "services/demo/",
      "protocol/terminal",
      "protocol/tool-profile",
      "cli/terminal-text",
    ],
    tests: [
      "e2e/cli-terminal",
      "e2e/cli-tmux-server",
      "e2e/cli-tools",
      "e2e/cli-unproved-version",
      "e2e/cli-without-tmux",
      "e2e/gateway-terminal",
      "e2e/hostile-agent",
      "e2e/hostile-prompts",
      "e2e/launch-version",
      "faults/draft-left",
      "faults/ignored-interrupt",
      "faults/sick-tmux",
      "hostile/paste",
      "hostile/two-users/tmux-sockets",
      "integration/terminal/",
      "integration/demo-agent",
    ],
  },
  {
    name: "signals",
    sources: ["services/signals/", "protocol/tool-report", "cli/commands/signal"],
    tests: ["e2e/cli-signals", "e2e/hostile-reports", "hostile/hook-command"],
  },
  {
    name: "transcript",
    sources: [
      "services/transcript/",
      "routes/observe/",
      "cli/extensions/observe",
      "protocol/transcript",
      "cli/agent-transcript",
    ],
    tests: ["e2e/cli-transcript"],
  },
  {
    name: "sessions",
    sources: [
      "services/skills/",
      "services/fleet/attach-gateway",
      "services/fleet/relaunch-agent",
      "services/fleet/stop-agent",
      "services/fleet/forget-agent",
      "cli/launch-answer",
      "cli/operations/launch",
      "cli/operations/session",
      "cli/interruption",
      "cli/commands/agents-launch",
      "cli/commands/agent/",
      "cli/commands/overlay",
      "cli/commands/serve",
      "cli/commands/system-skills",
      "cli/commands/tools",
      "cli/tmux-socket",
      "cli/moment",
    ],
    tests: [
      "e2e/ambiguous-alias",
      "e2e/cli-agents",
      "e2e/cli-cleanup",
      "e2e/cli-empty-id",
      "e2e/cli-force",
      "e2e/cli-gateway",
      "e2e/cli-join",
      "e2e/cli-lifecycle",
      "e2e/cli-name-conflict",
      "e2e/cli-overlay",
      "e2e/cli-recovery-advice",
      "e2e/cli-relaunch",
      "e2e/cli-serve",
      "e2e/cli-skills",
      "e2e/cli-tmux-server",
      "e2e/gateway-artifacts",
      "e2e/gateway-gone",
      "e2e/gateway-stop",
      "e2e/interrupted-launch",
      "e2e/launch-version",
      "e2e/services",
      "e2e/skill-commands",
      "e2e/state-folder-lost",
      "faults/launch-",
      "hostile/cloned-repository",
      "hostile/folder-names",
      "hostile/links",
      "hostile/planted-",
      "hostile/two-users/",
      "integration/sessions/",
      "integration/own-file-pipe",
    ],
  },
  {
    name: "damage",
    sources: [
      "services/backup/",
      "cli/checks/",
      "cli/commands/doctor",
      "cli/commands/backup",
      "protocol/backup",
    ],
    tests: [
      "e2e/backup",
      "e2e/doctor-agents",
      "faults/damaged-files",
      "hostile/planted-",
      "hostile/traversal",
    ],
  },
  {
    name: "mail",
    sources: [
      "services/mail/",
      "protocol/mail",
      "protocol/mailbox-admin",
      "cli/agent-mail",
      "cli/agent-mailbox",
      "cli/mail-",
      "cli/mailbox-",
      "cli/short-mail",
      "cli/commands/mailbox",
      "cli/commands/demo-agent-mail",
    ],
    tests: [
      "e2e/attested-mail",
      "e2e/cli-mail",
      "e2e/mail-",
      "e2e/svc-mail",
      "faults/mail",
      "hostile/attachments",
      "hostile/planted-bindings",
      "hostile/planted-index",
      "integration/mail/",
      "conformance/mailbox",
    ],
  },
  {
    name: "notifier",
    sources: ["services/notifier/", "protocol/notifier", "cli/reminder-flags", "cli/operations/notifier"],
    tests: ["e2e/cli-notifier", "e2e/loops", "e2e/mail-conversation", "integration/mail/doorbell"],
  },
  {
    name: "reminders",
    sources: ["services/reminders/", "protocol/reminders", "cli/reminder-flags"],
    tests: ["e2e/cli-reminders", "e2e/loops", "faults/sick-clock"],
  },
  {
    name: "headless",
    sources: [
      "services/headless/",
      "protocol/turn",
      "cli/agent-turns",
      "cli/commands/turn-bridge",
      "cli/commands/run",
      "cli/commands/demo-agent-headless",
    ],
    tests: [
      "e2e/headless-",
      "e2e/full-output",
      "faults/turns-killed",
      "hostile/whole-turns",
      "integration/headless/",
      "integration/demo-headless",
      "integration/run-commands",
    ],
  },
  {
    name: "acp",
    sources: [
      "services/acp/",
      "protocol/acp",
      "cli/acp",
      "cli/commands/acp",
      "cli/commands/demo-agent-acp",
      "cli/stdio-messages",
    ],
    tests: [
      "e2e/acp-",
      "faults/acp-killed",
      "faults/damaged-files-acp",
      "hostile/stdio-servers",
      "integration/acp/",
    ],
  },
  {
    name: "agui",
    sources: ["services/agui/", "routes/bridges/", "protocol/agui"],
    tests: ["e2e/agui-", "integration/agui-stalled"],
  },
  {
    name: "mcp",
    sources: ["cli/mcp/", "cli/commands/mcp"],
    tests: ["e2e/mcp", "hostile/stdio-servers"],
  },
  {
    name: "attention",
    sources: [
      "services/attention/",
      "protocol/attention",
      "cli/attention-text",
      "cli/commands/attention",
      "cli/operations/attention",
      "cli/questions",
    ],
    tests: ["e2e/attention", "e2e/svc", "e2e/mcp-limits"],
  },
  {
    name: "deliveries",
    sources: [
      "services/delivery/",
      "cli/extensions/operations",
      "protocol/delivery",
      "cli/commands/deliveries",
      "db/coordinator/",
    ],
    tests: [
      "e2e/deliveries",
      "faults/deliveries-killed",
      "faults/damaged-files-deliveries",
      "hostile/deliveries",
      "integration/delivery/",
    ],
  },
  {
    name: "fleet",
    sources: [
      "services/fleet/",
      "routes/coordinator/",
      "protocol/agents",
      "protocol/agent-states",
      "protocol/coordinator",
      "cli/coordinator",
      "cli/ask-coordinator",
      "cli/follow-fleet",
      "cli/reconnecting-client",
      "cli/snapshot-text",
      "cli/operations/fleet",
      "cli/narrate",
      "cli/commands/coord/",
      "cli/commands/agents",
    ],
    tests: [
      "e2e/ambiguous-alias",
      "e2e/attention",
      "e2e/cli-agents",
      "e2e/cli-snapshots",
      "e2e/cli-watch",
      "e2e/coord",
      "faults/chaos",
      "faults/damaged-files-coordinator",
      "hostile/followers",
      "hostile/connection-limits",
      "hostile/idle-connections",
      "integration/coordinator-port",
      "integration/fleet/",
    ],
  },
  {
    name: "hosts",
    sources: [
      "services/hosts/",
      "cli/extensions/hosts",
      "protocol/host",
      "cli/host-flags",
      "db/mailbox/host-outbox",
    ],
    tests: ["conformance/host-links", "e2e/hosts", "hostile/hosts", "integration/hosts/"],
  },
  {
    name: "console",
    sources: [
      "console/",
      "services/console/",
      "routes/console/",
      "protocol/console",
      "protocol/screen-runs",
      "cli/console-archive",
      "cli/extensions/console",
      "cli/commands/console",
    ],
    tests: ["browser/", "e2e/console", "hostile/console-viewers", "hostile/web-pages"],
  },
  {
    name: "ledger",
    sources: [
      "services/ledger/",
      "routes/observe/",
      "cli/extensions/observe",
      "protocol/ledger",
      "protocol/fleet-ledger",
      "protocol/budget",
      "protocol/usage",
      "cli/fleet-ledger",
      "cli/commands/ledger",
      "cli/commands/budget",
    ],
    tests: ["e2e/ledger"],
  },
  {
    name: "recorder",
    sources: [
      "services/recorder/",
      "routes/observe/",
      "cli/extensions/observe",
      "protocol/recorder",
      "cli/replay-screen",
      "cli/shipped-recordings",
    ],
    tests: [
      "e2e/recorder",
      "e2e/recorded-session",
      "browser/recorded",
      "faults/recorder-faults",
      "hostile/recordings",
    ],
  },
  {
    name: "traces",
    sources: ["services/traces/", "routes/observe/", "cli/extensions/observe", "protocol/metrics-endpoints"],
    tests: ["e2e/traces", "e2e/prometheus"],
  },
  {
    name: "team",
    sources: [
      "services/team/",
      "protocol/team-file",
      "cli/team-",
      "cli/operations/outcome",
      "cli/commands/team",
      "cli/extensions/operations",
      "cli/commands/uninstall",
      "cli/progress",
    ],
    tests: ["e2e/team", "hostile/team-file", "integration/team-worktrees"],
  },
  {
    name: "short commands",
    sources: ["cli/short", "cli/dashboard/", "cli/completion", "cli/commands/completion", "cli/shared-flags"],
    tests: ["e2e/completion", "e2e/svc", "integration/cli-walk"],
  },
  {
    name: "command line",
    sources: [
      "cli/confirm",
      "cli/dispatch",
      "cli/flag-values",
      "cli/format",
      "cli/mgr",
      "cli/recovery-advice",
      "cli/remedies",
      "cli/version",
      "cli/commands/demo-agent.ts",
    ],
    tests: [
      "e2e/cli-colours",
      "e2e/cli-conventions",
      "e2e/cli-endless-input",
      "e2e/cli-recovery-advice",
      "e2e/cli-visible",
      "e2e/svc-mishaps",
      "hostile/secrets",
      "integration/cli-walk",
      "integration/version",
    ],
  },
  {
    name: "http",
    sources: ["routes/openapi/"],
    tests: [
      "e2e/generated-clients",
      "hostile/allow-origin",
      "hostile/fuzz",
      "hostile/host-names",
      "hostile/memory",
      "hostile/raw-requests",
      "hostile/schemathesis",
      "hostile/server-settings",
      "hostile/token-comparison",
    ],
  },
  {
    name: "documents and packages",
    sources: [],
    tests: [
      "e2e/documented-commands",
      "e2e/executable",
      "e2e/packed",
      "e2e/readme",
      "e2e/release",
      "e2e/try",
      "e2e/upgrade",
    ],
  },
];

const startsWithOne = (path: string, beginnings: readonly string[]) =>
  beginnings.some((beginning) => path.startsWith(beginning));

/**
 * The areas that hold a source, or `null` when a change of it can break any story. `path` begins with `src/`.
 */
export function areasOfSource(path: string): readonly Area[] | null {
  const below = path.slice("src/".length);
  const named = areas.filter(({ sources }) => startsWithOne(below, sources));
  if (named.length > 0) return named;
  return startsWithOne(below, sharedSources) ? null : [];
}

/** The areas that hold a test. `path` begins with `tests/`. */
export function areasOfTest(path: string): readonly Area[] {
  return areas.filter(({ tests }) => startsWithOne(path.slice("tests/".length), tests));
}

/** Whether a test starts programs, so that its areas say what it looks at. */
export function isProgramTest(path: string): boolean {
  return /^tests\/(e2e|faults|hostile|browser)\//.test(path);
}
