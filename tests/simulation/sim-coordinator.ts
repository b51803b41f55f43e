import { join } from "node:path";
import { openCliContext } from "../../src/cli/command-line/cli-context.ts";
import { type Coordinator, createCoordinator } from "../../src/cli/coordinator/coordinator.ts";
import { loadCoordinatorExtensions, loadGatewayExtensions } from "../../src/cli/extensions.ts";
import { forwardedEndpoints } from "../../src/protocol/endpoints.ts";
import { createGatewayClient, type GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { planNoSignals } from "../../src/services/sessions/tool-signals.ts";
import type { Processes } from "../../src/system/processes.ts";
import type { SimHost } from "./sim-host.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimWorld } from "./sim-world.ts";

/**
 * The coordination server of the machine. Who goes through it reaches the same gateways as who calls them.
 */
export interface SimCoordinator {
  /** The gateway of an agent as it is reached through it; null while it does not answer. */
  clientOf(agentName: string): GatewayClient | null;
  start(): Promise<void>;
  stop(): Promise<void>;
  crash(why: string): void;
  /**
   * Whether its list names every agent, with a gateway where one is. Wrong answers are told; none is none.
   */
  check(): Promise<void>;
  close(): void;
}

const name = "coordinator";

const createExtensions = await loadGatewayExtensions();
const extensions = await loadCoordinatorExtensions();

const forwarded = Object.values(forwardedEndpoints).map(({ method, path, gatewayPath }) => ({
  method,
  path,
  pattern: new RegExp(`^${gatewayPath.replace(/:(\w+)/g, "(?<$1>[^/]+)")}$`),
}));

/** Where the coordination server takes what a gateway takes there. */
function throughPath(method: string, path: string, agentName: string): string {
  for (const one of forwarded) {
    const match = one.method === method ? one.pattern.exec(path) : null;
    if (match) return one.path.replace(/:(\w+)/g, (_, key: string) => match.groups?.[key] ?? agentName);
  }
  throw new Error(`${method} ${path} is not forwarded`);
}

export function createSimCoordinator(options: {
  world: SimWorld;
  hosts: readonly SimHost[];
}): SimCoordinator {
  const { world, hosts } = options;
  const { trace, clock } = world;
  let up: { process: SimProcess; coordinator: Coordinator; baseUrl: string | null } | null = null;

  /** Each agent has a tmux server of its own; to the coordination server they are one. */
  function processesOf(self: Parameters<SimHost["tmux"]["processesOf"]>[0]): Processes {
    const views = hosts.map((host) => ({ host, processes: host.tmux.processesOf(self) }));
    const [first] = views;
    if (!first) throw new Error("a machine without agents has no coordination server");
    const ownerOf = (session: string) =>
      views.find(({ host }) => host.tmux.session()?.name === session)?.processes ?? first.processes;
    return {
      ...first.processes,
      async run(command, given) {
        if (command.includes("list-sessions")) {
          const answers = await Promise.all(views.map(({ processes }) => processes.run(command, given)));
          const found = answers.filter(({ exitCode }) => exitCode === 0);
          return {
            ...(found[0] ?? answers[0]),
            stdout: found.map(({ stdout }) => stdout).join(""),
          } as (typeof answers)[number];
        }
        const target = (command[command.indexOf("-t") + 1] ?? "").replace(/^=|:$/g, "");
        return ownerOf(target).run(command, given);
      },
      pipe: (command, given) => ownerOf((command.at(-1) ?? "").slice(1)).pipe(command, given),
      tree: async (pid) => {
        const trees = await Promise.all(views.map(({ processes }) => processes.tree(pid)));
        return trees.find((tree) => tree.length > 0) ?? [];
      },
      alive: (pid) => views.some(({ processes }) => processes.alive(pid)),
    };
  }

  async function start(): Promise<void> {
    if (up) return;
    const process = world.spawn(name, { tmux: { processesOf }, afterStep: () => {} });
    const ended = Promise.withResolvers<void>();
    process.onEnd(() => {
      if (up?.process === process) up = null;
      ended.resolve();
    });
    try {
      const io = { env: world.env, cwd: world.folder, home: world.folder };
      const flags = { "runtime-root": join(world.folder, "runtime"), "registry-root": world.registryRoot };
      const coordinator = createCoordinator({
        context: openCliContext(io, flags, process.system),
        io,
        host: "127.0.0.1",
        port: 0,
        token: null,
        onShutdown: () => {},
        createExtensions,
        extensions,
        planSignals: planNoSignals,
        storedRoutes: [],
      });
      up = { process, coordinator, baseUrl: null };
      const mine = up;
      const listening = coordinator.start();
      await Promise.race([listening, ended.promise]);
      if (!process.alive()) return;
      mine.baseUrl = (await listening).api_base_url;
      trace.note(name, "serves");
    } catch (error) {
      if (process.alive()) trace.note(name, `did not start: ${String(error)}`);
      if (process.alive() && world.quietMs() > 0) world.fail(name, `did not start: ${String(error)}`);
      process.exit();
    }
  }

  return {
    start,
    clientOf(agentName) {
      const baseUrl = up?.baseUrl;
      if (!baseUrl) return null;
      return createGatewayClient({
        clock: world.outside.clock,
        baseUrl,
        token: null,
        respectProxyEnvironment: false,
        fetch(url, init) {
          const { pathname, search } = new URL(url);
          const path = throughPath(init.method ?? "GET", pathname, agentName);
          world.count("forwarded");
          return world.outside.network.fetch(`${baseUrl}${path}${search}`, init);
        },
      });
    },
    async stop() {
      const mine = up;
      if (!mine?.baseUrl) return;
      trace.note(name, "is told to stop");
      const ended = Promise.withResolvers<void>();
      mine.process.onEnd(() => ended.resolve());
      const stopping = mine.coordinator.stop().catch((error) => {
        if (mine.process.alive() && world.quietMs() > 0) world.fail(name, `stop failed: ${String(error)}`);
      });
      await Promise.race([stopping, ended.promise]);
      mine.process.exit();
    },
    crash: (why) => up?.process.kill(why),
    async check() {
      const mine = up;
      if (!mine?.baseUrl) return;
      const askedMs = clock.nowMs();
      const reply = await world.outside.network
        .fetch(`${mine.baseUrl}/svc/agents`, { method: "GET" })
        .catch(() => null);
      if (!reply || !mine.process.alive()) return;
      const quiet = () => world.quietMs() > clock.nowMs() - askedMs;
      if (reply.status !== 200) {
        if (quiet()) world.fail(name, `the list of agents is ${reply.status}: ${await reply.text()}`);
        return;
      }
      world.count("lists");
      const { agents } = (await reply.json()) as { agents: { agent_name: string }[] };
      const listed = agents.map((agent) => agent.agent_name).sort();
      const known = hosts.map((host) => host.name).sort();
      if (listed.join() !== known.join()) world.fail(name, `lists ${listed} instead of ${known}`);
    },
    close: () => up?.process.exit(),
  };
}
