import type { CoordinatorInstance } from "../../protocol/coordinator.ts";
import { coordinatorEndpoints } from "../../protocol/coordinator-endpoints.ts";
import type { CoordinatorApp } from "../../routes/coordinator/app.ts";
import { callerGuards, hostRule, refuseOtherUsers } from "../../routes/http/gate.ts";
import { createFileLog, type Log } from "../../services/diagnostics/gateway-log.ts";
import { createCompiledChecks } from "../../services/fleet/compiled-checks.ts";
import {
  coordinatorPaths,
  publishCoordinator,
  retireCoordinator,
} from "../../services/fleet/coordinator-files.ts";
import { createDirectory } from "../../services/fleet/directory.ts";
import { createLinks } from "../../services/fleet/links.ts";
import { answerChallenge, isChallenge } from "../../services/fleet/listener-proof.ts";
import { decideToken } from "../../services/sessions/token.ts";
import type { PlanSignals } from "../../services/sessions/tool-signals.ts";
import { timestampNow } from "../../system/clock.ts";
import { describeFault, messageOf, ServiceError } from "../../system/errors.ts";
import type { HttpServer } from "../../system/http-server.ts";
import { createServiceList } from "../../system/service-list.ts";
import { createStoredReader } from "../agent/stored-agent.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import type { CliIo } from "../command-line/command.ts";
import type { CoordinatorExtension, CoordinatorHosts, GatewayExtension, StoredRoutes } from "../extension.ts";
import { createFleet, openCoordinator } from "./coordinator-services.ts";

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
  /** `svc console` started it, and may end it. */
  isOfConsole?: boolean;
  /** Asked for by a caller of the shutdown route. */
  onShutdown: () => void;
  extensions: readonly CoordinatorExtension[];
  planSignals: PlanSignals;
  /** What extensions read of agents that no gateway serves. */
  storedRoutes: readonly StoredRoutes[];
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
  const log: Log = { line: (text, facts) => fileLog?.line(text, facts) };
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
  const { system, roots, registry } = context;
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
  const current = () => {
    if (!instance) throw new ServiceError("unavailable", "the server is still starting");
    return instance;
  };
  const base = {
    context,
    io,
    directory,
    links,
    log,
    reportOnce,
    baseUrl: () => current().api_base_url,
    createExtensions: options.createExtensions,
    planSignals: options.planSignals,
  };
  const fleet = createFleet(base);
  const { rulesFile } = options;
  const opened = openCoordinator({ ...base, clock }, fleet, {
    token,
    others,
    readStored: createStoredReader({
      context,
      routes: options.storedRoutes,
      report: (problem) => log.line("a session is not read", { error: problem }),
    }),
    extensions: options.extensions.map(
      (extension) => (open) =>
        extension({ ...open, context, io, ...(rulesFile === undefined ? {} : { rulesFile }) }),
    ),
    guards: callerGuards({
      allowsHost: hostRule(options.host),
      allowedOrigins: options.allowedOrigins ?? [],
      answerChallenge: (challenge) =>
        server && isChallenge(challenge) ? answerChallenge(challengeKey, challenge, server.port) : null,
    }),
    server: {
      instance: current,
      shutdown: () => void clock.after(shutdownMs, options.onShutdown),
    },
    faults: {
      report(error) {
        const id = ids.hex(8);
        const { message, stack } = describeFault(error);
        log.line("internal error", { error_id: id, message, stack });
        return id;
      },
    },
  });
  const { app, sockets } = opened;

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
    const record = {
      ...published,
      ...(start === null ? {} : { process_start: start }),
      ...(options.isOfConsole ? { started_by: "console" } : {}),
    };
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
      { name: "terminals", stop: fleet.stopTerminals },
      {
        name: "app",
        // The first request of a process takes several milliseconds longer than the second.
        start: () => app.fetch(new Request(`http://127.0.0.1${coordinatorEndpoints.health.path}`)),
      },
      { name: "listener", start: listen, stop: () => server?.stop(stopGraceMs) },
      { name: "other hosts", stop: () => others?.stop() },
      ...opened.services,
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
