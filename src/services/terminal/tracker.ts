import type { Manifest } from "../../protocol/files.ts";
import {
  defaultTimings,
  type TerminalExplanation,
  type TerminalHistory,
  type TerminalState,
  type TrackingTimings,
} from "../../protocol/terminal.ts";
import type { ToolReport } from "../../protocol/tool-report.ts";
import { type Clock, sleep, withinTime } from "../../system/clock.ts";
import { createFaultReport, messageOf } from "../../system/errors.ts";
import { createLoop, type Lifecycle } from "../../system/lifecycle.ts";
import { createExclusive } from "../../system/locks.ts";
import type { Processes } from "../../system/processes.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { detect } from "./detect/detect.ts";
import { explainState } from "./detect/explain.ts";
import type { Signals } from "./detect/signals.ts";
import { keyOfText } from "./keys.ts";
import { type CompiledProfile, isProvedVersion } from "./profiles/profile.ts";
import type { ReportSource } from "./report-source.ts";
import type { Observation } from "./screen.ts";
import { toTerminalHistory, toTerminalState, toTrackedSession } from "./state/record.ts";
import type { Moment, TrackEvent, TrackState } from "./state/reduce-state.ts";
import {
  initialTracking,
  isRepeatedAbsence,
  next,
  nextSampleMs,
  planSample,
  type Reading,
  type TrackingEvent,
} from "./state/tracking.ts";
import { instanceId, type Tmux } from "./tmux/command.ts";
import type { ControlConnection, ControlEvent } from "./tmux/control.ts";
import { createPaneReader, createReadAhead } from "./tmux/pane-reader.ts";

/** What a listener gets with each new state. */
interface StateChange {
  before: TerminalState;
  /**
   * A transition was recorded, or the state became stable or ceased to be, or the agent is another instance.
   */
  material: boolean;
}

/**
 * Knows what the agent's terminal shows. Samples are taken when the pane writes: at once after quiet, then at
 * most every 30 ms, the last one after the last output; on a timer only while the state is unsettled; and
 * every 30 s. An idle screen costs nothing (ruling 24).
 */
export interface Tracker extends Lifecycle {
  state(): TerminalState;
  /** As `state`, but for how long it has been so: the same object until something else is to be said. */
  judged(): TerminalState;
  /**
   * Reads the terminal now; the state returned is no older than the call, or than a read ahead. Never
   * rejects.
   */
  look(): Promise<TerminalState>;
  /**
   * Begins a look that the next `look` takes if the pane has written nothing since and it is only some
   * milliseconds old.
   */
  readAhead(): void;
  /** What was read last; null when nothing could be. */
  lastObservation(): Observation | null;
  /** `look`, and what was read; null when nothing could be. */
  observe(): Promise<Observation | null>;
  /** Resolves when something is known of the terminal for the first time, or after `timeoutMs`. */
  firstLook(timeoutMs: number): Promise<void>;
  /** Called after each sample and note, also when nothing changed. */
  subscribe(listener: (state: TerminalState, change: StateChange) => void): () => void;
  /**
   * What the composer holds, without glyph and indent: empty without a draft, null when it is not seen whole.
   */
  draft(): string | null;
  /** `text` is about to be typed as a prompt: what the tool reports from now on may be about it. */
  promptTyped(text: string, command: boolean): void;
  /**
   * What the tool reported since then: that it took exactly that text, or another one; null while neither.
   */
  typedReport(): "exact" | "other" | null;
  /** The text of that other prompt; null without one. */
  otherPrompt(): string | null;
  /** What the screen shows beside the composer's content; see `Signals`. */
  shown(): Pick<Signals, "offered" | "newestPrompt" | "untouched" | "cursorAtEnd"> & {
    cursor: { row: number; column: number } | null;
  };
  /**
   * A prompt was submitted: `baseline` is the transcript before it was typed; `reported`: a caller says so,
   * and `text` is its text.
   */
  notePrompt(note: NotedPrompt): void;
  /** The running turn was stopped by us and was seen to stop. */
  noteInterrupt(): void;
  /** We answered a question with which the program starts. */
  noteStartupAnswer(answer: { question: string; option: string }): void;
  history(limit: number): TerminalHistory;
  explain(): TerminalExplanation;
  /** Which of the profile's dialogs is on the screen; null when none is. */
  dialogRule(): string | null;
  /** The agent's pane; null while it is not known to be there. */
  paneId(): string | null;
  /** The agent's instance (see `instanceId`); null while it cannot be read. */
  instanceId(): string | null;
  /** The tool's id of the conversation in the pane, as far as it reported one. */
  conversation(): string | null;
}

type NotedPrompt = Omit<Extract<TrackEvent, { kind: "prompt_noted" }>, "kind" | "at" | "key"> & {
  text?: string;
};

