import { openGatewayDatabase, requestStoreOn } from "../../db/gateway/request-store.ts";
import { coreEndpoints } from "../../protocol/core-endpoints.ts";
import type { Manifest } from "../../protocol/files.ts";
import { healthBody } from "../../protocol/gateway.ts";
import { defaultTimings, type TrackingTimings } from "../../protocol/terminal.ts";
import { deferredApp } from "../../routes/http/deferred-app.ts";
import { callerGuards, hostRule, refuseOtherUsers } from "../../routes/http/gate.ts";
import { backendFacts } from "../../services/agent/backends.ts";
import { diagnosticSettings, openGatewayRecords } from "../../services/diagnostics/diagnostic-log.ts";
import type { Reconciliation } from "../../services/fleet/attach-gateway.ts";
import { answerChallenge, isChallenge } from "../../services/fleet/listener-proof.ts";
import { recoverFromEventLog } from "../../services/queue/recovery.ts";
import { createAnnouncement } from "../../services/sessions/announcement.ts";
import { createLiveFiles, listenAgain, toCurrentInstance } from "../../services/sessions/live-files.ts";
import { gatewayIdentity, readManifest } from "../../services/sessions/manifest.ts";
import { createOwnershipWatch } from "../../services/sessions/ownership-watch.ts";
import type { Registry } from "../../services/sessions/registry.ts";
import { type Environment, sessionPaths } from "../../services/sessions/roots.ts";
import { openSessionFolder } from "../../services/sessions/session-folder.ts";
import { decideToken } from "../../services/sessions/token.ts";
import type { GatewayExecution } from "../../services/status/project.ts";
import { type ProfileSet, profileFor } from "../../services/terminal/profiles/profile.ts";
import { endStrayClients } from "../../services/terminal/tmux/command.ts";
import { removeLeftScripts } from "../../services/terminal/tmux/launch.ts";
import { describeFault, ServiceError } from "../../system/errors.ts";
import type { HttpServer } from "../../system/http-server.ts";
import { createIdleMemory } from "../../system/idle-memory.ts";
import { createServiceList, type ServiceList } from "../../system/service-list.ts";
import { createSocketUpgrade } from "../../system/sockets.ts";
import { faultLine } from "../../system/storage-fault.ts";
import type { System } from "../../system/system.ts";
import { openRecordedTmux } from "../command-line/tmux-socket.ts";
import { selfCommand } from "../command-line/version.ts";
import type { GatewayExtension } from "../extension.ts";
import { createGatewayAgent } from "./gateway-agent.ts";
import { createGatewayCore } from "./gateway-core.ts";
import { isLoopback } from "./gateway-flags.ts";
import type { OpenedGateway } from "./gateway-services.ts";

export interface GatewayOptions {
  system: System;
  sessionRoot: string;
  host: string;
  port: number;
  /** What callers must show; null asks for none unless the session needs one (see `decideToken`). */
  token: string | null;
  /** Neither a remembered nor a new token is wanted. */
  noToken?: boolean;
  /** Web pages that may call besides those that we serve. */
  allowedOrigins?: readonly string[];
  profiles: ProfileSet;
  /** What the turns of a headless agent are started with. */
  env: Environment;
  /** Before what the session's desired-config.json and the contract's defaults say. */
  timings?: Partial<TrackingTimings>;
  /** Default: a separate process. */
  execution?: GatewayExecution;
  /** Where readers of the registry find the gateway; without it nothing is published. */
  registry?: Pick<Registry, "setGateway" | "read">;
  /** The operator's word that the agent's present instance may be worked with (ruling 5). */
  reconcile?: Reconciliation | undefined;
  /**
   * The session folder was removed, or another gateway took this one's place: nobody can reach it any more.
   */
  onGone?: () => void;
  /** Gets each line of the log, for a window that shows it. */
  echo?: (line: string) => void;
  extensions: readonly GatewayExtension[];
}

export interface Gateway {
  manifest: Manifest;
  /** Binds, settles what an earlier process left behind, and serves. Resolves when requests are answered. */
  start(): Promise<{ baseUrl: string; host: string; port: number }>;
  /** Lets what is under way finish, then leaves the session as one without a gateway. The agent lives on. */
  stop(): Promise<void>;
  /** Logs an error that reached nobody, before the process ends of it. */
  logUnhandled(error: unknown): void;
}

/**
 * How long the first look at the terminal may hold up the start; without it the agent counts as unavailable.
 */
const firstLookMs = 3000;
const stopGraceMs = 2000;

