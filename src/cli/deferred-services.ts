import { basename } from "node:path";
import packageManifest from "../../package.json" with { type: "json" };
import { ledgerStoreOn } from "../db/gateway/ledger-store.ts";
import { notifierStoreOn } from "../db/gateway/notifier-store.ts";
import { type GatewayDatabase, requestStoreOn } from "../db/gateway/request-store.ts";
import { coreEndpoints } from "../protocol/core-endpoints.ts";
import type { Manifest } from "../protocol/files.ts";
import { createGatewayApp } from "../routes/gateway/app.ts";
import type { GatewayAppOptions } from "../routes/gateway/core.ts";
import { meterGateway } from "../routes/gateway/meter.ts";
import type { CoreServices, GatewayServices } from "../routes/gateway/services.ts";
import { type Fetch, observeHttp } from "../routes/http/observe.ts";
import type { Agent } from "../services/agent/agent.ts";
import { createAgui } from "../services/agui/agui.ts";
import { createLiveTerminal } from "../services/console/live-terminal.ts";
import { createPaneScreen } from "../services/console/pane-screen.ts";
import { followScreens } from "../services/console/screens.ts";
import { createSignIn } from "../services/console/sign-in.ts";
import type { GatewayRecords } from "../services/diagnostics/diagnostic-log.ts";
import { createEventStream } from "../services/diagnostics/event-stream.ts";
import type { Ledger } from "../services/ledger/ledger.ts";
import { bindingOf, createMailBinding } from "../services/mail/binding.ts";
import { createMailFacade, observeMail } from "../services/mail/facade.ts";
import { createContextMaintenance } from "../services/notifier/config.ts";
import { createNotifier } from "../services/notifier/notifier.ts";
import { isSkillInstalled } from "../services/notifier/render.ts";
import { createHeadlessControl } from "../services/prompt/prompt-control.ts";
import { createTypingLeases } from "../services/prompt/typing-lease.ts";
import type { Queue } from "../services/queue/queue.ts";
import type { ExecutionSlot } from "../services/queue/slot.ts";
import { createRecorderControl } from "../services/recorder/recorder-control.ts";
import type { Reminders } from "../services/reminders/reminders.ts";
import { attachmentRoots } from "../services/sessions/desired-config.ts";
import { readManifest } from "../services/sessions/manifest.ts";
import type { Registry } from "../services/sessions/registry.ts";
import { type Environment, sessionPaths } from "../services/sessions/roots.ts";
import type { StatusBoard } from "../services/status/status-board.ts";
import type { CompiledProfile } from "../services/terminal/profile.ts";
import { createTraceControl } from "../services/traces/trace-control.ts";
import { createTranscript, toAskedRequest } from "../services/transcript/transcript.ts";
import type { SocketUpgrade } from "../system/sockets.ts";
import type { System } from "../system/system.ts";
import { consoleAssets } from "./console-archive.ts";
import type { GatewayAgent } from "./gateway-agent.ts";
import { openBudgets } from "./gateway-budget.ts";
import { mailboxOpeners } from "./mailbox-openers.ts";
import { adviseInManager } from "./remedies.ts";

/** What a gateway has when it begins to answer. */
interface GatewayCore {
  system: System;
  sessionRoot: string;
  manifest: Manifest;
  env: Environment;
  profile: CompiledProfile | null;
  records: GatewayRecords;
  database: GatewayDatabase;
  agent: Agent;
  turnSources: GatewayAgent["turnSources"];
  reads: GatewayAgent["reads"];
  pane: GatewayAgent["pane"];
  recorded: GatewayAgent["recorded"];
  sockets: SocketUpgrade;
  /** The typing lease joins it, and what the notifier does changes it; the recorder hears of its choices. */
  slot: Pick<ExecutionSlot, "join" | "changed" | "onDecision">;
  queue: Queue;
  board: StatusBoard;
  reminders: Reminders;
  ledger: Ledger;
  registry: Pick<Registry, "read">;
  /** What its app is made with, but for what this module adds. */
  app: GatewayAppOptions<CoreServices>;
  /** Mail is served here at all: on loopback only (contract 4.1 mail rule 2). */
  mailServed: boolean;
  /** Where the agent reaches this gateway; null before it listens and where mail is not served. */
  baseUrl: () => string | null;
}

/** Between two pictures of the screen for one reader. */
const screenGapMs = 100;

/** What a gateway has beside its queue and its terminal. */
export type DeferredServices = ReturnType<typeof createDeferredServices>;

/**
 * Mail, its notifier, AG-UI, streams of events and the app with all routes: what a gateway makes when it
 * answers already. To load it with the framework takes a third of a start, so nothing that health waits for
 * imports this module.
 */
