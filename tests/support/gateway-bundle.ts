import { adviseInManager } from "../../src/cli/command-line/remedies.ts";
import type { GatewayPart, OpenGateway } from "../../src/cli/extension.ts";
import { openLedger } from "../../src/cli/extensions/observe/observe-ledger.ts";
import { createGatewayCore } from "../../src/cli/gateway/gateway-core.ts";
import { openGateway, openTypingLeases } from "../../src/cli/gateway/gateway-services.ts";
import { openGatewayDatabase } from "../../src/db/gateway/request-store.ts";
import type { GatewayEvent } from "../../src/protocol/events.ts";
import { gatewayAguiRoutes } from "../../src/routes/bridges/agui.ts";
import { gatewayConsoleRoutes } from "../../src/routes/console/gateway.ts";
import { callerGuards, hostRule } from "../../src/routes/http/gate.ts";
import { gatewayObserveRoutes } from "../../src/routes/observe/app.ts";
import { meterGateway } from "../../src/routes/observe/meter.ts";
import type { Diagnostic } from "../../src/services/diagnostics/diagnostic-log.ts";
import { createAgui } from "../../src/services/extensions/bridges/agui/agui.ts";
import { createLiveTerminal } from "../../src/services/extensions/console/live-terminal.ts";
import { createOwnAgent } from "../../src/services/extensions/console/own-agent.ts";
import {
  createTranscript,
  toAskedRequest,
} from "../../src/services/extensions/observe/transcript/transcript.ts";
import type { TurnSource } from "../../src/services/extensions/observe/transcript/turn-source.ts";
import { createMailBinding, type MailboxOpener } from "../../src/services/mail/binding.ts";
import { toTimestamp } from "../../src/system/clock.ts";
import type { Service } from "../../src/system/service-list.ts";
import { createSocketUpgrade } from "../../src/system/sockets.ts";
import { quietSteps, type Steps } from "../../src/system/steps.ts";
import { createSystem } from "../../src/system/system.ts";
import { consoleServices } from "./console-services.ts";
import { createFakeAgent, type FakeAgent } from "./fake-agent.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";
import { createFakeMail, type FakeMail } from "./fake-mailbox.ts";
import { fakeRecorder } from "./fake-recorder.ts";
import { fakeTurn, fakeTurns } from "./fake-transcript.ts";
import { sampleMailbox } from "./fleet-fakes.ts";
import { sampleManifest } from "./session-samples.ts";

interface GatewayBundleOptions {
  path?: string;
  /** What the clock shows at first, epoch milliseconds. */
  startMs?: number;
  steps?: Steps;
  /** Each write of the queue's file, and whether it is on disk when it returns. */
  onWrite?: (label: string, durable: boolean) => void;
  agent?: FakeAgent;
  /** Where the agent works: mail takes attachments from there. */
  workdir?: string;
  start?: boolean;
  token?: string;
  allowedOrigins?: readonly string[];
  /** Gets the diagnostics of requests; without it none are made. */
  diagnostics?: (diagnostic: Diagnostic) => void;
  /** Instead of one turn, `turn-one`. */
  turnSource?: TurnSource;
  /** Instead of the mailboxes in memory. */
  mail?: FakeMail;
  /** Instead of how the agent's mailbox in it is opened. */
  opener?: Partial<MailboxOpener>;
  /** False for a listener that is open to others. */
  mailServed?: boolean;
}

export type GatewayBundle = ReturnType<typeof createGatewayBundle>;

/**
 * A gateway over a fake agent, a fake clock and a real SQLite database. The agent's mailbox is
 * `worker@svc.localhost`; `other@svc.localhost` is there too.
 */
