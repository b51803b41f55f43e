import type { TrackingTimings } from "../../protocol/terminal.ts";
import type { Agent } from "../../services/agent/agent.ts";
import type {
  AgentExtension,
  AgentObserver,
  ReadableTerminal,
  WatchedSession,
} from "../../services/agent/agent-observer.ts";
import { backendFacts } from "../../services/agent/backends.ts";
import { createStartupAnswers } from "../../services/agent/startup-answers.ts";
import { createTerminalAgent } from "../../services/agent/terminal-agent.ts";
import type { EventLog } from "../../services/diagnostics/event-log.ts";
import { createHeadlessConnectivity } from "../../services/headless/connectivity.ts";
import { createHeadlessAgent } from "../../services/headless/headless-agent.ts";
import { headlessProvider } from "../../services/headless/providers.ts";
import { createTurnDirectories } from "../../services/headless/turn-directory.ts";
import { createTurnPane, createTurnRunner } from "../../services/headless/turn-runner.ts";
import { createManifestStore, isUnattended } from "../../services/sessions/manifest.ts";
import { createManifestWatch, requireManifest } from "../../services/sessions/manifest-watch.ts";
import { sessionPaths } from "../../services/sessions/roots.ts";
import { openSessionFolder } from "../../services/sessions/session-folder.ts";
import { newTransitions } from "../../services/terminal/state/reduce-transition.ts";
import { createControlConnection } from "../../services/terminal/tmux/control.ts";
import { createExclusivePane } from "../../services/terminal/tmux/exclusive-pane.ts";
import { panesOf } from "../../services/terminal/tmux/pane-reader.ts";
import { followPane } from "../../services/terminal/tmux/pane-stream.ts";
import { captureWithScrollback } from "../../services/terminal/tmux/screen.ts";
import { createTracker } from "../../services/terminal/tracker.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import { openRecordedTmux } from "../command-line/tmux-socket.ts";

/** What watches the terminal of an agent. */
interface TerminalOptions extends WatchedSession {
  timings: TrackingTimings;
  /** What follows the agent from its first moment. */
  extensions: readonly AgentExtension[];
}

/** `env`: what the turns of a headless agent are started with. */
interface GatewayAgentOptions extends TerminalOptions {
  events: Pick<EventLog, "append">;
  bridgeCommand: readonly string[];
}

