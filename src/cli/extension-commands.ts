import { type Commands, group, lazyLeaves } from "./command-line/command.ts";
import type { ExtensionLoaders } from "./extension.ts";
import {
  loadCoordinatorExtensions,
  loadGatewayExtensions,
  loadSignals,
  loadStoredRoutes,
} from "./extensions.ts";

const upkeep = () => import("./commands/mailbox-upkeep.ts").then((module) => module.upkeepCommands);

const resume = (program: string) => () =>
  import("./commands/resume.ts").then((module) => module.resumeCommand(program));

/**
 * The commands of each extension by the group that gets them. They are apart from the extensions because a
 * command may load what extensions add. `load`: for those that run a server.
 */
const commands: Readonly<Record<string, (load: ExtensionLoaders) => Readonly<Record<string, Commands>>>> = {
  bridges: () => ({
    svc: {
      acp: () => import("./commands/acp.ts").then((module) => module.shortAcp),
      mcp: () => import("./commands/mcp.ts").then((module) => module.shortMcp),
    },
    "svc-mgr": {
      acp: () => import("./commands/acp.ts").then((module) => module.acp),
      mcp: group({
        name: "mcp",
        description: "the MCP server by which agents reach each other without a shell",
        examples: ["svc-mgr mcp install --tool claude", "svc-mgr mcp serve"],
        subCommands: lazyLeaves(["serve", "install", "uninstall"], () =>
          import("./commands/mcp.ts").then((module) => module.mcpCommands),
        ),
      }),
    },
  }),
  observe: () => ({
    svc: {
      ...lazyLeaves(["last", "log", "search", "screen"], () =>
        import("./commands/agent/transcript.ts").then((module) => module.shortTranscriptCommands),
      ),
      ...lazyLeaves(["why", "record", "replay"], () =>
        import("./commands/agent/recorder.ts").then((module) => module.shortRecorderCommands),
      ),
      cost: () => import("./commands/ledger.ts").then((module) => module.cost),
    },
    "svc-mgr": {
      budget: group({
        name: "budget",
        description: "what agents and teams of this machine may use",
        examples: ["svc-mgr budget set --agent first --hold 2M", "svc-mgr budget show"],
        subCommands: lazyLeaves(["set", "show", "clear"], () =>
          import("./commands/budget.ts").then((module) => module.budgetCommands),
        ),
      }),
      ledger: () => import("./commands/ledger.ts").then((module) => module.ledger),
    },
    "svc-mgr agents single": {
      ...lazyLeaves(["log", "last", "search", "screen"], () =>
        import("./commands/agent/transcript.ts").then((module) => module.transcriptCommands),
      ),
      ...lazyLeaves(["record", "replay", "why"], () =>
        import("./commands/agent/recorder.ts").then((module) => module.recorderCommands),
      ),
    },
  }),
  console: () => ({
    svc: { console: () => import("./commands/console.ts").then((module) => module.consoleCommand("svc")) },
    "svc-mgr": {
      console: () => import("./commands/console.ts").then((module) => module.consoleCommand("svc-mgr")),
    },
  }),
  hosts: (load) => ({
    "svc-coord": {
      join: () => import("./commands/coord/join.ts").then((module) => module.joinCommand(load)),
      hosts: () => import("./commands/coord/hosts.ts").then((module) => module.default),
      nats: () => import("./commands/coord/nats.ts").then((module) => module.default),
    },
  }),
  team: () => ({
    svc: lazyLeaves(["up", "down", "status"], () =>
      import("./commands/team.ts").then((module) => module.teamCommands("svc")),
    ),
    "svc-mgr": {
      team: group({
        name: "team",
        description: "the agents and people of a project, as its svc.yaml says",
        examples: ["svc-mgr team up", "svc-mgr team status"],
        subCommands: lazyLeaves(["up", "down", "status"], () =>
          import("./commands/team.ts").then((module) => module.teamCommands("svc-mgr team")),
        ),
      }),
    },
  }),
  deliveries: () => ({
    "svc-mgr attention": lazyLeaves(["deliveries", "rules", "deliver-test"], () =>
      import("./commands/deliveries.ts").then((module) => module.deliveryCommands),
    ),
  }),
  upkeep: () => ({
    svc: { resume: resume("svc") },
    "svc-mgr": {
      backup: group({
        name: "backup",
        description: "one archive of everything that belongs to your agents, and its restoration",
        examples: ["svc-mgr backup create", "svc-mgr backup restore svc-backup-20261123-220000Z.tar"],
        subCommands: lazyLeaves(["create", "restore"], () =>
          import("./commands/backup.ts").then((module) => module.backupCommands),
        ),
      }),
      doctor: () => import("./commands/doctor.ts").then((module) => module.default),
      prune: () => import("./commands/prune.ts").then((module) => module.default),
      resume: resume("svc-mgr"),
      service: group({
        name: "service",
        description: "the coordination server as a service that starts with the machine",
        examples: ["svc-mgr service install --resume", "svc-mgr service status"],
        subCommands: lazyLeaves(["install", "status", "uninstall"], () =>
          import("./commands/service.ts").then((module) => module.serviceCommands),
        ),
      }),
      uninstall: () => import("./commands/uninstall.ts").then((module) => module.default),
    },
    "svc-mgr mailbox": lazyLeaves(["repair", "verify", "cleanup", "clear-messages", "export"], upkeep),
    "svc-mgr mailbox messages": lazyLeaves(["clear"], upkeep),
  }),
};

/** What extensions add to a group of commands. */
export function extensionCommands(group: string): Commands {
  const load = {
    gateway: loadGatewayExtensions,
    coordinator: loadCoordinatorExtensions,
    signals: loadSignals,
    stored: loadStoredRoutes,
  };
  return Object.assign({}, ...Object.values(commands).map((commandsOf) => commandsOf(load)[group]));
}
