import type { CoordinatorExtension, Extension, GatewayExtension, ServeExtension } from "./extension.ts";

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
    "services/acp/",
    "services/agui/",
    "services/signals/",
  ],
  programs: {
    signal: async (argv) => (await import("./commands/signal.ts")).runSignal(argv),
  },
  async gateway() {
    const [{ signalsAbsence }, { createNoSource, createSpoolSource }] = await Promise.all([
      import("../services/signals/handover.ts"),
      import("../services/signals/spool-source.ts"),
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
          import("../services/agui/agui.ts"),
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
  isClosed: true,
  sources: [
    "cli/commands/agent/recorder",
    "cli/commands/agent/transcript",
    "cli/commands/budget",
    "cli/commands/ledger",
    "cli/extensions/observe/",
    "routes/observe/",
    "services/diagnostics/gateway-metrics",
    "services/ledger/",
    "services/recorder/",
    "services/traces/",
    "services/transcript/",
  ],
  gateway: async () => (await import("./extensions/observe/observe-agent.ts")).createObserve,
  coordinator: async () => (await import("./extensions/observe/observe-coordinator.ts")).observeFleet,
};

/** The browser's view of agents, their screens and their live terminals. */
const consoleExtension: Extension = {
  name: "console",
  isClosed: true,
  sources: [
    "cli/commands/console",
    "cli/extensions/console/",
    "console/",
    "routes/console/",
    "services/console/",
  ],
  gateway: async () => () => ({
    open: async (gateway) => (await import("./extensions/console/console-gateway.ts")).openConsole(gateway),
  }),
  coordinator: async () => (await import("./extensions/console/console-coordinator.ts")).openFleetConsole,
};

/** Agents on many hosts, over NATS or SSH. */
const hosts: Extension = {
  name: "hosts",
  isClosed: true,
  sources: [
    "cli/commands/coord/hosts",
    "cli/commands/coord/join",
    "cli/commands/coord/nats",
    "cli/extensions/hosts/",
    "routes/coordinator/remote-agents",
    "services/hosts/",
  ],
  serve: async () => (await import("./extensions/hosts/hosts-serve.ts")).serveHosts,
};

/** What a person does beside single agents: teams, backups, checks, upkeep, deliveries to the outside. */
const operations: Extension = {
  name: "operations",
  sources: [
    "cli/checks/agents",
    "cli/checks/hosts",
    "cli/checks/machine",
    "cli/checks/sessions",
    "cli/commands/backup",
    "cli/commands/deliveries",
    "cli/commands/doctor",
    "cli/commands/mailbox-upkeep",
    "cli/commands/team",
    "cli/commands/uninstall",
    "cli/extensions/operations/",
    "cli/team/team-files",
    "cli/team/team-plan-text",
    "cli/team/team-steps",
    "services/backup/",
    "services/delivery/",
    "services/team/",
  ],
  serve: async () => (await import("./extensions/operations/operations-coordinator.ts")).serveDeliveries,
  coordinator: async () => (await import("./extensions/operations/operations-coordinator.ts")).openDeliveries,
};

/** All extensions, in the order in which each is asked for what it adds. */
export const extensions: readonly Extension[] = [bridges, observe, consoleExtension, hosts, operations];

/** Loads what extensions add to a program that watches agents; the result makes it for one agent. */
export async function loadGatewayExtensions(): Promise<() => readonly GatewayExtension[]> {
  const create = await Promise.all(extensions.flatMap(({ gateway }) => gateway?.() ?? []));
  return () => create.map((createExtension) => createExtension());
}

/** Loads what extensions add to the coordination server. */
export const loadCoordinatorExtensions = (): Promise<readonly CoordinatorExtension[]> =>
  Promise.all(extensions.flatMap(({ coordinator }) => coordinator?.() ?? []));

/** Loads what extensions add to the start of a coordination server. */
export const loadServeExtensions = (): Promise<readonly ServeExtension[]> =>
  Promise.all(extensions.flatMap(({ serve }) => serve?.() ?? []));

/** The program that an extension has under this first word; undefined for another word. */
export const extensionProgram = (word: string | undefined): Program | undefined =>
  word === undefined ? undefined : extensions.find(({ programs }) => programs?.[word])?.programs?.[word];

type Program = (argv: string[]) => Promise<number>;