/** The agent of a gateway with everything that watches it. */
export interface GatewayAgent {
  agent: Agent;
  /** Null for an agent without one. */
  terminal: ReadableTerminal | null;
  observe(observer: AgentObserver): void;
  start(): void;
  /** Resolves when something is known of the agent, or after `timeoutMs`. */
  firstLook(timeoutMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** Wires the agent of a session by its backend. Throws `unsupported` for a tool that has no headless form. */
export function createGatewayAgent(options: GatewayAgentOptions): GatewayAgent {
  return backendFacts(options.manifest.backend).headless ? headless(options) : terminal(options);
}

function connect({ system, manifest, log, env }: WatchedSession) {
  const { socket } = manifest.tmux;
  const { tmux, mutex, refusal } = openRecordedTmux(system, socket, env);
  const control = createControlConnection({
    processes: system.processes,
    clock: system.clock,
    mutex,
    refusal,
    session: manifest.tmux_session_name,
    currentName: () => tmux.currentName(manifest.tmux_session_name),
    log: (message) => log.line(message),
    ...(socket === undefined ? {} : { socket }),
  });
  return { tmux, mutex, control };
}

/** An agent's terminal, watched with all that the extensions add. Nothing is written to it. */
export function watchTerminal(options: TerminalOptions) {
  const { system, extensions } = options;
  const { clock, processes } = system;
  const { tmux, mutex, control } = connect(options);
  const reports = extensions.find((one) => one.reports)?.reports?.(options) ?? null;
  const tracker = createTracker({ ...options, control, tmux, clock, processes, reports });
  const readable: ReadableTerminal = {
    state: tracker.state,
    observation: tracker.lastObservation,
    subscribe: tracker.subscribe,
    pane: (signal, how) => followPane({ control, clock, paneId: tracker.paneId, signal, ...how }),
    async capture(scrolledRows) {
      const paneId = tracker.paneId();
      return paneId === null ? null : captureWithScrollback(control, paneId, scrolledRows);
    },
  };
  const observers = extensions.flatMap(({ observe }) => observe?.(options, readable) ?? []);
  return {
    tracker,
    control,
    mutex,
    readable,
    observers,
    start() {
      control.start();
      tracker.start();
      // After the tracker, which knows by then whose report it is.
      reports?.subscribe((report) => {
        for (const observer of observers) observer.reported?.(report, tracker.conversation());
      });
      followTurns(tracker, observers);
    },
    firstLook: (timeoutMs: number): Promise<void> => tracker.firstLook(timeoutMs),
    async stop() {
      for (const observer of observers) await observer.stop?.();
      await tracker.stop();
      await control.stop();
    },
  };
}

/** The agent in a watched terminal, to be driven. */
export function driveTerminal(
  { tracker, control, mutex, observers }: ReturnType<typeof watchTerminal>,
  { system, manifest, profile, log }: WatchedSession,
) {
  const { clock, ids, steps } = system;
  return createTerminalAgent({
    backend: manifest.backend,
    tool: manifest.tool,
    profile,
    view: {
      ...tracker,
      promptTyped(text, command) {
        if (!command) for (const observer of observers) observer.promptTyped?.(text);
        tracker.promptTyped(text, command);
      },
    },
    exclusivePane: createExclusivePane({ control, mutex, ids, steps, paneId: tracker.paneId }),
    clock,
    log,
  });
}

function terminal(options: GatewayAgentOptions): GatewayAgent {
  const { system, manifest, sessionRoot, profile, log, events } = options;
  const manifestWatch = createManifestWatch({
    ...system,
    path: sessionPaths(sessionRoot).manifest,
    onError: (error) => log.line("watching the manifest failed", { error: messageOf(error) }),
  });
  const watched = watchTerminal(options);
  const { tracker, readable, observers } = watched;
  tracker.subscribe((state, { before, material }) => {
    if (!material) return;
    for (const transition of newTransitions(before, state)) events.append("terminal_state", transition);
  });
  const agent = driveTerminal(watched, options);
  const startupAnswers =
    profile && isUnattended(manifest)
      ? createStartupAnswers({
          view: tracker,
          profile,
          decide: agent.decide,
          log,
          onAnswered(answer) {
            tracker.noteStartupAnswer(answer);
            events.append("startup_answered", answer);
          },
        })
      : null;
  return {
    agent: announcePrompts(requireManifest(agent, manifestWatch), observers),
    terminal: readable,
    observe: (observer) => void observers.push(observer),
    start() {
      watched.start();
      manifestWatch.start();
      startupAnswers?.start();
    },
    firstLook: watched.firstLook,
    async stop() {
      startupAnswers?.stop();
      await manifestWatch.stop();
      await watched.stop();
    },
  };
}

/** The agent, whose observers hear of each prompt that begins. */
function announcePrompts(agent: Agent, observers: readonly AgentObserver[]): Agent {
  return {
    ...agent,
    async reserve(submission) {
      const permit = await agent.reserve(submission);
      if (!permit.ready) return permit;
      return {
        ...permit,
        submit() {
          for (const observer of observers) observer.promptBegins?.(submission);
          return permit.submit();
        },
      };
    },
  };
}

/** A turn runs from the first state that says so to the first that calls the agent ready. */
function followTurns(
  tracker: Pick<ReadableTerminal, "subscribe">,
  observers: readonly AgentObserver[],
): void {
  let isRunning = false;
  tracker.subscribe(({ turn: { phase } }) => {
    if (phase === "unknown" || isRunning === (phase === "active")) return;
    isRunning = !isRunning;
    for (const observer of observers) {
      if (isRunning) observer.turnBegan?.();
      else observer.turnEnded?.();
    }
  });
}

/** The same of an agent whose turns are processes. */
function followProcesses(agent: Agent, observers: readonly AgentObserver[]): () => void {
  let isRunning = false;
  return agent.onChange(() => {
    const wasRunning = isRunning;
    isRunning = agent.turns?.active() != null;
    if (isRunning === wasRunning) return;
    for (const observer of observers) {
      if (isRunning) observer.turnBegan?.();
      else observer.turnEnded?.();
    }
  });
}

function headless(options: GatewayAgentOptions): GatewayAgent {
  const { system, manifest, sessionRoot, log, events } = options;
  const { clock, files, locks, processes, watch } = system;
  const provider = headlessProvider(manifest.tool);
  if (!provider) throw new ServiceError("unsupported", `${manifest.tool} has no headless form that we drive`);
  const { tmux, mutex, control } = connect(options);
  const manifests = createManifestStore({ files, locks });
  const manifestPath = sessionPaths(sessionRoot).manifest;
  const turns = createTurnDirectories({ files, sessionRoot });
  const connectivity = createHeadlessConnectivity({
    clock,
    tmux: { panes: (session) => panesOf({ control, tmux }, session) },
    readManifest: () => manifests.read(manifestPath),
    onError: (error) => log.line("looking for the agent failed", { error: messageOf(error) }),
    environmentFault: (read) => openSessionFolder(files, sessionRoot).launchVariablesFault(read),
  });
  const settling = { clock, files, processes, locks, providerOf: headlessProvider };
  const pane = createTurnPane({
    ...system,
    tmux,
    sessionRoot,
    bridgeCommand: options.bridgeCommand,
    personEnvironment: options.env,
    over: { control, mutex },
  });
  const runner = createTurnRunner({
    ...settling,
    ids: system.ids,
    watch,
    log,
    turns,
    pane,
    manifests,
    manifestPath,
    events,
  });
  const agent = createHeadlessAgent({
    ...settling,
    backend: manifest.backend,
    tool: manifest.tool,
    provider,
    connectivity,
    turns,
    runner,
    log,
  });
  const observers = options.extensions.flatMap(({ observe }) => observe?.(options, null) ?? []);
  let ends: (() => void)[] = [];
  return {
    agent,
    terminal: null,
    observe: (observer) => void observers.push(observer),
    start() {
      ends = [
        control.onEvent(connectivity.wake),
        watch.watchFolder(sessionRoot, connectivity.wake),
        followProcesses(agent, observers),
      ];
      control.start();
      agent.start();
    },
    // The first look is at tmux itself and needs no limit: each of its commands has one.
    firstLook: () => agent.firstLook(),
    async stop() {
      for (const end of ends) end();
      for (const observer of observers) await observer.stop?.();
      await agent.stop();
      await control.stop();
    },
  };
}
