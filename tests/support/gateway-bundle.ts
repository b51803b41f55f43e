import { adviseInManager } from "../../src/cli/command-line/remedies.ts";
import { ledgerStoreOn } from "../../src/db/gateway/ledger-store.ts";
import { notifierStoreOn } from "../../src/db/gateway/notifier-store.ts";
import { reminderStoreOn } from "../../src/db/gateway/reminder-store.ts";
import {
  openGatewayDatabase,
  type RequestStore,
  requestStoreOn,
} from "../../src/db/gateway/request-store.ts";
import type { GatewayEvent } from "../../src/protocol/events.ts";
import { gatewayAguiRoutes } from "../../src/routes/bridges/agui.ts";
import { gatewayConsoleRoutes } from "../../src/routes/console/gateway.ts";
import { createGatewayApp, type GatewayApp } from "../../src/routes/gateway/app.ts";
import { createGate, hostRule } from "../../src/routes/http/gate.ts";
import type { HttpObservation } from "../../src/routes/http/observe.ts";
import { gatewayObserveRoutes } from "../../src/routes/observe/app.ts";
import { meterGateway } from "../../src/routes/observe/meter.ts";
import { type Agui, createAgui } from "../../src/services/agui/agui.ts";
import { createLiveTerminal } from "../../src/services/console/live-terminal.ts";
import { createOwnAgent } from "../../src/services/console/own-agent.ts";
import { createEventStream } from "../../src/services/diagnostics/event-stream.ts";
import { createLedger } from "../../src/services/ledger/ledger.ts";
import { createMailFacade } from "../../src/services/mail/facade.ts";
import type { Mailbox } from "../../src/services/mail/mailbox.ts";
import { createNotifier, type Notifier } from "../../src/services/notifier/notifier.ts";
import {
  createHeadlessControl,
  createKeyControl,
  createPromptControl,
} from "../../src/services/prompt/prompt-control.ts";
import { createTypingLeases, type TypingLeases } from "../../src/services/prompt/typing-lease.ts";
import { createQueue, type Queue } from "../../src/services/queue/queue.ts";
import { createExecutionSlot } from "../../src/services/queue/slot.ts";
import { createReminders, type Reminders } from "../../src/services/reminders/reminders.ts";
import {
  createStatusBoard,
  createStorageWatch,
  type StatusBoard,
} from "../../src/services/status/status-board.ts";
import { createTranscript, toAskedRequest } from "../../src/services/transcript/transcript.ts";
import type { TurnSource } from "../../src/services/transcript/turn-source.ts";
import { toTimestamp } from "../../src/system/clock.ts";
import { createFiles } from "../../src/system/files.ts";
import { quietSteps, type Steps } from "../../src/system/steps.ts";
import { consoleServices } from "./console-services.ts";
import { createFakeAgent, type FakeAgent } from "./fake-agent.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";
import { createFakeMail, type FakeMail } from "./fake-mailbox.ts";
import { fakeRecorder } from "./fake-recorder.ts";
import { fakeTurn, fakeTurns } from "./fake-transcript.ts";
import { sampleManifest } from "./session-samples.ts";

export interface GatewayBundle extends AsyncDisposable {
  clock: FakeClock;
  agent: FakeAgent;
  store: RequestStore;
  queue: Queue;
  board: StatusBoard;
  reminders: Reminders;
  notifier: Notifier;
  app: GatewayApp;
  agui: Agui;
  leases: TypingLeases;
  /** The agent's mailbox is `worker@svc.localhost`; `other@svc.localhost` is there too. */
  mail: FakeMail;
  events: GatewayEvent[];
  /** How many follow the events now. */
  followers(): number;
  logged: string[];
  faults: unknown[];
}

