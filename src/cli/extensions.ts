import { type PlanSignals, planNoSignals } from "../services/sessions/tool-signals.ts";
import type {
  CoordinatorExtension,
  Extension,
  GatewayExtension,
  MemberNames,
  ServeExtension,
  StoredRoutes,
} from "./extension.ts";

/** Other protocols on the way to an agent: ACP, MCP, AG-UI, and the reports of the tools. */
const bridges: Extension = {
  name: "bridges",
  sources: [
    "cli/acp/",
    "cli/commands/acp",
    "cli/commands/mcp",
    "cli/commands/signal",
    "cli/mcp/",
    "cli/extensions/bridges/",
    "routes/bridges/",
    "services/extensions/bridges/",
  ],
  programs: {
    signal: async (argv) => (await import("./commands/signal.ts")).runSignal(argv),
  },
  turnBridges: {
    "--acp": async (deps, argv) =>
      (await import("./extensions/bridges/acp-turns.ts")).runAcpTurns(deps, argv),
  },
  async signals() {
    const [{ planSignals }, { selfCommand }] = await Promise.all([
      import("../services/extensions/bridges/signals/handover.ts"),
      import("./command-line/version.ts"),
    ]);
    return (system, tool) => planSignals(system, [...selfCommand(), "signal"], tool);
  },
  async gateway() {
    const [{ signalsAbsence }, { createNoSource, createSpoolSource }] = await Promise.all([
      import("../services/sessions/tool-signals.ts"),
      import("../services/extensions/bridges/signals/spool-source.ts"),
    ]);
    return () => ({
      agent: {
        reports({ system, manifest, sessionRoot, log }) {
          const absence = signalsAbsence(manifest);
          return absence === null
            ? createSpoolSource({ ...system, log, sessionRoot })
            : createNoSource(absence);
        },
      },
      async open({ system, records, agent, board, queue }) {
        const [{ createAgui }, { gatewayAguiRoutes }] = await Promise.all([
          import("../services/extensions/bridges/agui/agui.ts"),
          import("../routes/bridges/agui.ts"),
        ]);
        const { clock, ids } = system;
        const agui = createAgui({ agent, board, queue, events: records.events, clock, ids });
        return { routes: gatewayAguiRoutes(agui), services: [{ name: "AG-UI", stop: agui.close }] };
      },
    });
  },
};

/** The past of agents: transcript, recorder, ledger and budgets, traces, metrics. */
const observe: Extension = {
  name: "observe",
  sources: [
    "cli/commands/agent/recorder",
    "cli/commands/agent/transcript",
    "cli/commands/budget",
    "cli/commands/ledger",
    "cli/extensions/observe/",
    "routes/observe/",
    "services/extensions/observe/",
  ],
  gateway: async () => (await import("./extensions/observe/observe-agent.ts")).createObserve,
  stored: async () => (await import("./extensions/observe/observe-stored.ts")).observeStored,
  coordinator: async () => (await import("./extensions/observe/observe-coordinator.ts")).observeFleet,
};

/** The browser's view of agents, their screens and their live terminals. */
const consoleExtension: Extension = {
  name: "console",
  sources: [
    "cli/commands/console",
    "cli/extensions/console/",
    "console/",
    "routes/console/",
    "services/extensions/console/",
  ],
  gateway: async () => () => ({
    open: async (gateway) => (await import("./extensions/console/console-gateway.ts")).openConsole(gateway),
  }),
  coordinator: async () => (await import("./extensions/console/console-coordinator.ts")).openFleetConsole,
};

/** Agents on many hosts, over NATS or SSH. */
const hosts: Extension = {
  name: "hosts",
  sources: [
    "cli/commands/coord/hosts",
    "cli/commands/coord/join",
    "cli/commands/coord/nats",
    "cli/extensions/hosts/",
    "routes/coordinator/remote-agents",
    "services/extensions/hosts/",
  ],
  serve: async () => (await import("./extensions/hosts/hosts-serve.ts")).serveHosts,
};

/** The agents, people and groups of a project, as its svc.yaml says. */
const team: Extension = {
  name: "team",
  sources: ["cli/commands/team", "cli/team/", "services/extensions/team/"],
  members: async () => (await import("./team/team-files.ts")).teamMembers,
};

/** What waits for a person is sent to the outside. */
const deliveries: Extension = {
  name: "deliveries",
  sources: ["cli/commands/deliveries", "cli/extensions/deliveries/", "services/extensions/deliveries/"],
  serve: async () => (await import("./extensions/deliveries/deliveries-coordinator.ts")).serveDeliveries,
  coordinator: async () => (await import("./extensions/deliveries/deliveries-coordinator.ts")).openDeliveries,
};

/** The care of a machine with agents: checks, backups, mailboxes, the end of an installation. */
const upkeep: Extension = {
  name: "upkeep",
  sources: [
    "cli/checks/agents",
    "cli/checks/hosts",
    "cli/checks/machine",
    "cli/checks/sessions",
    "cli/commands/backup",
    "cli/commands/doctor",
    "cli/commands/mailbox-upkeep",
    "cli/commands/prune",
    "cli/commands/resume",
    "cli/commands/service",
    "cli/commands/uninstall",
    "cli/extensions/upkeep/",
    "cli/operations/resume",
    "cli/operations/service",
    "services/extensions/backup/",
    "services/extensions/boot/",
  ],
};

/** All extensions, in the order in which each is asked for what it adds. */
export const extensions: readonly Extension[] = [
  bridges,
  observe,
  consoleExtension,
  hosts,
  team,
  deliveries,
  upkeep,
];

/** What an extension runs for this word after `turn-bridge`; undefined for another word. */
export const extensionTurnBridge = (word = "") =>
  ofWord(
    extensions.map(({ turnBridges }) => turnBridges),
    word,
  );

/** Loads whom `@NAME` means; null for a program that knows no groups. */
export async function loadMembers(): Promise<MemberNames | null> {
  return (await extensions.find(({ members }) => members)?.members?.()) ?? null;
}

/** Loads what asks the tool of a launch for reports. */
export async function loadSignals(): Promise<PlanSignals> {
  return (await extensions.find(({ signals }) => signals)?.signals?.()) ?? planNoSignals;
}

/** Loads what extensions add to a program that watches agents; the result makes it for one agent. */
export async function loadGatewayExtensions(): Promise<() => readonly GatewayExtension[]> {
  const create = await Promise.all(extensions.flatMap(({ gateway }) => gateway?.() ?? []));
  return () => create.map((createExtension) => createExtension());
}

/** Loads what extensions read of an agent that no gateway serves. */
export const loadStoredRoutes = (): Promise<readonly StoredRoutes[]> =>
  Promise.all(extensions.flatMap(({ stored }) => stored?.() ?? []));

/** Loads what extensions add to the coordination server. */
export const loadCoordinatorExtensions = (): Promise<readonly CoordinatorExtension[]> =>
  Promise.all(extensions.flatMap(({ coordinator }) => coordinator?.() ?? []));

/** Loads what extensions add to the start of a coordination server. */
export const loadServeExtensions = (): Promise<readonly ServeExtension[]> =>
  Promise.all(extensions.flatMap(({ serve }) => serve?.() ?? []));

/** The program that an extension has under this first word; undefined for another word. */
export const extensionProgram = (word = "") =>
  ofWord(
    extensions.map(({ programs }) => programs),
    word,
  );

function ofWord<T>(
  tables: readonly (Readonly<Record<string, T>> | undefined)[],
  word: string,
): T | undefined {
  return tables.find((table) => table && Object.hasOwn(table, word))?.[word];
}