export function createDeferredServices(core: GatewayCore) {
  const { system, sessionRoot, manifest, env, agent, queue, board, reminders } = core;
  const { clock, ids, files } = system;
  const { log, events, diagnostics } = core.records;
  const paths = sessionPaths(sessionRoot);
  const requests = requestStoreOn(core.database);
  const notices = notifierStoreOn(core.database);
  const traces = createTraceControl({
    files,
    clock,
    log,
    events,
    requests,
    sessionRoot,
    env,
    network: system.network,
    notifier: notices,
    agent: {
      agentId: manifest.agent_id,
      agentName: manifest.agent_name,
      tool: manifest.tool,
      version: packageManifest.version,
    },
  });
  const metrics = meterGateway({
    events,
    clock,
    status: board.status,
    spans: traces.counts,
    facts: { version: packageManifest.version, tool: manifest.tool },
  });
  const stream = createEventStream({ events, clock, onGiven: metrics.streamed });
  const agui = createAgui({ agent, board, queue, events, clock, ids });
  const mailBinding = createMailBinding({
    readBinding: () => bindingOf(() => readManifest(files, paths.manifest)),
    openers: mailboxOpeners(
      system,
      (what) => {
        log.line("mailbox state lost", { error: what });
        events.append("mailbox_state_rebuilt", { detail: what });
      },
      (what) => log.line("mail fault", { error: what }),
    ),
    clock,
    watchBinding: (listener) =>
      system.watch.watchFolder(sessionRoot, (name) => {
        if (name === null || name === basename(paths.manifest)) listener();
      }),
  });
  const mailFacade = createMailFacade({
    bound: mailBinding.bound,
    served: core.mailServed,
    attachmentRoots: () => attachmentRoots(files, { manifest, sessionRoot }),
  });
  const transcript = createTranscript({
    sources: core.turnSources,
    request: (requestId) => toAskedRequest(requests.get(requestId)),
  });
  const notifier = createNotifier({
    store: notices,
    agent,
    queue,
    board,
    clock,
    log,
    mail: mailBinding,
    context: createContextMaintenance({ agent, commands: core.profile?.data.commands ?? null }),
    baseUrl: core.baseUrl,
    skillInstalled: () => isSkillInstalled(files, manifest, env),
    onChange: () => core.slot.changed("notifier"),
  });
  const leases = createTypingLeases({
    agent,
    board,
    clock,
    ids,
    events,
    onChange: () => core.slot.changed("typing"),
  });
  core.slot.join("typing", {
    report(all) {
      all.typing = leases.current();
    },
  });
  const recorder = createRecorderControl({
    files,
    clock,
    log,
    sessionRoot,
    events,
    queue,
    slot: core.slot,
    terminal: core.recorded,
    agentName: manifest.agent_name,
    tracked: core.profile !== null,
  });
  const budgets = openBudgets({
    system,
    sessionRoot,
    manifest,
    env,
    log,
    registry: core.registry,
    ledger: core.ledger,
    slot: core.slot,
    groups: ledgerStoreOn(core.database).groups,
  });
  const ended = new AbortController();
  const source = createPaneScreen({
    agentId: manifest.agent_id,
    reads: core.reads,
    epoch: board.epoch,
    nowMs: clock.nowMs,
  });
  const screen: GatewayServices["screen"] = {
    follow: ({ signal }) =>
      followScreens({
        clock,
        sources: [source],
        gapMs: screenGapMs,
        signal: AbortSignal.any([signal, ended.signal]),
      }),
  };
  const signIn = createSignIn({ clock, ids });
  let ownAgent: ReturnType<GatewayServices["ownAgent"]> | null = null;
  const openOwnAgent = async () => {
    const { createOwnAgent } = await import("../services/console/own-agent.ts");
    return createOwnAgent({
      files,
      clock,
      agent,
      board,
      queue,
      sessionRoot,
      advise: adviseInManager,
      manifestPath: paths.manifest,
      readManifest: () => readManifest(files, paths.manifest),
    });
  };
  const observation = diagnostics && observeHttp({ clock, ids, record: diagnostics.record });
  const app = createGatewayApp({
    ...core.app,
    ...(observation ? { observation } : {}),
    gate: { ...core.app.gate, signedIn: signIn.accepts },
    services: {
      ...core.app.services,
      mail: diagnostics ? observeMail(mailFacade, diagnostics.record) : mailFacade,
      headless: createHeadlessControl({ agent, status: board.status }),
      notifier,
      reminders,
      stream,
      agui,
      transcript,
      screen,
      leases,
      recorder,
      ledger: core.ledger,
      terminal: createLiveTerminal({ leases, pane: core.pane, epoch: board.epoch }),
      sockets: core.sockets,
      metrics,
      ownAgent() {
        ownAgent ??= openOwnAgent();
        return ownAgent;
      },
      console: {
        assets: consoleAssets(system.processes),
        signIn,
        asksForToken: core.app.gate.token !== null,
        nonce: () => ids.hex(16),
        identity: () => ({
          surface: "gateway",
          agent: {
            agent_id: manifest.agent_id,
            agent_name: manifest.agent_name,
            tool: manifest.tool,
          },
          version: packageManifest.version,
        }),
      },
    },
  });
  return {
    /**
     * The app with all routes, once it has answered a first request, which takes several milliseconds longer
     * than the next.
     */
    async openApp(): Promise<Fetch> {
      const fetch = metrics.around(app);
      await fetch(new Request(`http://127.0.0.1${coreEndpoints.health.path}`));
      return observation ? observation.around({ fetch, routes: app.routes }) : fetch;
    },
    /** Not started. */
    notifier,
    budgets,
    /** The recorder and the traces: they begin before the queue works, and end once everything is written. */
    observers: {
      async start() {
        await recorder.start();
        await traces.start();
      },
      async stop() {
        await traces.stop();
        await recorder.stop();
      },
    },
    /** Ends every stream of events, so that a stopping server need not wait for its readers. */
    endStreams(): void {
      ended.abort();
      leases.stop();
      core.sockets.close();
      stream.close();
      agui.close();
      metrics.close();
    },
    /** Closes the mailbox; after the server has stopped. */
    close: mailBinding.close,
  };
}
