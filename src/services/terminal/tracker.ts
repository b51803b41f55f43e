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
import { reduce } from "./state/reduce.ts";
import { initialTrack, type Moment, type TrackEvent, type TrackState } from "./state/reduce-state.ts";
import { isUnsettled, nextDeadlineMs } from "./state/reduce-transition.ts";
import { instanceId, type Tmux, type TmuxPane } from "./tmux/command.ts";
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

/** Least time between the starts of two samples that output asked for. */
const PUSH_GAP_MS = 30;
const RESYNC_MS = 30_000;

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
  let track: TrackState = initialTrack(moment());
  let pane: TmuxPane | null = null;
  let deaf: (() => void) | null = null;
  let last: { observation: Observation; signals: Signals } | null = null;
  let sampledMs = Number.NEGATIVE_INFINITY;
  const complain = createFaultReport((what, error) => log.line(what, { error: messageOf(error) }));
  let lost = false;
  let judged: { of: TrackState; state: TerminalState } | null = null;

  function moment(): Moment {
    return { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
  }

  const record = (of: TrackState, at?: Moment) => toTerminalState(of, session, at);

  /** The one place where a state is replaced and published. */
  function apply(event: TrackEvent, moved: boolean): void {
    const before = track;
    track = reduce(track, event, timings);
    if (listeners.size === 0) return;
    const change: StateChange = {
      before: record(before),
      material:
        moved ||
        track.transitions !== before.transitions ||
        track.stability.stable !== before.stability.stable ||
        track.secondWitness?.by !== before.secondWitness?.by,
    };
    const state = record(track);
    for (const listener of [...listeners]) {
      try {
        listener(state, change);
      } catch (error) {
        complain("a listener of the terminal state failed", error);
      }
    }
  }

  function hold(found: TmuxPane | null): void {
    if (found?.paneId !== pane?.paneId) {
      deaf?.();
      deaf = found && control.onOutput(found.paneId, onOutput);
    }
    pane = found;
  }

  /**
   * Looks the pane up when it is not known, reads it, and looks it up again when its first process is
   * another.
   */
  async function read(fresh: boolean): Promise<Observation | null> {
    if (!pane) hold(await reader.find(session.tmux_session_name, manifest.tmux.primary_pane_id ?? null));
    if (!pane) return null;
    // A tool that was not there may have come since, and its first output is what woke us.
    const seen = await reader.read(pane, fresh || last?.signals.processState !== "tui_up");
    if (!seen) hold(null);
    else if (pane.panePid !== seen.pane.panePid) pane = { ...pane, panePid: seen.pane.panePid };
    return seen;
  }

  function judge(observation: Observation): Signals {
    if (last && sameFrame(last.observation, observation)) return last.signals;
    const signals = detect(observation, profile);
    // The banner scrolls away; the version stays what it was.
    if (profile && signals.toolVersion !== null) {
      session.observed_tool_version = signals.toolVersion;
      session.tool_version_proved = isProvedVersion(profile, signals.toolVersion);
    }
    return signals;
  }

  async function sample(fresh: boolean): Promise<Observation | null> {
    sampledMs = clock.monotonicMs();
    const identity = identify();
    let event: TrackEvent;
    let observation: Observation | null = null;
    try {
      observation = control.connected() ? await read(fresh) : null;
      if (observation) {
        const signals = judge(observation);
        last = { observation, signals };
        event = { kind: "observed", at: moment(), observation, signals };
      } else {
        event = await absence();
      }
      complain(UNREADABLE, null);
    } catch (error) {
      event = control.connected() ? probeFailed(error) : await absence();
    }
    if (!observation) {
      hold(null);
      last = null;
      // Retries to attach go on for ever; they are not news.
      if (
        event.kind === "tmux_missing" &&
        track.diagnostics.transport_state === "tmux_missing" &&
        track.history.length > 0
      ) {
        return null;
      }
    }
    apply(event, identity !== identify());
    known.resolve();
    return observation;
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

  function probeFailed(error: unknown): TrackEvent {
    complain(UNREADABLE, error);
    return {
      kind: "probe_failed",
      at: moment(),
      error: { kind: "tmux_probe_error", message: messageOf(error), details: {} },
    };
  }

  const identify = () => (pane ? instanceId(pane) : null);

  /** One sample, never two at a time; the one that is asked for begins after the question. */
  const sampleNext = (fresh: boolean) => sampling.run(() => sample(fresh));

  const readAhead = createReadAhead({ clock, sample: () => sampleNext(true) });

  function nextDelayMs(): number | null {
    // Without a connection its next event wakes us.
    if (!control.connected()) return null;
    const gapMs = isUnsettled(track) ? timings.watch_poll_interval_seconds * 1000 : RESYNC_MS;
    const dueMs = Math.min(sampledMs + gapMs, nextDeadlineMs(track, timings) ?? Number.POSITIVE_INFINITY);
    // A timer may fire a fraction early, and a deadline that is not over would be waited for again.
    return Math.max(0, dueMs - clock.monotonicMs()) + 1;
  }

  const loop = createLoop({
    clock,
    async turn(signal) {
      // While the first attach is under way there is nothing to say yet.
      if (!control.connected() && !lost) return null;
      const gapMs = sampledMs + PUSH_GAP_MS - clock.monotonicMs();
      if (gapMs > 0) await sleep(clock, gapMs, signal);
      if (!signal.aborted) await sampleNext(false);
      return nextDelayMs();
    },
    onError: (error) => complain("tracking failed", error),
  });

  function onOutput(): void {
    readAhead.invalidate();
    loop.wake();
  }

  function onEvent(event: ControlEvent): void {
    if (event.kind === "notice" && !TELLING.has(event.name)) return;
    readAhead.invalidate();
    // Whatever was known of the pane is of another connection.
    if (event.kind === "connected") hold(null);
    lost = event.kind === "lost";
    loop.wake();
  }

  function onReport(report: ToolReport): void {
    apply({ kind: "reported", at: moment(), report }, false);
    // What the screen says to it may be older than the report.
    readAhead.invalidate();
    loop.wake();
  }

  let unhook: (() => void)[] = [];

  return {
    start() {
      if (unhook.length === 0) {
        unhook = [control.onEvent(onEvent), ...(reports ? [reports.subscribe(onReport)] : [])];
      }
      reports?.start();
      loop.start();
    },
    async stop() {
      await reports?.stop();
      await loop.stop();
      for (const end of unhook) end();
      unhook = [];
      hold(null);
    },
    state: () => record(track, moment()),
    judged() {
      // A limit of the tool passes with time alone.
      if (judged?.of !== track || track.parked !== null) {
        judged = { of: track, state: record(track, moment()) };
      }
      return judged.state;
    },
    async look() {
      if (!(await readAhead.take())) await sampleNext(true);
      return record(track, moment());
    },
    readAhead: readAhead.begin,
    lastObservation: () => last?.observation ?? null,
    observe: () => sampleNext(true),
    async firstLook(timeoutMs) {
      await withinTime(clock, timeoutMs, known.promise);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    promptTyped(text, command) {
      apply({ kind: "prompt_typed", at: moment(), key: keyOfText(text), command }, false);
    },
    typedReport() {
      const { typed } = track.reports;
      return typed?.taken ? "exact" : typed?.otherTaken ? "other" : null;
    },
    otherPrompt: () => track.reports.typed?.otherText ?? null,
    shown() {
      const {
        offered = null,
        newestPrompt = null,
        untouched = false,
        cursorAtEnd = false,
      } = last?.signals ?? {};
      const { row, column = null } = last?.observation.cursor ?? {};
      const cursor = row === undefined || column === null ? null : { row, column };
      return { offered, newestPrompt, untouched, cursorAtEnd, cursor };
    },
    notePrompt({ text, ...note }) {
      const key = text === undefined ? {} : { key: keyOfText(text) };
      apply({ kind: "prompt_noted", at: moment(), ...note, ...key }, false);
      loop.wake();
    },
    noteInterrupt() {
      apply({ kind: "turn_interrupted", at: moment() }, false);
      loop.wake();
    },
    noteStartupAnswer({ question, option }) {
      apply({ kind: "startup_answered", at: moment(), question, option }, false);
    },
    history: (limit) => toTerminalHistory(track, session, limit),
    draft: () => (last?.signals.promptVisible ? last.signals.promptText : null),
    explain() {
      const absence = reports ? reports.absence() : "this gateway reads no reports of this agent";
      return explainState(track, { tool: session.tool, profile, absence }, moment());
    },
    dialogRule: () => track.signals?.awaitingRule ?? null,
    paneId: () => pane?.paneId ?? null,
    instanceId: identify,
    conversation: () => track.reports.sessionId,
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
