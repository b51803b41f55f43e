import type { Manifest } from "../protocol/files.ts";
import type { TrackingTimings } from "../protocol/terminal.ts";
import type { Agent } from "../services/agent/agent.ts";
import { backendFacts } from "../services/agent/backends.ts";
import { createStartupAnswers } from "../services/agent/startup-answers.ts";
import { createTerminalAgent } from "../services/agent/terminal-agent.ts";
import type { PaneReads } from "../services/console/pane-screen.ts";
import type { EventLog } from "../services/diagnostics/event-log.ts";
import type { Log } from "../services/diagnostics/gateway-log.ts";
import { createHeadlessConnectivity } from "../services/headless/connectivity.ts";
import { createHeadlessAgent } from "../services/headless/headless-agent.ts";
import { headlessProvider } from "../services/headless/providers.ts";
import { createTurnDirectories } from "../services/headless/turn-directory.ts";
import { createTurnPane, createTurnRunner } from "../services/headless/turn-runner.ts";
import type { RecordedAgent } from "../services/recorder/open-recorder.ts";
import { launchEnvironmentFault } from "../services/sessions/environment.ts";
import { createManifestStore, isUnattended } from "../services/sessions/manifest.ts";
import { createManifestWatch, requireManifest } from "../services/sessions/manifest-watch.ts";
import { type Environment, sessionPaths } from "../services/sessions/roots.ts";
import { signalsAbsence } from "../services/signals/handover.ts";
import type { ReportSource } from "../services/signals/spool-source.ts";
import { createNoSource, createSpoolSource } from "../services/signals/spool-source.ts";
import type { CompiledProfile } from "../services/terminal/profile.ts";
import { newTransitions } from "../services/terminal/reduce-transition.ts";
import { createControlConnection } from "../services/terminal/tmux-control.ts";
import { createExclusivePane } from "../services/terminal/tmux-exclusive-pane.ts";
import { panesOf } from "../services/terminal/tmux-pane-reader.ts";
import { followPane, type PaneFrame } from "../services/terminal/tmux-pane-stream.ts";
import { captureWithScrollback } from "../services/terminal/tmux-screen.ts";
import { createTracker, type Tracker } from "../services/terminal/tracker.ts";
import { maxCapturedRows } from "../services/transcript/screen-turn.ts";
import {
  createSessionTranscript,
  headlessSources,
  type SessionTranscript,
} from "../services/transcript/session-transcript.ts";
import type { TurnSource } from "../services/transcript/turn-source.ts";
import { messageOf, ServiceError } from "../system/errors.ts";
import type { System } from "../system/system.ts";
import { openRecordedTmux } from "./tmux-socket.ts";

interface GatewayAgentOptions {
  system: System;
  manifest: Manifest;
  sessionRoot: string;
  /** Null for a tool that no profile describes. */
  profile: CompiledProfile | null;
  timings: TrackingTimings;
  log: Log;
  events: EventLog;
  /** What the turns of a headless agent are started with. */
  env: Environment;
  bridgeCommand: readonly string[];
  /** A turn has ended, or may have. Absent: nobody counts. */
  onTurnEnd?: () => void;
}

