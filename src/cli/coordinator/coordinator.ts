import manifest from "../../../package.json" with { type: "json" };
import type { CoordinatorInstance } from "../../protocol/coordinator.ts";
import { coordinatorEndpoints } from "../../protocol/coordinator-endpoints.ts";
import { defaultTimings } from "../../protocol/terminal.ts";
import { type CoordinatorApp, createCoordinatorApp } from "../../routes/coordinator/app.ts";
import { createGate, hostRule, refuseOtherUsers } from "../../routes/http/gate.ts";
import { createAttention } from "../../services/attention/attention.ts";
import { createFileLog } from "../../services/diagnostics/gateway-log.ts";
import { attachGateway } from "../../services/fleet/attach-gateway.ts";
import { createCompiledChecks } from "../../services/fleet/compiled-checks.ts";
import {
  coordinatorPaths,
  publishCoordinator,
  retireCoordinator,
} from "../../services/fleet/coordinator-files.ts";
import { createDirectory, openedAgent } from "../../services/fleet/directory.ts";
import { createFleetEvents } from "../../services/fleet/fleet-events.ts";
import { createFleetLaunch } from "../../services/fleet/fleet-launch.ts";
import { createFleetStates, createSharedLooks } from "../../services/fleet/fleet-states.ts";
import { createFleetTurns } from "../../services/fleet/fleet-turns.ts";
import { createFleetView } from "../../services/fleet/fleet-view.ts";
import { createFleetWork } from "../../services/fleet/fleet-work.ts";
import { createForward } from "../../services/fleet/forward.ts";
import { createLinks } from "../../services/fleet/links.ts";
import { answerChallenge, isChallenge } from "../../services/fleet/listener-proof.ts";
import { createLiveness } from "../../services/fleet/liveness.ts";
import { createPassiveTerminals } from "../../services/fleet/passive-terminals.ts";
import { headlessProvider } from "../../services/headless/providers.ts";
import { decideToken } from "../../services/sessions/token.ts";
import { profileFor } from "../../services/terminal/profiles/profile.ts";
import { timestampNow } from "../../system/clock.ts";
import { describeFault, messageOf, ServiceError } from "../../system/errors.ts";
import type { HttpServer } from "../../system/http-server.ts";
import { createServiceList } from "../../system/service-list.ts";
import { createSocketUpgrade } from "../../system/sockets.ts";
import { type CliContext, readProfiles } from "../command-line/cli-context.ts";
import type { CliIo } from "../command-line/command.ts";
import { openPeopleMail } from "../command-line/mailbox-openers.ts";
import { adviseInManager } from "../command-line/remedies.ts";
import type {
  CoordinatorExtension,
  CoordinatorHosts,
  GatewayExtension,
  OpenCoordinator,
} from "../extension.ts";
import { createGatewayAgent } from "../gateway/gateway-agent.ts";
import { giveMailbox } from "../mail/agent-mailbox.ts";

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
  extensions: readonly CoordinatorExtension[];
  /** Called for each agent that this server watches. */
  createExtensions: () => readonly GatewayExtension[];
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
    left: files.read(paths.token)?.trim() || null,
    knowsCallers: system.network.knowsCallers,
    make: () => ids.hex(32),
  });
  const challengeKey = ids.hex(32);
  let server: HttpServer | null = null;
  let instance: CoordinatorInstance | null = null;
  let lock: { release(): void } | null = null;
  let isStopping = false;

  const own = createDirectory({ files, clock, registry, registryRoot: roots.registryRoot });
  const directory = options.hosts?.directory(own) ?? own;
  const others = options.hosts?.open(directory) ?? null;
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
    ...(others ? { others: () => others.list([], {}) } : {}),
  });
  const fleetView = others
    ? {
        ...view,
        list: async (query: Parameters<typeof view.list>[0]) => ({
          agents: await others.list((await view.list(query)).agents, query),
        }),
      }
    : view;
  const hostsNow = async (probe: boolean) => ({
    version: manifest.version,
    ...((await others?.status({ probe })) ?? { local_host: null, carriers: [], hosts: [] }),
  });
  const { rulesFile } = options;
  const open: OpenCoordinator = {
    context,
    io,
    directory,
    links,
    attention,
    sockets,
    others,
    asksForToken: token !== null,
    async fleet() {
      const [{ agents }, hosts] = await Promise.all([fleetView.list({}), hostsNow(false)]);
      return { ...hosts, agents };
    },
    log: (line, facts) => fileLog?.line(line, facts),
    ...(rulesFile === undefined ? {} : { rulesFile }),
  };
  const parts = options.extensions.map((extension) => extension(open));
  const app = createCoordinatorApp({
    services: {
      view: fleetView,
      states,
      attention,
      hosts: {
        list: async ({ probe }) => ({
          schema_version: 1,
          ...(await hostsNow(probe === "true")),
        }),
      },
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
        streams: () => parts.reduce((sum, part) => sum + (part.following?.() ?? 0), events.following()),
      }),
      events,
      server: {
        instance: current,
        shutdown: () => void clock.after(shutdownMs, options.onShutdown),
      },
    },
    guards: createGate({
      allowsHost: hostRule(options.host),
      allowedOrigins: options.allowedOrigins ?? [],
      token,
      signedIn: (cookie) => parts.some((part) => part.signedIn?.(cookie)),
      answerChallenge: (challenge) =>
        server && isChallenge(challenge) ? answerChallenge(challengeKey, challenge, server.port) : null,
    }),
    ...(others ? { relay: others.relay } : {}),
    extensions: parts.flatMap((part) => part.routes ?? []),
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

  /** Throws `conflict` when the port is taken or another process holds the folder. */
  function listen(): void {
    server = system.network.listen({
      fetch: app.fetch,
      admit: refuseOtherUsers,
      sockets,
      host: options.host,
      port: options.port,
      clock,
    });
    settle(server.port);
  }

  function publish({ port }: HttpServer): CoordinatorInstance {
    const name = options.host.includes(":") ? `[${options.host}]` : options.host;
    const published: CoordinatorInstance = {
      schema_version: 1,
      status: "ok",
      pid: processes.selfPid(),
      api_base_url: `http://${name}:${port}`,
      server_root: paths.root,
      started_at_utc: timestampNow(clock),
    };
    instance = published;
    const start = processes.startToken(published.pid);
    const record = { ...published, ...(start === null ? {} : { process_start: start }) };
    if (remembers && token !== null && !files.exists(paths.tokenRequired))
      files.write("file:token-required", paths.tokenRequired, "");
    if (remembers && options.noToken) files.removeFile("file:token-required", paths.tokenRequired);
    if (token !== options.token) fileLog?.line("callers must show a token", { file: paths.token });
    publishCoordinator(files, paths, record, { token, challengeKey });
    return published;
  }

  function retire(): void {
    const remaining = instance ? retireCoordinator(files, paths) : [];
    if (remaining.length > 0) fileLog?.line("not removed", { paths: remaining.join(", ") });
  }

  const services = createServiceList(
    [
      {
        name: "lock and log",
        stop() {
          fileLog?.close();
          lock?.release();
        },
      },
      { name: "terminals", stop: terminals.stop },
      {
        name: "app",
        // The first request of a process takes several milliseconds longer than the second.
        start: () => app.fetch(new Request(`http://127.0.0.1${coordinatorEndpoints.health.path}`)),
      },
      { name: "listener", start: listen, stop: () => server?.stop(stopGraceMs) },
      { name: "other hosts", stop: () => others?.stop() },
      { name: "events of the fleet", stop: events.stop },
      { name: "sockets", stop: sockets.close },
      { name: "attention", stop: attention.stop },
      ...parts.flatMap((part) => part.services ?? []),
      { name: "record", start: () => server && publish(server), stop: retire },
    ],
    (what, error) => log.line(`${what}: ${messageOf(error)}`),
  );

  return {
    app,
    async start() {
      await services.start();
      const started = current();
      fileLog?.line("coordination server started", { base_url: started.api_base_url, pid: started.pid });
      return started;
    },
    async stop() {
      if (!isStopping) fileLog?.line("coordination server stopping");
      isStopping = true;
      await services.stop();
    },
    log: (line) => log.line(line),
    logUnhandled(error) {
      const { message, stack } = describeFault(error);
      fileLog?.line("unhandled error, the coordination server ends", { message, stack });
    },
  };
}