/** The services and routes of a gateway over a fake agent, a fake clock and a real SQLite database. */
export function createGatewayBundle(
  options: {
    path?: string;
    /** What the clock shows at first, epoch milliseconds. */
    startMs?: number;
    steps?: Steps;
    /** Each write of the queue's file, and whether it is on disk when it returns. */
    onWrite?: (label: string, durable: boolean) => void;
    agent?: FakeAgent;
    start?: boolean;
    token?: string;
    allowedOrigins?: readonly string[];
    observation?: HttpObservation;
    /** Instead of one turn, `turn-one`. */
    turnSource?: TurnSource;
    /** Instead of the mailboxes in memory. */
    mail?: FakeMail;
    /** Instead of the agent's mailbox in it; may throw what a binding throws. */
    mailbox?: () => Mailbox;
    /** False for a listener that is open to others. */
    mailServed?: boolean;
  } = {},
): GatewayBundle {
  const clock = createFakeClock(options.startMs);
  const agent = options.agent ?? createFakeAgent();
  const steps = options.steps ?? quietSteps;
  const opened = openGatewayDatabase({ path: options.path ?? ":memory:", clock, steps });
  const database: typeof opened = {
    ...opened,
    write(label, change, how) {
      options.onWrite?.(label, how?.durable ?? true);
      return opened.write(label, change, how);
    },
  };
  const store = requestStoreOn(database);
  const events: GatewayEvent[] = [];
  const logged: string[] = [];
  const faults: unknown[] = [];
  const listeners = new Set<(event: GatewayEvent) => void>();
  const eventLog = {
    append: (kind: string, fields = {}) => {
      const event = { ...fields, seq: events.length + 1, kind, at_utc: toTimestamp(clock.nowMs()) };
      events.push(event);
      for (const listener of listeners) listener(event);
    },
    subscribe(listener: (event: GatewayEvent) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    readEvents: ({ afterSeq, limit }: { afterSeq: number; limit: number }) => ({
      events: events.filter((event) => event.seq > afterSeq).slice(0, limit),
      firstSeq: events[0]?.seq ?? 0,
      lastSeq: events.length,
    }),
  };
  const stream = createEventStream({ events: eventLog, clock });
  const log = { line: (text: string) => void logged.push(text) };
  let counter = 0;
  const ids = {
    hex: (bytes: number) => (counter++).toString(16).padStart(bytes * 2, "0"),
    uuid: () => `u${counter++}`,
  };
  const slot = createExecutionSlot();
  const storage = createStorageWatch({
    fault: store.fault,
    clock,
    onChange: () => slot.changed(),
    onError: () => {},
  });
  const board: StatusBoard = createStatusBoard({
    identity: {
      attachIdentity: "session-1",
      backend: "local_interactive",
      tmuxSessionName: "SVC-fake-1",
      agentName: "fake",
      executionMode: "detached_process",
    },
    store,
    agent,
    events: eventLog,
    log,
    clock,
    storage: storage.problem,
    slot: slot.report,
    onReconciled: slot.recount,
  });
  slot.join("status", { wake: board.refresh });
  const { admission, block, epoch } = board;
  const queue: Queue = createQueue({
    store,
    agent,
    clock,
    ids,
    events: eventLog,
    log,
    admission,
    block,
    epoch,
    slot,
  });
  const reminders: Reminders = createReminders({
    agent,
    clock,
    ids,
    events: eventLog,
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
  const prompt = createPromptControl({ agent, queue, slot, board, events: eventLog, log, clock });
  const mail = options.mail ?? createFakeMail({ clock });
  const worker = mail.open("worker@svc.localhost");
  mail.open("other@svc.localhost");
  const mailbox = options.mailbox ?? (() => worker);
  const notifier = createNotifier({
    store: notifierStoreOn(database),
    agent,
    queue,
    board,
    clock,
    log,
    mail: {
      current: mailbox,
      supported() {
        try {
          mailbox();
          return { supported: options.mailServed ?? true, error: null };
        } catch (error) {
          return { supported: false, error: (error as Error).message };
        }
      },
      onArrival: (listener) => worker.onArrival(listener),
    },
    context: { compactUnsupported: () => "compact needs codex", tend: async () => null },
    baseUrl: () => ((options.mailServed ?? true) ? "http://127.0.0.1:4000" : null),
    skillInstalled: () => false,
    onChange: () => slot.changed("notifier"),
  });
  const transcript = createTranscript({
    sources: () => [options.turnSource ?? fakeTurns([fakeTurn("turn-one")])],
    request: (requestId) => toAskedRequest(store.get(requestId)),
  });
  const ledger = createLedger({
    clock,
    events: eventLog,
    requests: store,
    tool: "demo",
    store: ledgerStoreOn(database),
    sources: () => [fakeTurns([])],
    countedSinceMs: () => null,
    onChange: () => board.refresh(),
    onProblem: () => {},
  });
  const agui = createAgui({ agent, board, queue, events: eventLog, clock, ids });
  const leases = createTypingLeases({
    agent,
    board,
    clock,
    events: eventLog,
    // The same for each lease: tests name it before it is taken.
    ids: { ...ids, hex: () => "0".repeat(32) },
    onChange: () => slot.changed("typing"),
  });
  slot.join("typing", {
    report(all) {
      all.typing = leases.current();
    },
  });
  const console = consoleServices({ clock, surface: "gateway", asksForToken: options.token !== undefined });
  const ownAgent = createOwnAgent({
    agent,
    board,
    queue,
    clock,
    files: createFiles({ ids, steps }),
    readManifest: sampleManifest,
    manifestPath: "/sessions/one/manifest.json",
    sessionRoot: "/sessions/one",
    advise: adviseInManager,
  });
  const app = createGatewayApp({
    services: {
      leases,
      board,
      queue,
      prompt,
      headless: createHeadlessControl({ agent, status: board.status }),
      keys: createKeyControl({ agent, board, events: eventLog, clock }),
      mail: createMailFacade({
        bound: () => ({ mailbox: mailbox(), bindingsVersion: "2026-01-01T00:00:00.000001+00:00" }),
        served: options.mailServed ?? true,
      }),
      notifier,
      reminders,
      agent,
      stream,
    },
    extensions: [
      ...gatewayAguiRoutes(agui),
      ...gatewayObserveRoutes({
        recorder: fakeRecorder(),
        transcript,
        ledger,
        metrics: meterGateway({
          clock,
          events: eventLog,
          status: board.status,
          spans: () => null,
          facts: { version: "0.0.0", tool: "demo" },
        }),
      }),
      ...gatewayConsoleRoutes({
        console,
        ownAgent: async () => ownAgent,
        terminal: createLiveTerminal({ leases, pane: null, epoch: board.epoch }),
        sockets: { upgrade: () => false },
        screen: {
          async *follow() {
            yield { item: "heartbeat" };
          },
        },
      }),
    ],
    guards: createGate({
      allowsHost: hostRule("127.0.0.1"),
      allowedOrigins: options.allowedOrigins ?? [],
      token: options.token ?? null,
      signedIn: console.signIn.accepts,
    }),
    ...(options.observation ? { observation: options.observation } : {}),
    faults: { report: (error) => `fault-${faults.push(error)}` },
  });
  agent.onChange(() => {
    board.refresh();
    queue.wake();
    reminders.wake();
    notifier.wake();
  });
  board.refresh();
  if (options.start ?? true) {
    queue.start();
    // Memory alone has no fault that would have to be looked for.
    if (options.path !== undefined || options.steps !== undefined) storage.start();
    reminders.start();
    notifier.start();
  }
  return {
    clock,
    agent,
    store,
    queue,
    board,
    reminders,
    notifier,
    app,
    agui,
    leases,
    mail,
    events,
    followers: () => listeners.size,
    logged,
    faults,
    async [Symbol.asyncDispose]() {
      stream.close();
      agui.close();
      await storage.stop();
      await notifier.stop();
      await queue.stop();
      await reminders.stop();
      store.close();
    },
  };
}
