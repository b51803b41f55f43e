import { mkdirSync } from "node:fs";
import { join } from "node:path";
// A world passes in one turn of the event loop, in which nothing can be loaded.
import "../../src/routes/bridges/agui.ts";
import "../../src/services/extensions/bridges/agui/agui.ts";
import "../../src/cli/extensions/console/console-gateway.ts";
import { loadGatewayExtensions } from "../../src/cli/extensions.ts";
import "../../src/cli/extensions/observe/observe-gateway.ts";
import "../../src/cli/gateway/gateway-services.ts";
import "../../src/services/extensions/observe/recorder/redact.ts";
import { createGateway, type Gateway } from "../../src/cli/gateway/gateway.ts";
import type { Manifest } from "../../src/protocol/files.ts";
import { renderJson } from "../../src/protocol/json.ts";
import type { DemoLogRecord } from "../../src/services/demo/log.ts";
import type { MailRound } from "../../src/services/demo/script.ts";
import type { GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { defaultMailbox } from "../../src/services/mail/address.ts";
import { registerMailbox } from "../../src/services/mail/binding-register.ts";
import { type MailRoot, openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import { createManifestStore } from "../../src/services/sessions/manifest.ts";
import { buildRecord } from "../../src/services/sessions/record.ts";
import { createRegistry } from "../../src/services/sessions/registry.ts";
import { sessionPaths, sessionRootOf } from "../../src/services/sessions/roots.ts";
import { toTimestamp } from "../../src/system/clock.ts";
import type { HostileScript } from "../support/hostile/script.ts";
import { sampleManifest } from "../support/session-samples.ts";
import type { Dice } from "./dice.ts";
import { createPollOracle, type PollOracle } from "./poll-oracle.ts";
import { createRequestOracle, leaveOfLane, type RequestOracle } from "./request-oracle.ts";
import { createSimPane } from "./sim-pane.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimSession } from "./sim-session.ts";
import { createSimTmux, type SimTmux } from "./sim-tmux.ts";
import type { SimWorld } from "./sim-world.ts";
import { createSurfaceOracle, type Leave, type SurfaceOracle } from "./surface-oracle.ts";

const createExtensions = await loadGatewayExtensions();

/** One agent in its session, with the gateway beside it. */
export interface SimHost {
  readonly name: string;
  readonly address: string;
  readonly sessionRoot: string;
  readonly tmux: SimTmux;
  readonly requests: RequestOracle;
  readonly polls: PollOracle;
  readonly surface: SurfaceOracle;
  /** The gateway that answers now; null while none does. */
  gateway(): { process: SimProcess; client: GatewayClient } | null;
  /** A gateway that is on its way up counts. */
  hasGateway(): boolean;
  /** Since when it answers. */
  gatewaySinceMs(): number;
  startGateway(): Promise<void>;
  stopGateway(): Promise<void>;
  crashGateway(why: string): void;
  /** The agent is launched in a fresh pane of the same session, or of a new one. */
  launch(where: "same_session" | "new_session", foreign?: boolean): void;
  /** The program ends and leaves a shell. */
  endAgent(): void;
  endSession(): void;
  person(bytes: string): void;
  /** Texts that were asked for past the queue, and what they may be typed into. */
  allow(text: string, leave: Leave): void;
  isAllowed(text: string): boolean;
  /** Every text that the agent says it took, with how often. */
  taken(): ReadonlyMap<string, number>;
  close(): void;
}

export interface SimHostOptions {
  world: SimWorld;
  name: string;
  index: number;
  dice: Dice;
  script: () => HostileScript;
  onMailRound: (host: SimHost, turn: number, round: MailRound) => void;
}

/** What the product itself types past the queue. */
const ownCommands: readonly string[] = ["/clear", "/compact", "/new"];

export async function createSimHost(options: SimHostOptions): Promise<SimHost> {
  const { world, name, index, dice } = options;
  const { clock, trace, fail } = world;
  const sessionName = `SVC-${name}-1`;
  const sessionId = `local_interactive-20260105-080000Z-0000000${index}`;
  const sessionRoot = sessionRootOf(join(world.folder, "runtime"), "local_interactive", sessionId);
  const paths = sessionPaths(sessionRoot);
  const watched = { path: paths.queue, nowMs: clock.nowMs, fail: (what: string) => fail(name, what) };
  const polls = createPollOracle(watched);
  const requests = createRequestOracle({
    ...watched,
    onNew(request) {
      if (request.kind === "mail_notifier_prompt") polls.enqueued(request.id);
    },
  });
  const taken = new Map<string, number>();
  /**
   * What a person typed since the last paste: it may come between our last look and Enter, and goes along.
   */
  let pasted: { text: string; behind: string } | null = null;
  const allowed = new Map<string, Leave>(ownCommands.map((text) => [text, "turn_boundary"]));
  let lives = 0;
  let up: { process: SimProcess; gateway: Gateway; client: GatewayClient | null } | null = null;

  const surface = createSurfaceOracle({
    nowMs: clock.nowMs,
    session: () => tmux.session(),
    leaveOf,
    fail: (what) => fail(name, what),
  });
  const tmux: SimTmux = createSimTmux({
    clock,
    dice: dice.fork("tmux"),
    onLook: surface.looked,
    onTyped(pid, typed, sentMs) {
      const what = "text" in typed ? JSON.stringify(typed.text.slice(0, 60)) : typed.name;
      trace.note(name, `gets ${typed.kind} ${what}`);
      surface.typed(pid, typed, sentMs);
      if (typed.kind === "paste") pasted = { text: typed.text, behind: "" };
    },
  });

  function leaveOf(
    text: string,
    instance: Parameters<Parameters<typeof createSurfaceOracle>[0]["leaveOf"]>[1],
  ) {
    const request = requests.running(text);
    if (!request) return allowed.get(text) ?? null;
    const meant = requests.instanceOf(request.epoch);
    if (meant !== null && meant !== instance.id && instance.seenByMs(launchedMs)) {
      fail(name, `replayed over an epoch: ${request.id} was for ${meant} and went to ${instance.id}`);
    }
    return leaveOfLane(request.lane);
  }
  let launchedMs = 0;
  let servesSinceMs = 0;

  function onLog(record: DemoLogRecord): void {
    if (record.kind !== "submitted") {
      if (record.kind === "exited" || record.kind.startsWith("menu"))
        trace.note(name, `agent: ${record.kind}`);
      return;
    }
    trace.note(name, `agent took ${JSON.stringify(record.text.slice(0, 60))} by ${record.by}`);
    const withLetters = pasted !== null && record.text === `${pasted.text}${pasted.behind}`;
    const text = withLetters ? (pasted?.text ?? "") : record.text;
    if (text !== record.text) world.count("taken_with_letters");
    taken.set(text, (taken.get(text) ?? 0) + 1);
    pasted = null;
  }

  function launch(where: "same_session" | "new_session", foreign = false): void {
    const before = tmux.session();
    const same = where === "same_session" && before !== null;
    lives += 1;
    before?.pane.close();
    const mine = lives;
    const pane = createSimPane({
      clock,
      foreign,
      script: options.script(),
      onOutput() {
        if (mine !== lives) return;
        surface.observe();
        tmux.output();
      },
      onLog: (record) => (mine === lives ? onLog(record) : undefined),
      onMailRound: (turn, round) => options.onMailRound(host, turn, round),
    });
    const session: SimSession = {
      name: sessionName,
      id: same ? before.id : `$${lives}`,
      created: same ? before.created : Math.floor(clock.nowMs() / 1000) + 1,
      paneId: "%0",
      panePid: 1000 * (index + 1) + lives,
      programPid: 1000 * (index + 1) + 500 + lives,
      pane,
      environment: same ? before.environment : new Map(),
      inMode: false,
    };
    launchedMs = clock.nowMs();
    trace.note(
      name,
      `launched in ${session.id}, process ${session.panePid}${foreign ? ", another program" : ""}`,
    );
    tmux.setSession(session);
    surface.observe();
  }

  async function startGateway(): Promise<void> {
    if (up) return;
    const process = world.spawn(`gw-${name}`, {
      tmux,
      afterStep(label) {
        if (/^sql:(request|instance|reconcile|migrate)/.test(label)) requests.committed();
        if (label === "sql:notifier-poll") polls.recorded();
      },
    });
    const ended = Promise.withResolvers<void>();
    process.onEnd(() => {
      if (up?.process === process) up = null;
      polls.gatewayEnded();
      ended.resolve();
    });
    try {
      const gateway = createGateway({
        system: process.system,
        sessionRoot,
        host: "127.0.0.1",
        port: 0,
        token: null,
        profiles: [],
        env: world.env,
        registry: world.registryFor(process),
        extensions: createExtensions(),
      });
      const mine = { process, gateway, client: null as GatewayClient | null };
      up = mine;
      const listening = gateway.start();
      // Of one that dies meanwhile nothing comes any more.
      await Promise.race([listening, ended.promise]);
      if (!process.alive()) return;
      const { baseUrl } = await listening;
      trace.note(name, "gateway serves");
      mine.client = world.clientOf(baseUrl);
      servesSinceMs = clock.nowMs();
    } catch (error) {
      if (process.alive()) trace.note(name, `gateway did not start: ${String(error)}`);
      if (process.alive() && world.quietMs() > 0) fail(name, `the gateway did not start: ${String(error)}`);
      process.exit();
    }
  }

  const host: SimHost = {
    name,
    address: defaultMailbox(name).address,
    sessionRoot,
    tmux,
    requests,
    polls,
    surface,
    gateway: () => (up?.client ? { process: up.process, client: up.client } : null),
    hasGateway: () => up !== null,
    gatewaySinceMs: () => servesSinceMs,
    startGateway,
    async stopGateway() {
      const mine = up;
      if (!mine?.client) return;
      trace.note(name, "gateway is told to stop");
      const ended = Promise.withResolvers<void>();
      mine.process.onEnd(() => ended.resolve());
      const stopping = mine.gateway.stop().catch((error) => {
        if (mine.process.alive()) fail(name, `stop failed: ${String(error)}`);
      });
      await Promise.race([stopping, ended.promise]);
      mine.process.exit();
      trace.note(name, "gateway has stopped");
    },
    crashGateway: (why) => up?.process.kill(why),
    launch,
    endAgent() {
      trace.note(name, "the program is killed");
      tmux.session()?.pane.end();
    },
    endSession() {
      trace.note(name, "the session is ended");
      lives += 1;
      tmux.session()?.pane.close();
      tmux.setSession(null);
      surface.observe();
    },
    person(bytes) {
      trace.note(name, `person types ${JSON.stringify(bytes)}`);
      if (pasted) pasted.behind += bytes;
      tmux.session()?.pane.input(bytes);
    },
    allow: (text, leave) => void allowed.set(text, leave),
    isAllowed: (text) => allowed.has(text),
    taken: () => taken,
    close() {
      up?.process.exit();
      tmux.session()?.pane.close();
      requests.close();
      polls.close();
    },
  };

  await register();
  launch("new_session");
  return host;

  /** What a launch leaves on disk. */
  async function register(): Promise<void> {
    const { files, locks } = world.outside;
    mkdirSync(sessionRoot, { recursive: true, mode: 0o700 });
    const manifest: Manifest = sampleManifest({
      createdAtUtc: toTimestamp(world.outside.clock.nowMs()),
      agentName: name,
      agentId: `id-${name}`,
      sessionId,
      workdir: world.folder,
      tmux: { sessionName, windowName: "agent", windowId: "@0", paneId: "%0", socket: null },
    });
    files.write("file:manifest", paths.manifest, renderJson(manifest));
    const registry = createRegistry({
      ...world.outside,
      root: world.registryRoot,
      sessionAlive: async () => true,
    });
    await registry.publish(
      buildRecord({
        manifest,
        manifestPath: paths.manifest,
        sessionRoot,
        nowMs: world.outside.clock.nowMs(),
      }),
    );
    const root: MailRoot = openMailRoot(world.outside, world.mailRoot);
    await registerMailbox(
      { clock: world.outside.clock, manifests: createManifestStore({ files, locks }), registry },
      { manifest, manifestPath: paths.manifest },
      root,
      { mode: "safe" },
    );
    root.close();
  }
}