/** The agent of a gateway with everything that watches it. */
export interface GatewayAgent {
  agent: Agent;
  /** Where the text of its turns is read, the oldest first. */
  turnSources(): readonly TurnSource[];
  /** Where its tokens are counted: the same, or the newest turns of an agent that has many. */
  countedSources(): readonly TurnSource[];
  /** What is read of its terminal; null for an agent without one. */
  reads: PaneReads | null;
  /** Its terminal, live; null for an agent without one. */
  pane: ((signal: AbortSignal) => AsyncGenerator<PaneFrame>) | null;
  /** What a recorder keeps of its terminal; null for an agent without one. */
  recorded: RecordedAgent["terminal"];
  start(): void;
  /** Resolves when something is known of the agent, or after `timeoutMs`. */
  firstLook(timeoutMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** Wires the agent of a session by its backend. Throws `unsupported` for a tool that has no headless form. */
export function createGatewayAgent(options: GatewayAgentOptions): GatewayAgent {
  return backendFacts(options.manifest.backend).headless ? headless(options) : terminal(options);
}

function connect({ system, manifest, log, env }: GatewayAgentOptions) {
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

function reportsOf({ system, manifest, sessionRoot, log }: GatewayAgentOptions): ReportSource {
  const absence = signalsAbsence(manifest);
  return absence === null ? createSpoolSource({ ...system, log, sessionRoot }) : createNoSource(absence);
}

function terminal(options: GatewayAgentOptions): GatewayAgent {
  const { system, manifest, sessionRoot, profile, log, events } = options;
  const { clock, ids, steps } = system;
  const manifestWatch = createManifestWatch({
    ...system,
    path: sessionPaths(sessionRoot).manifest,
    onError: (error) => log.line("watching the manifest failed", { error: messageOf(error) }),
  });
  const { tmux, mutex, control } = connect(options);
  const reports = reportsOf(options);
  const tracker = createTracker({
    ...options,
    control,
    tmux,
    clock,
    processes: system.processes,
    reports,
  });
  const transcript = createSessionTranscript({
    files: system.files,
    clock,
    log,
    manifest,
    sessionRoot,
    profile,
    env: options.env,
    async capture() {
      const paneId = tracker.paneId();
      return paneId === null ? null : captureWithScrollback(control, paneId, maxCapturedRows);
    },
  });
  tracker.subscribe((state, { before, material }) => {
    if (!material) return;
    for (const transition of newTransitions(before, state)) events.append("terminal_state", transition);
  });
  const agent = createTerminalAgent({
    backend: manifest.backend,
    tool: manifest.tool,
    profile,
    view: {
      ...tracker,
      promptTyped(text, command) {
        if (!command) transcript.recorder.promptTyped(text);
        tracker.promptTyped(text, command);
      },
    },
    exclusivePane: createExclusivePane({ control, mutex, ids, steps, paneId: tracker.paneId }),
    clock,
    log,
  });
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
    agent: requireManifest(agent, manifestWatch),
    turnSources: transcript.sources,
    countedSources: transcript.sources,
    reads: { observation: tracker.lastObservation, subscribe: tracker.subscribe },
    pane: (signal) => followPane({ control, clock, paneId: tracker.paneId, signal }),
    recorded: {
      state: tracker.state,
      subscribe: tracker.subscribe,
      pane: (signal) => followPane({ control, clock, paneId: tracker.paneId, signal, overpaint: false }),
    },
    start() {
      control.start();
      tracker.start();
      manifestWatch.start();
      startupAnswers?.start();
      // After the tracker, which knows by then whose report it is.
      reports.subscribe((report) => transcript.reported(report, tracker.conversation()));
      followTurns(tracker, transcript, options.onTurnEnd);
    },
    firstLook: (timeoutMs) => tracker.firstLook(timeoutMs),
    async stop() {
      startupAnswers?.stop();
      await transcript.recorder.stop();
      await manifestWatch.stop();
      await tracker.stop();
      await control.stop();
    },
  };
}

/** A turn runs from the first state that says so to the first that calls the agent ready. */
function followTurns(tracker: Tracker, { recorder }: SessionTranscript, onTurnEnd = () => {}): void {
  let runs = false;
  tracker.subscribe(({ turn: { phase } }) => {
    if (phase === "unknown" || runs === (phase === "active")) return;
    runs = !runs;
    if (runs) recorder.turnBegan();
    else {
      recorder.turnEnded();
      onTurnEnd();
    }
  });
}

/** Reports the end of each turn before anybody can begin the next one. */
function followEnds(agent: Agent, onTurnEnd = () => {}): () => void {
  let ran = false;
  return agent.onChange(() => {
    const runs = agent.turns?.active() != null;
    if (ran && !runs) onTurnEnd();
    ran = runs;
  });
}

/** Of a headless agent: more that no gateway saw end are not counted. */
const countedTurns = 200;

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
    environmentFault: (read) => launchEnvironmentFault(files, sessionRoot, read),
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
  let ends: (() => void)[] = [];
  return {
    agent,
    turnSources: headlessSources(files, sessionRoot),
    countedSources: headlessSources(files, sessionRoot, countedTurns),
    reads: null,
    pane: null,
    recorded: null,
    start() {
      ends = [
        control.onEvent(connectivity.wake),
        watch.watchFolder(sessionRoot, connectivity.wake),
        followEnds(agent, options.onTurnEnd),
      ];
      control.start();
      agent.start();
    },
    // The first look is at tmux itself and needs no limit: each of its commands has one.
    firstLook: () => agent.firstLook(),
    async stop() {
      for (const end of ends) end();
      await agent.stop();
      await control.stop();
    },
  };
}