/**
 * The composition root of one gateway: it takes the session's folder, makes the services, and starts them in
 * the order of one list. Throws ServiceError: `not_found` or `precondition_failed` for a session that cannot
 * be served, `conflict` when another process serves it.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { system, sessionRoot, env, extensions } = options;
  const { clock, ids, files, locks, processes, steps } = system;

  // The session and its configuration
  const paths = sessionPaths(sessionRoot);
  const manifest = readManifest(files, paths.manifest);
  const { refusal } = backendFacts(manifest.backend);
  if (refusal !== null) {
    throw new ServiceError("unsupported", `no gateway serves the backend ${manifest.backend}: ${refusal}`);
  }
  const identity = gatewayIdentity(manifest, options.execution);
  const folder = openSessionFolder(files, sessionRoot);
  const desired = folder.readDesiredConfig();

  // Its folder, which one gateway holds
  files.ensureDirectory("file:gateway-folder", paths.runRoot);
  const lock = locks.tryTake(paths.gatewayLock);
  if (!lock) throw new ServiceError("conflict", "another gateway already serves this session");
  for (const at of [sessionRoot, paths.gatewayRoot, paths.runRoot])
    files.removeLeftovers("file:leftovers", at);
  removeLeftScripts(files, clock, sessionRoot);
  folder.seed(manifest);

  // Logs, events and stores
  const records = openGatewayRecords({
    files,
    clock,
    paths,
    diagnostics: diagnosticSettings(desired),
    echo: options.echo,
  });
  const { log, events } = records;
  const onError = (what: string) => (error: unknown) => log.line(what, { error: faultLine(error) });
  const database = openGatewayDatabase({ path: paths.queue, clock, steps });
  const store = requestStoreOn(database);
  recoverFromEventLog({ events, store, clock, log });

  // The agent, its queue, and what competes with it for the agent
  const registry = options.registry ?? { read: () => null, setGateway: async () => false };
  const session = {
    system,
    manifest,
    sessionRoot,
    env,
    log,
    profile: profileFor(manifest.tool, options.profiles),
  };
  const driven = createGatewayAgent({
    ...session,
    events,
    timings: { ...defaultTimings, ...desired.desired_tui_tracking_timings, ...options.timings },
    bridgeCommand: [...selfCommand(), "turn-bridge"],
    extensions: extensions.flatMap(({ agent }) => agent ?? []),
  });
  const core = createGatewayCore({ ...session, identity, records, database, driven, registry });
  const { agent, board, reminders, slot } = core;

  // Who may call, and what clients read of this gateway
  const challengeKey = ids.hex(32);
  const token = decideToken({
    given: options.token,
    declined: options.noToken ?? false,
    required: desired.desired_token_required ?? false,
    left: files.read(paths.token)?.trim() || null,
    knowsCallers: system.network.knowsCallers,
    make: () => ids.hex(32),
  });
  let server: HttpServer | null = null;
  const guards = callerGuards({
    allowsHost: hostRule(options.host),
    allowedOrigins: options.allowedOrigins ?? [],
    answerChallenge: (challenge) =>
      server && isChallenge(challenge) ? answerChallenge(challengeKey, challenge, server.port) : null,
  });
  const { tmux, mutex } = openRecordedTmux(system, manifest.tmux.socket, env);
  const announcement = createAnnouncement({
    tmux,
    registry,
    manifest,
    sessionRoot,
    onError: (what, error) => onError(what)(error),
  });
  const ownership = createOwnershipWatch({
    files,
    clock,
    paths,
    watch: system.watch,
    onGone() {
      log.line("the session folder or its instance record is gone; exiting");
      options.onGone?.();
    },
    onError: onError("a file of its clients not written again"),
  });
  const live = createLiveFiles({
    files,
    clock,
    manifest,
    sessionRoot,
    place: ownership,
    onError: onError("state not written"),
  });

  // What is loaded when the gateway answers: to load and compose all routes takes a third of a start
  const sockets = createSocketUpgrade();
  let opening: Promise<OpenedGateway & { list: ServiceList }> | null = null;
  const openServices = () => {
    opening ??= createServices();
    return opening;
  };
  const createServices = async () => {
    const { openGateway, openTypingLeases } = await import("./gateway-services.ts");
    const gateway = { ...core, leases: openTypingLeases(core), sockets, requiresToken: token !== null };
    const parts = await Promise.all(extensions.flatMap(({ open }) => open?.(gateway) ?? []));
    const opened = openGateway(gateway, parts, {
      guards,
      token,
      ownsSession: () => !ownership.gone(),
      mailServed: isLoopback(options.host),
      baseUrl: () => (server && isLoopback(server.host) ? `http://127.0.0.1:${server.port}` : null),
      faults: {
        report(error: unknown) {
          const id = ids.hex(8);
          const { message, stack } = describeFault(error);
          log.line("internal error", { error_id: id, message, stack });
          return id;
        },
      },
    });
    // The first request of a process takes several milliseconds longer than the next.
    await opened.fetch(new Request(`http://127.0.0.1${coreEndpoints.health.path}`));
    return { ...opened, list: createServiceList(opened.services, onNotStopped) };
  };
  /** Null when nothing was opened: a start that failed has said why. */
  const servicesIfOpen = async () => (await opening?.catch(() => null)) ?? null;
  const app = deferredApp({
    guards,
    // With diagnostics, each request is one: the app that makes them answers.
    health: records.diagnostics ? null : { path: coreEndpoints.health.path, body: healthBody },
    load: async () => (await openServices()).fetch,
  });

  /** A clean stop takes the record away: one that is still there was left by a process that died. */
  async function clearUpAfterDeath(): Promise<void> {
    if (!files.exists(paths.currentInstance)) return;
    const ended = await endStrayClients({ tmux, mutex, processes }, manifest.tmux_session_name);
    if (ended.length > 0) log.line("ended the tmux clients of a dead gateway", { count: ended.length });
  }

  /** Binds, and writes down where the gateway listens, for its clients and for the next start. */
  async function listen(): Promise<void> {
    const listener = { fetch: app.fetch, admit: refuseOtherUsers, host: options.host, clock, sockets };
    server = listenAgain(system.network, { ...listener, port: options.port }, { last: live.lastPort, log });
    const { host, port } = server;
    board.setListener({ host, port });
    const { instanceId } = agent.connectivity();
    if (token !== null || options.noToken) folder.saveWish({ tokenRequired: token !== null });
    if (token !== options.token) log.line("callers must show a token", { file: paths.token });
    // Our own clients reach an address other than loopback only where the session says that it was asked for.
    if (!isLoopback(host)) folder.saveWish({ host });
    live.publishKey(challengeKey);
    live.publishToken(token);
    live.keepPort(options.port === 0 ? port : null);
    await announcement.publish({ host, port, hasToken: token !== null });
    live.publish(toCurrentInstance({ identity, processes, host, port, epoch: board.epoch(), instanceId }));
  }

  async function stopListening(): Promise<void> {
    await server?.stop(stopGraceMs);
    // What says otherwise by now is another gateway's.
    if (server === null || ownership.gone()) return;
    await announcement.withdraw();
    live.retire(board.epoch());
  }

  const idleMemory = createIdleMemory({ clock });
  const services = createServiceList(
    [
      { name: "lock of the session", stop: lock.release },
      { name: "database", stop: store.close },
      { name: "logs and events", stop: records.close },
      { name: "stray tmux clients", start: clearUpAfterDeath },
      {
        name: "agent",
        async start() {
          driven.start();
          await driven.firstLook(firstLookMs);
        },
        stop: driven.stop,
      },
      {
        name: "status",
        start() {
          board.refresh();
          if (options.reconcile === "keep") board.keepRequests();
          else if (options.reconcile || board.holdsNothingFor(desired.reconciled_instance_id))
            board.reconcile();
        },
      },
      { name: "reminders", start: reminders.start, stop: reminders.stop },
      { name: "mailbox", stop: async () => (await servicesIfOpen())?.close() },
      { name: "listener", start: listen, stop: stopListening },
      {
        name: "files of the session",
        start() {
          ownership.start();
          live.saveStatus(board.status());
          board.onChange(live.saveStatus);
        },
        stop: ownership.stop,
      },
      { name: "idle memory", start: () => board.onChange(idleMemory.touch), stop: idleMemory.stop },
      { name: "wakes", start: () => agent.onChange(() => slot.changed()) },
      // The first request opens them, also one that comes while the listener is published.
      { name: "opened services", stop: async () => (await servicesIfOpen())?.list.stop() },
      {
        name: "services",
        async start() {
          await app.complete();
          await (await openServices()).list.start();
        },
      },
    ],
    onNotStopped,
  );

  function onNotStopped(what: string, error: unknown): void {
    onError(what)(error);
  }

  return {
    manifest,
    async start() {
      await services.start();
      const { host, port } = server as unknown as HttpServer;
      log.line("gateway started", { host, port, pid: processes.selfPid() });
      return { baseUrl: `http://${host.includes(":") ? `[${host}]` : host}:${port}`, host, port };
    },
    async stop() {
      log.line("gateway stopping");
      await services.stop();
    },
    logUnhandled(error) {
      const { message, stack } = describeFault(error);
      log.line("unhandled error, the gateway ends", { message, stack });
    },
  };
}
