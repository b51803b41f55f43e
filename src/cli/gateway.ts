import { reminderStoreOn } from "../db/gateway/reminder-store.ts";
import { openGatewayDatabase, requestStoreOn } from "../db/gateway/request-store.ts";
import { coreEndpoints } from "../protocol/core-endpoints.ts";
import type { Manifest } from "../protocol/files.ts";
import { healthBody } from "../protocol/gateway.ts";
import { defaultTimings, type TrackingTimings } from "../protocol/terminal.ts";
import { deferredApp } from "../routes/http/deferred-app.ts";
import { hostRule, refuseOtherUsers } from "../routes/http/gate.ts";
import { backendFacts } from "../services/agent/backends.ts";
import { diagnosticSettings, openGatewayRecords } from "../services/diagnostics/diagnostic-log.ts";
import { answerChallenge, isChallenge } from "../services/fleet/listener-proof.ts";
import { createKeyControl, createPromptControl } from "../services/prompt/prompt-control.ts";
import { createQueue } from "../services/queue/queue.ts";
import { recoverFromEventLog } from "../services/queue/recovery.ts";
import { createExecutionSlot } from "../services/queue/slot.ts";
import { createReminders } from "../services/reminders/reminders.ts";
import { createAnnouncement } from "../services/sessions/announcement.ts";
import { readDesiredConfig, saveWish } from "../services/sessions/desired-config.ts";
import { gatewayIdentity, seedGatewayFolder } from "../services/sessions/gateway-folder.ts";
import { createLiveFiles, listenAgain, toCurrentInstance } from "../services/sessions/live-files.ts";
import { readManifest } from "../services/sessions/manifest.ts";
import { createOwnershipWatch } from "../services/sessions/ownership-watch.ts";
import type { Registry } from "../services/sessions/registry.ts";
import { type Environment, sessionPaths } from "../services/sessions/roots.ts";
import { decideToken } from "../services/sessions/token.ts";
import type { GatewayExecution } from "../services/status/project.ts";
import { createStatusBoard, createStorageWatch } from "../services/status/status-board.ts";
import { type CompiledProfile, type ProfileSet, profileFor } from "../services/terminal/profile.ts";
import { endStrayClients } from "../services/terminal/tmux-command.ts";
import { removeLeftScripts } from "../services/terminal/tmux-launch.ts";
import { describeFault, ServiceError } from "../system/errors.ts";
import type { HttpServer } from "../system/http-server.ts";
import { createIdleMemory, type IdleMemory } from "../system/idle-memory.ts";
import { createSocketUpgrade } from "../system/sockets.ts";
import { faultLine } from "../system/storage-fault.ts";
import type { System } from "../system/system.ts";
import type { DeferredServices } from "./deferred-services.ts";
import { createGatewayAgent } from "./gateway-agent.ts";
import { isLoopback } from "./gateway-flags.ts";
import { openLedger } from "./gateway-ledger.ts";
import { openRecordedTmux } from "./tmux-socket.ts";
import { selfCommand } from "./version.ts";

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
  reconcile?: boolean;
  /**
   * The session folder was removed, or another gateway took this one's place: nobody can reach it any more.
   */
  onGone?: () => void;
  /** Gets each line of the log, for a window that shows it. */
  echo?: (line: string) => void;
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
 * The composition root of one gateway. Throws ServiceError: `not_found` or `precondition_failed` for a
 * session that cannot be served, `conflict` when another process serves it.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { system, sessionRoot } = options;
  const { clock, ids, files, locks, processes, steps } = system;

  // The session and its configuration
  const paths = sessionPaths(sessionRoot);
  const manifest = readManifest(files, paths.manifest);
  const { refusal } = backendFacts(manifest.backend);
  if (refusal !== null) {
    throw new ServiceError("unsupported", `no gateway serves the backend ${manifest.backend}: ${refusal}`);
  }
  const identity = gatewayIdentity(manifest, options.execution);
  const folder = { manifest, sessionRoot };
  const desired = readDesiredConfig(files, sessionRoot);

  // Its folder, which one gateway holds
  files.ensureDirectory("file:gateway-folder", paths.runRoot);
  const lock = locks.tryTake(paths.gatewayLock);
  if (!lock) throw new ServiceError("conflict", "another gateway already serves this session");
  for (const at of [sessionRoot, paths.gatewayRoot, paths.runRoot])
    files.removeLeftovers("file:leftovers", at);
  removeLeftScripts(files, clock, sessionRoot);

  seedGatewayFolder(files, folder);

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

  // The agent
  const profile: CompiledProfile | null = profileFor(manifest.tool, options.profiles);
  const driven = createGatewayAgent({
    system,
    manifest,
    sessionRoot,
    profile,
    log,
    events,
    timings: { ...defaultTimings, ...desired.desired_tui_tracking_timings, ...options.timings },
    env: options.env,
    bridgeCommand: [...selfCommand(), "turn-bridge"],
    onTurnEnd: () => ledger.countSoon(),
  });
  const ledger = openLedger({
    system,
    sessionRoot,
    manifest,
    records,
    database,
    requests: store,
    driven,
    onChange: () => board.refresh(),
  });
  const agent = ledger.noting(driven.agent);

  // Services: those that compete for the agent join its execution slot
  const slot = createExecutionSlot();
  const storage = createStorageWatch({
    fault: store.fault,
    clock,
    onChange: () => slot.changed(),
    onError: onError("watching the disk failed"),
  });
  const board = createStatusBoard({
    identity,
    store,
    agent,
    events,
    log,
    clock,
    storage: storage.problem,
    slot: slot.report,
    onReconciled: slot.recount,
    tokens: ledger.sum,
  });
  const { admission, block, epoch } = board;
  slot.join("status", { wake: board.refresh });
  slot.join("turns", {
    report(all) {
      all.turn = agent.turns?.active() != null;
    },
  });
  const queue = createQueue({ store, agent, clock, ids, events, log, admission, block, epoch, slot });
  const reminders = createReminders({
    agent,
    clock,
    ids,
    events,
    log,
    admission,
    store: reminderStoreOn(database),
    queue: () => ({ depth: queue.depth(), running: slot.refusal("reminder") !== null }),
    onChange: () => slot.changed("reminders"),
  });
  slot.join("reminders", {
    report(all) {
      all.reminder = reminders.phase();
      all.remindersLost = reminders.lost();
    },
    wake: reminders.wake,
  });
  const prompt = createPromptControl({ agent, queue, slot, board, events, log, clock });
  const keys = createKeyControl({ agent, board, events, clock });

  // The app
  const sockets = createSocketUpgrade();
  let server: HttpServer | null = null;
  const challengeKey = ids.hex(32);
  const token = decideToken({
    given: options.token,
    declined: options.noToken ?? false,
    required: desired.desired_token_required ?? false,
    left: files.readOwn(paths.token)?.trim() || null,
    knowsCallers: system.network.knowsCallers,
    make: () => ids.hex(32),
  });
  const appOptions = {
    services: { board, queue, prompt, keys, agent },
    gate: {
      allowsHost: hostRule(options.host),
      allowedOrigins: options.allowedOrigins ?? [],
      token,
      answerChallenge: (challenge: string) =>
        server && isChallenge(challenge) ? answerChallenge(challengeKey, challenge, server.port) : null,
    },
    faults: {
      report(error: unknown) {
        const id = ids.hex(8);
        const { message, stack } = describeFault(error);
        log.line("internal error", { error_id: id, message, stack });
        return id;
      },
    },
  };

  // What others read of this gateway
  const { tmux, mutex } = openRecordedTmux(system, manifest.tmux.socket, options.env);
  const registry = options.registry ?? { read: () => null, setGateway: async () => false };
  const announcement = createAnnouncement({
    tmux,
    registry,
    manifest,
    sessionRoot,
    onError: (what, error) => onError(what)(error),
  });
  const place = createOwnershipWatch({
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
    folder,
    place,
    onError: onError("state not written"),
  });

  // What is made while it starts
  let deferred: DeferredServices | null = null;
  let opening: Promise<DeferredServices> | null = null;
  let idleMemory: IdleMemory | null = null;
  let started: Promise<boolean> | null = null;

  /** A clean stop takes the record away: one that is still there was left by a process that died. */
  async function clearUpAfterDeath(): Promise<void> {
    if (!files.exists(paths.currentInstance)) return;
    const ended = await endStrayClients({ tmux, mutex, processes }, manifest.tmux_session_name);
    if (ended.length > 0) log.line("ended the tmux clients of a dead gateway", { count: ended.length });
  }

  /** What health need not wait for: once the gateway has published where it is, or once it is asked for. */
  function openDeferred(): Promise<DeferredServices> {
    opening ??= createDeferred();
    return opening;
  }

  async function createDeferred(): Promise<DeferredServices> {
    const { createDeferredServices } = await import("./deferred-services.ts");
    deferred = createDeferredServices({
      system,
      sessionRoot,
      manifest,
      profile,
      records,
      database,
      agent,
      queue,
      board,
      reminders,
      ledger,
      turnSources: driven.turnSources,
      sockets,
      slot,
      reads: driven.reads,
      pane: driven.pane,
      recorded: driven.recorded,
      registry,
      env: options.env,
      app: appOptions,
      mailServed: isLoopback(options.host),
      baseUrl: () => (server && isLoopback(server.host) ? `http://127.0.0.1:${server.port}` : null),
    });
    const { notifier } = deferred;
    slot.join("notifier", {
      report(all) {
        Object.assign(all, { contextMaintenance: notifier.busyWith(), wakesHeld: notifier.wakesHeld() });
      },
      wake: notifier.wake,
    });
    return deferred;
  }

  /**
   * Answers at once whether the gateway runs. To load and compose all routes takes a third of a start: all
   * else waits.
   */
  const app = deferredApp({
    gate: appOptions.gate,
    // With diagnostics, each request is one: the app that makes them answers.
    health: records.diagnostics ? null : { path: coreEndpoints.health.path, body: healthBody },
    whole: async () => (await openDeferred()).openApp(),
  });

  /** Writes down where the gateway listens, for its clients and for the next start. */
  async function publish({ host, port }: HttpServer): Promise<void> {
    board.setListener({ host, port });
    const { instanceId } = agent.connectivity();
    if (token !== null || options.noToken) saveWish(files, sessionRoot, { tokenRequired: token !== null });
    if (token !== options.token) log.line("callers must show a token", { file: paths.token });
    // Our own clients reach an address other than loopback only where the session says that it was asked for.
    if (!isLoopback(host)) saveWish(files, sessionRoot, { host });
    live.publishKey(challengeKey);
    live.publishToken(token);
    live.keepPort(options.port === 0 ? port : null);
    await announcement.publish({ host, port, hasToken: token !== null });
    live.publish(toCurrentInstance({ identity, processes, host, port, epoch: board.epoch(), instanceId }));
  }

  function followChanges(): void {
    place.start();
    live.saveStatus(board.status());
    board.onChange(live.saveStatus);
    idleMemory = createIdleMemory({ clock });
    board.onChange(idleMemory.touch);
    agent.onChange(() => slot.changed());
  }

  async function start() {
    await clearUpAfterDeath();
    driven.start();
    ledger.countSoon();
    await driven.firstLook(firstLookMs);
    board.refresh();
    if (options.reconcile || board.holdsNothingFor(desired.reconciled_instance_id)) board.reconcile();
    const listener = { fetch: app.fetch, admit: refuseOtherUsers, host: options.host, clock, sockets };
    server = listenAgain(system.network, { ...listener, port: options.port }, { last: live.lastPort, log });
    const { host, port } = server;
    reminders.start();
    await publish(server);
    followChanges();
    await app.complete();
    const { notifier, observers, budgets } = await openDeferred();
    await observers.start();
    budgets.start();
    queue.start();
    storage.start();
    notifier.start();
    log.line("gateway started", { host, port, pid: processes.selfPid() });
    events.append("gateway_started", { managed_agent_instance_epoch: board.epoch() });
    return { baseUrl: `http://${host.includes(":") ? `[${host}]` : host}:${port}`, host, port };
  }

  /** `announced`: others may have heard of this gateway, and are to hear of its end. */
  const end = async (announced: boolean): Promise<void> => {
    place.stop();
    idleMemory?.stop();
    await storage.stop();
    await deferred?.notifier.stop();
    await deferred?.budgets.stop();
    await queue.stop();
    await reminders.stop();
    deferred?.endStreams();
    await server?.stop(stopGraceMs);
    await ledger.stop();
    await driven.stop();
    // What says otherwise by now is another gateway's.
    if (announced && !place.gone()) await announcement.withdraw();
    deferred?.close();
    if (announced && !place.gone()) {
      live.retire(board.epoch());
      events.append("gateway_stopped");
    }
    records.close();
    await deferred?.observers.stop();
    store.close();
    lock.release();
  };

  return {
    manifest,
    async start() {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      started = promise;
      try {
        const listening = await start();
        resolve(true);
        return listening;
      } catch (error) {
        await end(server !== null).catch(onError("not all was closed"));
        resolve(false);
        throw error;
      }
    },
    async stop() {
      // A signal may come while the start is under way: what that still opens must be closed after it.
      if (started && !(await started)) return;
      log.line("gateway stopping");
      await end(true);
    },
    logUnhandled(error) {
      const { message, stack } = describeFault(error);
      log.line("unhandled error, the gateway ends", { message, stack });
    },
  };
}
