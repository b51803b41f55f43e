import { describe, expect, test } from "bun:test";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import type { TrackEvent } from "../../../src/services/terminal/state/reduce-state.ts";
import {
  initialTracking,
  isRepeatedAbsence,
  next,
  nextSampleMs,
  planSample,
  type Tracking,
  type TrackingEvent,
} from "../../../src/services/terminal/state/tracking.ts";
import type { TmuxPane } from "../../../src/services/terminal/tmux/command.ts";
import { compiled } from "./corpus.ts";
import { idle, moment } from "./steps.ts";

const pane: TmuxPane = {
  sessionId: "$1",
  sessionCreated: 1,
  windowId: "@1",
  windowIndex: 0,
  windowName: "agent",
  paneId: "%1",
  panePid: 7,
  dead: false,
  width: 110,
  height: 36,
};
const reading = { observation: idle, signals: detect(idle, compiled("demo")) };
const observed = (at: number): TrackEvent => ({ kind: "observed", at: moment(at), ...reading });
const missing: TrackEvent = { kind: "tmux_missing", at: moment(0) };
const initial = initialTracking(moment(0));
const tracked: Tracking = { ...initial, pane, reading, sampledMs: 100 };

const play = (from: Tracking, ...events: TrackingEvent[]) =>
  events.reduce((state, event) => next(state, event, defaultTimings), from);
const happen = (from: Tracking, ...events: TrackEvent[]) =>
  play(from, ...events.map((event) => ({ kind: "tracked" as const, event })));

describe("what a tracker has", () => {
  const cases: { id: string; from: Tracking; event: TrackingEvent; want: Partial<Tracking> }[] = [
    {
      id: "a new connection may show another pane; the last reading stays until the next sample",
      from: { ...tracked, isLost: true },
      event: { kind: "connected" },
      want: { isLost: false, pane: null, reading },
    },
    {
      id: "a lost connection keeps the pane",
      from: tracked,
      event: { kind: "lost" },
      want: { isLost: true, pane },
    },
    {
      id: "a notice comes over a connection",
      from: { ...tracked, isLost: true },
      event: { kind: "noticed" },
      want: { isLost: false, pane },
    },
    {
      id: "the start of a sample is noted",
      from: tracked,
      event: { kind: "sample_began", nowMs: 200 },
      want: { sampledMs: 200 },
    },
    {
      id: "a pane that is found has no reading yet",
      from: initial,
      event: { kind: "pane_found", pane },
      want: { pane, reading: null },
    },
    {
      id: "a sample that reads the pane keeps it",
      from: { ...tracked, reading: null },
      event: { kind: "sampled", reading },
      want: { pane, reading },
    },
    {
      id: "a sample that reads nothing loses the pane and the reading",
      from: tracked,
      event: { kind: "sampled", reading: null },
      want: { pane: null, reading: null },
    },
  ];
  test.each(cases)("$id", ({ from, event, want }) => {
    expect(play(from, event)).toEqual({ ...from, ...want });
  });

  test("what happened at the agent changes its state and nothing else", () => {
    const { track, ...others } = happen(tracked, observed(100));
    expect(track).not.toEqual(tracked.track);
    expect({ ...others, track: tracked.track }).toEqual(tracked);
  });
});

describe("when a tracker samples", () => {
  test.each([
    { id: "not during the first attach", isLost: false, isConnected: false, nowMs: 1000, want: null },
    { id: "to say that a connection is lost", isLost: true, isConnected: false, nowMs: 1000, want: 0 },
    { id: "at once after quiet", isLost: false, isConnected: true, nowMs: 130, want: 0 },
    { id: "30 ms after the last one", isLost: false, isConnected: true, nowMs: 110, want: 20 },
  ])("$id", ({ isLost, isConnected, nowMs, want }) => {
    expect(planSample({ isLost, sampledMs: 100 }, { isConnected, nowMs })).toBe(want);
  });

  const pollMs = defaultTimings.watch_poll_interval_seconds * 1000;
  const unsettled = happen(tracked, observed(100)).track;
  const settled = happen(tracked, observed(100), observed(61_000), observed(122_000)).track;
  test.each([
    { id: "an event wakes it without a connection", track: unsettled, isConnected: false, want: null },
    { id: "often while the state is unsettled", track: unsettled, isConnected: true, want: pollMs + 1 },
    { id: "each 30 s while it is settled", track: settled, isConnected: true, want: 30_001 },
  ])("$id", ({ track, isConnected, want }) => {
    const sampledMs = track.at.monotonicMs;
    const facts = { isConnected, nowMs: sampledMs };
    expect(nextSampleMs({ track, sampledMs }, facts, defaultTimings)).toBe(want);
  });
});

test("only an absence that repeats the last one is no news", () => {
  const gone = happen(tracked, observed(0), missing).track;
  expect(isRepeatedAbsence(gone, missing)).toBe(true);
  expect(isRepeatedAbsence(gone, observed(100))).toBe(false);
  expect(isRepeatedAbsence(happen(tracked, observed(0)).track, missing)).toBe(false);
  expect(isRepeatedAbsence(initial.track, missing)).toBe(false);
});
