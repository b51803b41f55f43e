import manifest from "../../package.json" with { type: "json" };
import { firstLookQuery } from "../protocol/agent-states.ts";
import type { CoordinatorInstance } from "../protocol/coordinator.ts";
import { coordinatorEndpoints } from "../protocol/coordinator-endpoints.ts";
import { defaultTimings } from "../protocol/terminal.ts";
import { type CoordinatorApp, createCoordinatorApp } from "../routes/coordinator/app.ts";
import { createGate, hostRule, refuseOtherUsers } from "../routes/http/gate.ts";
import { createAttention } from "../services/attention/attention.ts";
import { createFleetScreens } from "../services/console/fleet-screens.ts";
import { createRemoteTerminal } from "../services/console/remote-terminal.ts";
import { createSignIn } from "../services/console/sign-in.ts";
import type { Delivery } from "../services/delivery/delivery.ts";
import { createFileLog } from "../services/diagnostics/gateway-log.ts";
import { attachGateway } from "../services/fleet/attach-gateway.ts";
import { createCompiledChecks } from "../services/fleet/compiled-checks.ts";
import {
  coordinatorPaths,
  publishCoordinator,
  retireCoordinator,
} from "../services/fleet/coordinator-files.ts";
import { createDirectory, type Directory, openedAgent } from "../services/fleet/directory.ts";
import { createFleetEvents } from "../services/fleet/fleet-events.ts";
import { createFleetLaunch } from "../services/fleet/fleet-launch.ts";
import { createFleetStates, createSharedLooks } from "../services/fleet/fleet-states.ts";
import { createFleetTurns } from "../services/fleet/fleet-turns.ts";
import { createFleetView } from "../services/fleet/fleet-view.ts";
import { createFleetWork } from "../services/fleet/fleet-work.ts";
import { createForward } from "../services/fleet/forward.ts";
import { toUrl } from "../services/fleet/gateway-client.ts";
import { createLinks } from "../services/fleet/links.ts";
import { answerChallenge, isChallenge } from "../services/fleet/listener-proof.ts";
import { createLiveness } from "../services/fleet/liveness.ts";
import { createPassiveTerminals } from "../services/fleet/passive-terminals.ts";
import { headlessProvider } from "../services/headless/providers.ts";
import type { MergedFleet } from "../services/hosts/merged-fleet.ts";
import type { FleetMetrics } from "../services/hosts/metrics.ts";
import { defaultRulesFile, stateRootOf } from "../services/sessions/roots.ts";
import { decideToken } from "../services/sessions/token.ts";
import { profileFor } from "../services/terminal/profile.ts";
import { timestampNow } from "../system/clock.ts";
import { describeFault, messageOf, ServiceError } from "../system/errors.ts";
import type { HttpServer } from "../system/http-server.ts";
import { createSocketUpgrade } from "../system/sockets.ts";
import { giveMailbox } from "./agent-mailbox.ts";
import { type CliContext, readProfiles } from "./cli-context.ts";
import type { CliIo } from "./command.ts";
import { consoleAssets } from "./console-archive.ts";
import type { GatewayExtension } from "./extensions/extension.ts";
import type { RemoteAgents } from "./fleet-ledger.ts";
import { createGatewayAgent } from "./gateway-agent.ts";
import { openPeopleMail } from "./mailbox-openers.ts";
import { adviseInManager } from "./remedies.ts";

interface CoordinatorOptions {
  context: CliContext;
  io: Pick<CliIo, "env" | "cwd" | "home">;
  host: string;
  port: number;
  /** What callers must show; null asks for none unless this server needs one (see `decideToken`). */
  token: string | null;
  /** A token is made where none is given. */
  makesToken?: boolean;
  /** Neither a remembered nor a new token is wanted. */
  noToken?: boolean;
  /** Web pages that may call besides those that we serve. */
  allowedOrigins?: readonly string[];
  /**
   * Rules of deliveries to the outside, default: in the user's folder. Without such a file at the start
   * nothing is sent.
   */
  rulesFile?: string;
  /** Agents of other hosts; none when left out. */
  hosts?: CoordinatorHosts;
  /** Asked for by a caller of the shutdown route. */
  onShutdown: () => void;
  /** Called for each agent that this server watches. */
  createExtensions: () => readonly GatewayExtension[];
}