export function createGatewayBundle(options: GatewayBundleOptions = {}) {
  const { agent = createFakeAgent(), steps = quietSteps, token = null, mailServed = true } = options;
  const clock: FakeClock = createFakeClock(options.startMs);
  const ids = countedIds();
  const system = { ...createSystem(steps), clock, ids };
  const records = recordsInMemory(clock);
  const faults: unknown[] = [];
  const opened = openGatewayDatabase({ path: options.path ?? ":memory:", clock, steps });
  const core = createGatewayCore({
    system,
    manifest: sampleManifest({
      agentName: "fake",
      agentId: "id-fake",
      workdir: options.workdir ?? "/home/user/project",
    }),
    sessionRoot: "/sessions/one",
    profile: null,
    env: {},
    log: records.log,
    identity: {
      attachIdentity: "session-1",
      backend: "local_interactive",
      tmuxSessionName: "SVC-fake-1",
      agentName: "fake",
      executionMode: "detached_process",
    },
    records: {
      log: records.log,
      events: records.eventLog,
      diagnostics: options.diagnostics ? { record: options.diagnostics, close: () => {} } : null,
    },
    database: {
      ...opened,
      write(label, change, how) {
        options.onWrite?.(label, how?.durable ?? true);
        return opened.write(label, change, how);
      },
    },
    driven: { agent, terminal: null, observe: () => {} },
    registry: { read: () => null },
  });
  // A lease whose name tests know before it is taken.
  const leases = openTypingLeases({
    ...core,
    system: { ...system, ids: { ...ids, hex: () => "0".repeat(32) } },
  });
  const open = { ...core, leases, sockets: createSocketUpgrade(), requiresToken: token !== null };
  const mail: FakeMail = options.mail ?? createFakeMail({ clock });
  for (const address of [sampleMailbox.address, "other@svc.localhost"]) mail.open(address);
  const gateway = openGateway(
    open,
    [aguiPart(open), observePart(open, options.turnSource), consolePart(open)],
    {
      guards: callerGuards({
        allowsHost: hostRule("127.0.0.1"),
        allowedOrigins: options.allowedOrigins ?? [],
      }),
      token,
      ownsSession: () => false,
      mailServed,
      baseUrl: () => (mailServed ? "http://127.0.0.1:4000" : null),
      mail: createMailBinding({
        readBinding: () => sampleMailbox,
        openers: {
          filesystem: {
            open: ({ address }) => mail.open(address),
            obstacle: () => null,
            close: () => {},
            ...options.opener,
          },
        },
        clock,
      }),
      faults: { report: (error) => `fault-${faults.push(error)}` },
    },
  );
  const { reminders } = core;
  // Tests count the events of what they do, and memory alone has no fault that would have to be looked for.
  const isInMemory = options.path === undefined && options.steps === undefined;
  const omitted = ["events of the gateway", ...(isInMemory ? ["storage watch"] : [])];
  const services: Service[] = [
    { name: "reminders", start: reminders.start, stop: reminders.stop },
    ...gateway.services.filter(({ name }) => !omitted.includes(name)),
  ];
  agent.onChange(() => core.slot.changed());
  core.board.refresh();
  if (options.start ?? true) for (const service of services) service.start?.();
  const stop = async () => {
    for (const service of services.toReversed()) await service.stop?.();
  };
  return {
    clock,
    agent,
    store: core.requests,
    queue: core.queue,
    board: core.board,
    reminders,
    notifier: gateway.notifier,
    app: gateway.app,
    fetch: gateway.fetch,
    leases,
    mail,
    events: records.events,
    /** How many follow the events now. */
    followers: records.followers,
    logged: records.logged,
    faults,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      gateway.close();
      core.requests.close();
    },
  };
}

function countedIds() {
  let counter = 0;
  return {
    hex: (bytes: number) => (counter++).toString(16).padStart(bytes * 2, "0"),
    uuid: () => `u${counter++}`,
  };
}

function recordsInMemory(clock: FakeClock) {
  const events: GatewayEvent[] = [];
  const logged: string[] = [];
  const listeners = new Set<(event: GatewayEvent) => void>();
  return {
    events,
    logged,
    followers: () => listeners.size,
    log: { line: (text: string) => void logged.push(text) },
    eventLog: {
      append(kind: string, fields = {}) {
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
      storedWith: () => [],
      flush: () => {},
    },
  };
}

function aguiPart({
  system: { clock, ids },
  agent,
  board,
  queue,
  records: { events },
}: OpenGateway): GatewayPart {
  const agui = createAgui({ agent, board, queue, events, clock, ids });
  return { routes: gatewayAguiRoutes(agui), services: [{ name: "AG-UI", stop: agui.close }] };
}

/** A recorder with one moment, one turn unless `source` has others, and a ledger that counts nothing. */
function observePart(gateway: OpenGateway, source = fakeTurns([fakeTurn("turn-one")])): GatewayPart {
  const { system, board, requests, records } = gateway;
  const metrics = meterGateway({
    clock: system.clock,
    events: records.events,
    status: board.status,
    spans: () => null,
    facts: { version: "0.0.0", tool: "demo" },
  });
  return {
    routes: gatewayObserveRoutes({
      recorder: fakeRecorder(),
      transcript: createTranscript({
        sources: () => [source],
        request: (requestId) => toAskedRequest(requests.get(requestId)),
      }),
      ledger: openLedger(gateway, { counted: () => [] }),
      metrics,
      answers: gateway.answers,
    }),
    services: [{ name: "metrics", stop: metrics.close }],
  };
}

/** The console with one small script as its page, and no terminal. */
function consolePart({
  system,
  agent,
  board,
  queue,
  leases,
  sockets,
  requiresToken,
  answers,
  ...session
}: OpenGateway): GatewayPart {
  const { clock, files } = system;
  const console = consoleServices({ clock, surface: "gateway", requiresToken });
  const ownAgent = createOwnAgent({
    agent,
    board,
    queue,
    clock,
    files,
    readManifest: sampleManifest,
    manifestPath: `${session.sessionRoot}/manifest.json`,
    sessionRoot: session.sessionRoot,
    advise: adviseInManager,
  });
  return {
    signedIn: console.signIn.accepts,
    routes: gatewayConsoleRoutes({
      console,
      sockets,
      answers,
      ownAgent: async () => ownAgent,
      terminal: createLiveTerminal({ leases, pane: null, epoch: board.epoch }),
      screen: {
        async *follow() {
          yield { item: "heartbeat" };
        },
      },
    }),
  };
}