interface TrackerOptions {
  control: ControlConnection;
  tmux: Pick<Tmux, "hasSession">;
  processes: Processes;
  clock: Clock;
  /** Null for a tool that no profile describes. */
  profile: CompiledProfile | null;
  manifest: Manifest;
  sessionRoot: string;
  log: Log;
  timings?: TrackingTimings;
  /** What the tool reports of itself; null where it reports nothing. Started and stopped with the tracker. */
  reports?: ReportSource | null;
}

const UNREADABLE = "the terminal cannot be read";

/** Notices of tmux after which the pane may be another, or gone. */
const TELLING = new Set([
  "window-close",
  "unlinked-window-close",
  "layout-change",
  "window-pane-changed",
  "pane-mode-changed",
  "session-renamed",
]);

export function createTracker(options: TrackerOptions): Tracker {
  const { control, tmux, processes, clock, profile, manifest, log, timings = defaultTimings } = options;
  const reports = options.reports ?? null;
  const session = toTrackedSession(manifest, options.sessionRoot);
  const reader = createPaneReader({ control, processes, clock });
  const listeners = new Set<(state: TerminalState, change: StateChange) => void>();
  const sampling = createExclusive();
  const known = Promise.withResolvers<void>();
  const report = createFaultReport((what, error) => log.line(what, { error: messageOf(error) }));
  const hooks: (() => void)[] = [];
  let state = initialTracking(moment());
  let endOutput = () => {};
  let judged: { of: TrackState; state: TerminalState } | null = null;

  function moment(): Moment {
    return { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
  }

  const record = (of: TrackState, at?: Moment) => toTerminalState(of, session, at);

  /** The one place where the state is replaced. The output of the pane that it has is listened to. */
  function apply(event: TrackingEvent): void {
    const { pane: previous } = state;
    state = next(state, event, timings);
    const { pane } = state;
    if (pane?.paneId === previous?.paneId) return;
    endOutput();
    endOutput = pane ? control.onOutput(pane.paneId, onOutput) : () => {};
  }

  /** Takes in what happened at the agent, and publishes its state. */
  function track(event: TrackEvent, isOtherInstance = false): void {
    const { track: before } = state;
    apply({ kind: "tracked", event });
    if (listeners.size === 0) return;
    const { track: now } = state;
    const isMaterial =
      isOtherInstance ||
      now.transitions !== before.transitions ||
      now.stability.stable !== before.stability.stable ||
      now.secondWitness?.by !== before.secondWitness?.by;
    const change: StateChange = { before: record(before), material: isMaterial };
    const published = record(now);
    for (const listener of [...listeners]) {
      try {
        listener(published, change);
      } catch (error) {
        report("a listener of the terminal state failed", error);
      }
    }
  }

  /**
   * Looks the pane up when it is not known, reads it, and looks it up again when its first process is
   * another.
   */
  async function read(fresh: boolean): Promise<Observation | null> {
    if (!state.pane) {
      const recorded = manifest.tmux.primary_pane_id ?? null;
      apply({ kind: "pane_found", pane: await reader.find(session.tmux_session_name, recorded) });
    }
    const { pane, reading } = state;
    if (!pane) return null;
    // A tool that was not there may have come since, and its first output is what woke us.
    const observation = await reader.read(pane, fresh || reading?.signals.processState !== "tui_up");
    const panePid = observation?.pane.panePid;
    if (panePid === undefined) apply({ kind: "pane_found", pane: null });
    else if (state.pane && state.pane.panePid !== panePid) {
      apply({ kind: "pane_found", pane: { ...state.pane, panePid } });
    }
    return observation;
  }

  function judge(observation: Observation): Signals {
    const { reading } = state;
    if (reading && sameFrame(reading.observation, observation)) return reading.signals;
    const signals = detect(observation, profile);
    // The banner scrolls away; the version stays what it was.
    if (profile && signals.toolVersion !== null) {
      session.observed_tool_version = signals.toolVersion;
      session.tool_version_proved = isProvedVersion(profile, signals.toolVersion);
    }
    return signals;
  }

  /** What a sample finds. `reading`: null when there is none; `event` says why. */
  async function take(fresh: boolean): Promise<{ reading: Reading | null; event: TrackEvent }> {
    try {
      const observation = control.connected() ? await read(fresh) : null;
      if (!observation) return { reading: null, event: await absence() };
      const reading = { observation, signals: judge(observation) };
      return { reading, event: { kind: "observed", at: moment(), ...reading } };
    } catch (error) {
      const event = control.connected() ? probeFailed(error) : await absence();
      return { reading: null, event };
    }
  }

  async function sample(fresh: boolean): Promise<Observation | null> {
    apply({ kind: "sample_began", nowMs: clock.monotonicMs() });
    const instance = identify();
    const { reading, event } = await take(fresh);
    report(UNREADABLE, event.kind === "probe_failed" ? event.error.message : null);
    apply({ kind: "sampled", reading });
    if (isRepeatedAbsence(state.track, event)) return null;
    track(event, instance !== identify());
    known.resolve();
    return reading?.observation ?? null;
  }

  /** There is no pane to read: is that so, or can we only not see it? */
  async function absence(): Promise<TrackEvent> {
    if (control.connected()) return { kind: "tmux_missing", at: moment() };
    try {
      const exists = await tmux.hasSession(session.tmux_session_name);
      if (!exists) return { kind: "tmux_missing", at: moment() };
      return probeFailed(new Error("the connection to tmux was lost"));
    } catch (error) {
      return probeFailed(error);
    }
  }

  function probeFailed(error: unknown): Extract<TrackEvent, { kind: "probe_failed" }> {
    return {
      kind: "probe_failed",
      at: moment(),
      error: { kind: "tmux_probe_error", message: messageOf(error), details: {} },
    };
  }

  const identify = () => (state.pane ? instanceId(state.pane) : null);

  /** One sample, never two at a time; the one that is asked for begins after the question. */
  const sampleNext = (fresh: boolean) => sampling.run(() => sample(fresh));

  const readAhead = createReadAhead({ clock, sample: () => sampleNext(true) });

  const sampleFacts = () => ({ isConnected: control.connected(), nowMs: clock.monotonicMs() });

  const loop = createLoop({
    clock,
    async turn(signal) {
      const waitMs = planSample(state, sampleFacts());
      if (waitMs === null) return null;
      if (waitMs > 0) await sleep(clock, waitMs, signal);
      if (!signal.aborted) await sampleNext(false);
      return nextSampleMs(state, sampleFacts(), timings);
    },
    onError: (error) => report("tracking failed", error),
  });

  function onOutput(): void {
    readAhead.invalidate();
    loop.wake();
  }

  function onEvent(event: ControlEvent): void {
    if (event.kind === "notice" && !TELLING.has(event.name)) return;
    readAhead.invalidate();
    apply({ kind: event.kind === "notice" ? "noticed" : event.kind });
    loop.wake();
  }

  function onReport(toolReport: ToolReport): void {
    track({ kind: "reported", at: moment(), report: toolReport });
    // What the screen says to it may be older than the report.
    readAhead.invalidate();
    loop.wake();
  }

  return {
    start() {
      if (hooks.length === 0) {
        hooks.push(control.onEvent(onEvent));
        if (reports) hooks.push(reports.subscribe(onReport));
      }
      reports?.start();
      loop.start();
    },
    async stop() {
      await reports?.stop();
      await loop.stop();
      for (const end of hooks.splice(0)) end();
      apply({ kind: "pane_found", pane: null });
    },
    state: () => record(state.track, moment()),
    judged() {
      // A limit of the tool passes with time alone.
      const { track: of } = state;
      if (judged?.of !== of || of.parked !== null) judged = { of, state: record(of, moment()) };
      return judged.state;
    },
    async look() {
      if (!(await readAhead.take())) await sampleNext(true);
      return record(state.track, moment());
    },
    readAhead: readAhead.begin,
    lastObservation: () => state.reading?.observation ?? null,
    observe: () => sampleNext(true),
    async firstLook(timeoutMs) {
      await withinTime(clock, timeoutMs, known.promise);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    promptTyped(text, command) {
      track({ kind: "prompt_typed", at: moment(), key: keyOfText(text), command });
    },
    typedReport() {
      const { typed } = state.track.reports;
      return typed?.taken ? "exact" : typed?.otherTaken ? "other" : null;
    },
    otherPrompt: () => state.track.reports.typed?.otherText ?? null,
    shown() {
      const {
        offered = null,
        newestPrompt = null,
        untouched = false,
        cursorAtEnd = false,
      } = state.reading?.signals ?? {};
      const { row, column = null } = state.reading?.observation.cursor ?? {};
      const cursor = row === undefined || column === null ? null : { row, column };
      return { offered, newestPrompt, untouched, cursorAtEnd, cursor };
    },
    notePrompt({ text, ...note }) {
      const key = text === undefined ? {} : { key: keyOfText(text) };
      track({ kind: "prompt_noted", at: moment(), ...note, ...key });
      loop.wake();
    },
    noteInterrupt() {
      track({ kind: "turn_interrupted", at: moment() });
      loop.wake();
    },
    noteStartupAnswer({ question, option }) {
      track({ kind: "startup_answered", at: moment(), question, option });
    },
    history: (limit) => toTerminalHistory(state.track, session, limit),
    draft: () => (state.reading?.signals.promptVisible ? state.reading.signals.promptText : null),
    explain() {
      const absence = reports ? reports.absence() : "this gateway reads no reports of this agent";
      return explainState(state.track, { tool: session.tool, profile, absence }, moment());
    },
    dialogRule: () => state.track.signals?.awaitingRule ?? null,
    paneId: () => state.pane?.paneId ?? null,
    instanceId: identify,
    conversation: () => state.track.reports.sessionId,
  };
}

/** Whether a detector, which looks at nothing else, must say the same of both. */
function sameFrame(one: Observation, other: Observation): boolean {
  return (
    one.rows === other.rows &&
    one.processes === other.processes &&
    one.cursor?.row === other.cursor?.row &&
    one.cursor?.column === other.cursor?.column &&
    Bun.deepEquals(one.pane, other.pane)
  );
}