/** What the composition needs of other hosts; see `coordinator-hosts.ts`, which is loaded only then. */
export interface CoordinatorHosts {
  directory(own: Directory): Directory;
  merge(directory: Directory): MergedFleet;
  metrics: FleetMetrics;
  relay(fleet: MergedFleet): NonNullable<Parameters<typeof createCoordinatorApp>[0]["relay"]>;
}

export interface Coordinator {
  app: CoordinatorApp;
  /** Binds and serves. Throws `conflict` when the port is taken or another process holds its folder. */
  start(): Promise<CoordinatorInstance>;
  /** Lets what is under way finish. Agents and gateways live on. Idempotent. */
  stop(): Promise<void>;
  log(line: string): void;
  /** Logs an error that reached nobody, before the process ends of it. */
  logUnhandled(error: unknown): void;
}

const stopGraceMs = 2000;
/** The answer to a shutdown is still given. */
const shutdownMs = 100;

/** The composition root of the coordination server. */
export function createCoordinator(options: CoordinatorOptions): Coordinator {
  const { io } = options;
  const log = { line: (text: string) => fileLog?.line(text) };
  let fileLog: ReturnType<typeof createFileLog> | null = null;
  const reported = new Set<string>();
  const reportOnce = (line: string) => {
    if (!reported.has(line)) log.line(line);
    reported.add(line);
  };
  const context: CliContext = {
    ...options.context,
    onClaimError: (what, error) => reportOnce(`${what}: ${messageOf(error)}`),
  };
  const { system, roots, registry, tools, tmuxFor } = context;
  const { clock, ids, files, processes } = system;
  let paths = coordinatorPaths(roots.runtimeRoot, options.host, options.port);
  // A port that the system chooses has no memory.
  const remembers = options.port !== 0;
  const token = decideToken({
    given: options.token,
    declined: options.noToken ?? false,
    wanted: options.makesToken ?? false,
    required: remembers && files.exists(paths.tokenRequired),
    left: files.readOwn(paths.token)?.trim() || null,
    knowsCallers: system.network.knowsCallers,
    make: () => ids.hex(32),
  });
  const challengeKey = ids.hex(32);
  let server: HttpServer | null = null;
  let instance: CoordinatorInstance | null = null;
  let lock: { release(): void } | null = null;
  let stopping: Promise<void> | null = null;

  const own = createDirectory({ files, clock, registry, registryRoot: roots.registryRoot });
  const directory = options.hosts?.directory(own) ?? own;
  const merged = options.hosts?.merge(directory) ?? null;
  const links = createLinks({ ...system, env: io.env, check: createCompiledChecks() });
  const liveness = createLiveness({ clock, tmuxFor });
  const profiles = readProfiles(system, io.env);
  const terminals = createPassiveTerminals({
    files: context.files,
    locks: context.locks,
    clock,
    open: ({ manifest, sessionRoot }) =>
      createGatewayAgent({
        system,
        manifest,
        sessionRoot,
        log,
        profile: profileFor(manifest.tool, profiles),
        timings: defaultTimings,
        events: { append: () => {}, subscribe: () => () => {} },
        env: io.env,
        bridgeCommand: [],
        extensions: options.createExtensions().flatMap(({ agent }) => agent ?? []),
      }),
  });
  const settling = { clock, files, processes, locks: context.locks, providerOf: headlessProvider };
  const turns = createFleetTurns({
    ...settling,
    directory,
    links,
    ids,
    async attach(agent) {
      const { link } = await attachGateway(context, agent, { executionMode: "detached_process" });
      return link.client;
    },
  });
  const events = createFleetEvents({
    directory,
    links,
    clock,
    ids,
    onError: (error) => log.line(`fleet events fault: ${messageOf(error)}`),
  });
  const sockets = createSocketUpgrade();
  const screens = createFleetScreens({ directory, links, clock });
  const current = () => {
    if (!instance) throw new ServiceError("unavailable", "the server is still starting");
    return instance;
  };
  const view = createFleetView({
    ...settling,
    directory,
    links,
    liveness,
    terminals,
    tools,
    tmuxFor,
  });
  const looks = createSharedLooks({ clock, events, look: view.look });
  const attention = createAttention({
    directory,
    events,
    clock,
    advise: adviseInManager,
    look: async (agent, sinceMs) => (await looks.at(agent, sinceMs)).facts,
    async gatewayOf(agent) {
      const link = await links.to(openedAgent(agent));
      if (link.state === "live") return link.client;
      throw new ServiceError(
        "unavailable",
        `no live gateway serves "${agent.record.agent_name}": ${link.why}`,
      );
    },
    people: openPeopleMail(context, (what) => reportOnce(what)),
    onError: (error) => fileLog?.line("attention", { error: messageOf(error) }),
  });
  const states = createFleetStates({
    clock,
    directory,
    links,
    view,
    looks,
    events,
    attention: attention.firstList,
    ...(merged ? { others: () => merged.list([], {}) } : {}),
  });
  const signIn = createSignIn({ clock, ids });
  const rulesFile = options.rulesFile ?? defaultRulesFile(io.env, io.home);
  let delivery: Promise<Delivery> | null = null;
  const openDelivery = () => {
    delivery ??= import("../services/delivery/delivery.ts").then(({ createDelivery, deliveryPaths }) =>
      createDelivery({
        ...system,
        files: context.files,
        attention,
        env: io.env,
        home: io.home,
        rulesFile,
        paths: deliveryPaths(stateRootOf(io.env, io.home), roots.registryRoot),
        log: (line, facts) => fileLog?.line(line, facts),
      }),
    );
    return delivery;
  };
  const fleetView = merged
    ? {
        ...view,
        list: async (query: Parameters<typeof view.list>[0]) => ({
          agents: await merged.list((await view.list(query)).agents, query),
        }),
      }
    : view;
  const remote: RemoteAgents | null =
    options.hosts && merged
      ? {
          localHost: merged.localHost,
          list: () => merged.list([], {}),
          ask: options.hosts.relay(merged),
        }
      : null;
  const hostsNow = async (probe: boolean) =>
    (await merged?.status({ probe })) ?? { local_host: null, carriers: [], hosts: [] };
  let metrics: Promise<FleetMetrics> | null = options.hosts ? Promise.resolve(options.hosts.metrics) : null;
  const openMetrics = () => {
    metrics ??= import("../services/hosts/metrics.ts").then(({ createFleetMetrics }) => createFleetMetrics());
    return metrics;
  };
  const app = createCoordinatorApp({
    services: {
      console: {
        assets: consoleAssets(processes),
        signIn,
        asksForToken: token !== null,
        nonce: () => ids.hex(16),
        firstData: toUrl("", coordinatorEndpoints.listAgentStates.path, {}, firstLookQuery),
        identity: () => ({ surface: "coordinator", agent: null, version: manifest.version }),
        // The answer goes first: a look at many agents begins with a tenth of a second of work.
        onReaderSoon: () => void clock.after(0, attention.expectReader),
      },
      view: fleetView,
      states,
      attention,
      hosts: {
        list: async ({ probe }) => ({
          schema_version: 1,
          version: manifest.version,
          ...(await hostsNow(probe === "true")),
        }),
      },
      ledger: {
        async sum(query) {
          const { sumFleetLedger } = await import("./fleet-ledger.ts");
          return sumFleetLedger(context, io, { query, remote });
        },
      },
      metrics: {
        async scrape() {
          const [{ agents }, hosts] = await Promise.all([fleetView.list({}), hostsNow(false)]);
          return (await openMetrics()).scrape({ ...hosts, agents, version: manifest.version });
        },
      },
      deliveries: { list: async (query) => (await openDelivery()).list(query) },
      work: createFleetWork({
        directory,
        links,
        terminals,
        turns,
        stopping: context,
        relaunching: context,
        clock,
        ids,
      }),
      turns,
      launches: createFleetLaunch({
        directory,
        tools,
        files,
        ids,
        launching: context,
        stopping: context,
        apiBaseUrl: () => current().api_base_url,
        giveMailbox: (agent, { filesystem_root, principal_id, address }) =>
          giveMailbox(context, io, agent, {
            rootFlag: filesystem_root,
            principalId: principal_id,
            address,
            mode: "safe",
          }),
      }),
      forward: createForward({
        directory,
        links,
        clock,
        streams: () => events.following() + screens.following(),
      }),
      events,
      screens,
      sockets,
      terminals: { of: (ref) => createRemoteTerminal({ directory, links }, ref) },
      server: {
        instance: current,
        shutdown: () => void clock.after(shutdownMs, options.onShutdown),
      },
    },
    guards: createGate({
      allowsHost: hostRule(options.host),
      allowedOrigins: options.allowedOrigins ?? [],
      token,
      signedIn: signIn.accepts,
      answerChallenge: (challenge) =>
        server && isChallenge(challenge) ? answerChallenge(challengeKey, challenge, server.port) : null,
    }),
    ...(remote ? { relay: remote.ask } : {}),
    faults: {
      report(error) {
        const id = ids.hex(8);
        const { message, stack } = describeFault(error);
        fileLog?.line("internal error", { error_id: id, message, stack });
        return id;
      },
    },
  });

  /** The folder is named for the port that was bound. */
  function settle(port: number): void {
    paths = coordinatorPaths(roots.runtimeRoot, options.host, port);
    for (const folder of [paths.runRoot, paths.logRoot]) {
      files.ensureDirectory("file:coordinator-folder", folder);
    }
    lock = context.locks.tryTake(paths.lock);
    if (!lock) throw new ServiceError("conflict", `another coordination server holds ${paths.root}`);
    fileLog = createFileLog({ files, clock, path: paths.log });
  }

  async function stop(): Promise<void> {
    fileLog?.line("coordination server stopping");
    const left = instance ? retireCoordinator(files, paths) : [];
    if (left.length > 0) fileLog?.line("not removed", { paths: left.join(", ") });
    await (await delivery)?.stop();
    await attention.stop();
    sockets.close();
    await screens.stop();
    await events.stop();
    await merged?.stop();
    await server?.stop(stopGraceMs);
    await terminals.stop();
    fileLog?.close();
    lock?.release();
  }

  return {
    app,
    async start() {
      // The first request of a process takes several milliseconds longer than the second.
      await app.fetch(new Request(`http://127.0.0.1${coordinatorEndpoints.health.path}`));
      server = system.network.listen({
        fetch: app.fetch,
        admit: refuseOtherUsers,
        sockets,
        host: options.host,
        port: options.port,
        clock,
      });
      try {
        settle(server.port);
      } catch (error) {
        await server.stop(0);
        throw error;
      }
      const name = options.host.includes(":") ? `[${options.host}]` : options.host;
      instance = {
        schema_version: 1,
        status: "ok",
        pid: processes.selfPid(),
        api_base_url: `http://${name}:${server.port}`,
        server_root: paths.root,
        started_at_utc: timestampNow(clock),
      };
      const start = processes.startToken(instance.pid);
      const record = { ...instance, ...(start === null ? {} : { process_start: start }) };
      if (remembers && token !== null && !files.exists(paths.tokenRequired))
        files.write("file:token-required", paths.tokenRequired, "");
      if (remembers && options.noToken) files.removeFile("file:token-required", paths.tokenRequired);
      if (token !== options.token) fileLog?.line("callers must show a token", { file: paths.token });
      publishCoordinator(files, paths, record, { token, challengeKey });
      if (files.exists(rulesFile)) (await openDelivery()).start();
      fileLog?.line("coordination server started", { base_url: instance.api_base_url, pid: instance.pid });
      return instance;
    },
    stop() {
      stopping ??= stop();
      return stopping;
    },
    log: (line) => log.line(line),
    logUnhandled(error) {
      const { message, stack } = describeFault(error);
      fileLog?.line("unhandled error, the coordination server ends", { message, stack });
    },
  };
}
