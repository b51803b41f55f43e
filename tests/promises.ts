/**
 * What the project promises to its users, and the tests that show each promise soonest. `bun run test` runs
 * them beside the rules and the tests of the machine; `bun run test --all` runs every test. `source` is a
 * document of this project with its heading, or a section of the contract.
 */
export interface UserPromise {
  source: string;
  promise: string;
  /** Paths below `tests/`. A file with other needs than Bun and tmux runs with `--all` alone. */
  tests: readonly string[];
}

const one = (source: string, promise: string, ...tests: string[]): UserPromise => ({
  source,
  promise,
  tests,
});

export const promises: readonly UserPromise[] = [
  one("README, Two minutes", "`bun run try` shows the main job on a fresh machine", "e2e/try.test.ts"),
  one("README, Your first agent", "an agent is launched, prompted and stopped", "e2e/cli-lifecycle.test.ts"),
  one("README, Your first agent", "a draft of a person keeps a prompt back", "faults/draft-left.test.ts"),
  one("README, Your first agent", "the short commands do the same", "e2e/svc.test.ts"),
  one("README, Your first agent", "what waits is shown and taken back", "e2e/svc-queue.test.ts"),
  one("README, Your first agent", "questions of all agents are shown and answered", "e2e/attention.test.ts"),
  one(
    "README, All of them in a browser",
    "the console is served at an address it prints",
    "e2e/console.test.ts",
  ),
  one("README, All of them in a browser", "a person sees and answers in it", "browser/answers.test.ts"),
  one("README, Agents that mail each other", "mail is sent, listed and archived", "e2e/cli-mail.test.ts"),
  one("README, Agents that mail each other", "mail wakes an agent", "e2e/cli-notifier.test.ts"),
  one("README, Agents that mail each other", "skills are installed", "e2e/cli-skills.test.ts"),
  one(
    "README, Headless agents, editors",
    "a headless agent runs a process for each turn",
    "e2e/headless-turns.test.ts",
  ),
  one(
    "README, Headless agents, editors",
    "one command brings agents back after a reboot",
    "e2e/svc-resume.test.ts",
  ),
  one(
    "README, What it never does",
    "answers 202 before the request is on disk",
    "faults/durable-answer.test.ts",
  ),
  one(
    "README, What it never does",
    "loses or repeats a request when it is killed",
    "faults/gateway-killed.test.ts",
  ),
  one(
    "README, What it never does",
    "types into a menu, a draft, a shell or a dead pane",
    "unit/terminal/readiness.test.ts",
    "integration/terminal/exclusive-pane.test.ts",
  ),
  one(
    "README, What it never does",
    "loses, repeats or joins a prompt to a tool that misbehaves",
    "unit/agent/dispatch.test.ts",
    "e2e/hostile-prompts.test.ts",
  ),
  one("README, What it never does", "lets control characters reach the terminal", "hostile/paste.test.ts"),
  one("README, What it never does", "ends a foreign process", "integration/sessions/stop.test.ts"),
  one("README, What it never does", "answers a foreign host or origin", "hostile/web-pages.test.ts"),
  one("README, What it never does", "echoes a prompt in an error", "contract/gateway-requests.test.ts"),
  one("guide, a team as a file", "a team is brought up, changed and taken down", "e2e/team.test.ts"),
  one("guide, a team as a file", "a file owns the agents it launched", "e2e/team-namespace.test.ts"),
  one("guide, agents as tools", "agents prompt each other over MCP", "e2e/mcp.test.ts"),
  one("guide, ACP", "an ACP agent runs under svc", "e2e/acp-agent.test.ts"),
  one("guide, ACP", "an editor opens an agent", "e2e/acp-server.test.ts"),
  one("guide, coordinator", "one address drives and follows all agents", "e2e/coord.test.ts"),
  one("guide, cost", "each turn's use is kept and summed", "e2e/ledger.test.ts"),
  one("guide, deliveries", "a notification leaves for each rule", "e2e/deliveries.test.ts"),
  one("guide, headless in CI", "a conversation goes on after a relaunch", "e2e/headless-relaunch.test.ts"),
  one("guide, hosts", "agents of other hosts are driven over ssh", "e2e/hosts-ssh.test.ts"),
  one("guide, hosts", "agents of other hosts are driven over NATS", "e2e/hosts-nats.test.ts"),
  one("guide, loops", "work repeats unattended", "e2e/loops.test.ts"),
  one("guide, recorder", "the past of an agent is shown", "e2e/recorder.test.ts"),
  one("guide, tool profile", "another tool is described and driven", "e2e/cli-tools.test.ts"),
  one("guide, one agent", "answers are read", "e2e/cli-transcript.test.ts"),
  one("guide, one agent", "gateway and agent restart", "e2e/cli-relaunch.test.ts"),
  one("guide, operations", "the machine is looked at", "e2e/doctor-agents.test.ts"),
  one("guide, operations", "gateways run as services", "e2e/services.test.ts"),
  one("guide, operations", "metrics are scraped", "e2e/prometheus.test.ts"),
  one("guide, operations", "traces are sent", "e2e/traces.test.ts"),
  one("guide, operations", "state is backed up and restored", "e2e/backup.test.ts"),
  one("guide, operations", "an upgrade loses nothing", "e2e/upgrade.test.ts"),
  one("guide, operations", "the package runs where it is installed", "e2e/packed.test.ts"),
  one(
    "SECURITY, 1 paths",
    "planted paths lead nowhere",
    "hostile/planted-paths.test.ts",
    "hostile/traversal.test.ts",
  ),
  one("SECURITY, 1 paths", "a cloned repository does no harm", "hostile/cloned-repository.test.ts"),
  one("SECURITY, 1 paths", "any damaged file is named", "faults/damaged-files.test.ts"),
  one("SECURITY, 2 folders", "a folder counts after its adoption", "e2e/cli-overlay.test.ts"),
  one(
    "SECURITY, 2 folders",
    "another user's folders and sockets are refused",
    "hostile/two-users/folders.test.ts",
  ),
  one("SECURITY, 3 code", "a team file of others is shown and contained", "hostile/team-file.test.ts"),
  one("SECURITY, 4 servers", "a listener proves itself", "hostile/planted-bindings.test.ts"),
  one(
    "SECURITY, 5 callers",
    "tokens and host names are checked",
    "hostile/raw-requests.test.ts",
    "e2e/cli-serve.test.ts",
  ),
  one("SECURITY, 5 callers", "another user of the machine is refused", "hostile/two-users/callers.test.ts"),
  one("SECURITY, 6 reads", "attachments stay below allowed roots", "hostile/attachments.test.ts"),
  one("SECURITY, 7 text", "foreign text reaches a terminal as visible text", "e2e/cli-visible.test.ts"),
  one("SECURITY, 7 text", "forged mail wakes nobody", "e2e/attested-mail.test.ts"),
  one(
    "SECURITY, 8 size",
    "a large request is refused",
    "hostile/limits.test.ts",
    "hostile/whole-turns.test.ts",
  ),
  one("SECURITY, 9 processes", "signals go to proved processes", "e2e/cli-signals.test.ts"),
  one("SECURITY, 10 secrets", "secrets are in no output", "hostile/secrets.test.ts"),
  one("SECURITY, 11 reports", "false reports of a tool change nothing", "e2e/hostile-reports.test.ts"),
  one(
    "SECURITY, 12 standard streams",
    "programs on streams survive their input",
    "hostile/stdio-servers.test.ts",
  ),
  one("SECURITY, 13 other hosts", "a hostile host harms itself alone", "hostile/hosts.test.ts"),
  one("contract 2.1, 3.2", "the status says what is so", "contract/gateway-core.test.ts"),
  one("contract 2.2, 3.1", "requests pass their states once", "simulation/simulation.test.ts"),
  one(
    "contract 2.3, 3.3",
    "reminders come in time",
    "contract/gateway-reminders.test.ts",
    "e2e/loops.test.ts",
  ),
  one(
    "contract 2.5, 3.4",
    "mail is kept as promised",
    "contract/gateway-mail.test.ts",
    "faults/mailbox-killed.test.ts",
  ),
  one("contract 2.6", "the notifier polls and is woken", "contract/gateway-notifier.test.ts"),
  one("contract 2.7, 2.8", "a session's files are as listed", "e2e/gateway-artifacts.test.ts"),
  one("contract 4.1", "every route of a gateway answers", "contract/gateway-endpoints.test.ts"),
  one("contract 4.1", "AG-UI clients run", "contract/gateway-agui.test.ts", "e2e/agui-terminal.test.ts"),
  one("contract 4.2", "a direct prompt is admitted or refused", "e2e/gateway-terminal.test.ts"),
  one("contract 4.4", "every route of the coordinator answers", "contract/coordinator-endpoints.test.ts"),
  one(
    "contract 4.5",
    "every command can be called",
    "integration/cli-walk.test.ts",
    "e2e/cli-conventions.test.ts",
  ),
  one("contract 6", "events are followed from any position", "contract/gateway-events.test.ts"),
  one("contract 7", "refusals have their status and words", "contract/mail-refusals.test.ts"),
];
