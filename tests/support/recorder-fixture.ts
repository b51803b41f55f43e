import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { GatewayEvent } from "../../src/protocol/events.ts";
import type { RecordedDecision, RecordedTerminal } from "../../src/protocol/recorder.ts";
import { readCast, readMoment, renderCast } from "../../src/services/extensions/observe/recorder/reader.ts";
import {
  createRecorder,
  type RecorderDeps,
} from "../../src/services/extensions/observe/recorder/recorder.ts";
import type { PaneFrame } from "../../src/services/terminal/tmux/pane-stream.ts";
import type { Files } from "../../src/system/files.ts";
import { createFakeClock } from "./fake-clock.ts";
import { createScratch } from "./scratch.ts";

export const terminal = (changes: Partial<RecordedTerminal> = {}): RecordedTerminal => ({
  availability: "available",
  transport_state: "tmux_up",
  process_state: "tui_up",
  parse_status: "parsed",
  surface: { accepting_input: "yes", editing_input: "no", ready_posture: "yes", pending_input: "no" },
  turn_phase: "ready",
  last_turn: { result: "none", source: "none", updated_at_utc: null },
  stable: true,
  question: null,
  parked: null,
  active_reasons: [],
  ready: true,
  blocking: null,
  facts: [{ name: "turn.phase", value: "ready", wanted: "ready", holds: true }],
  ...changes,
});

export const decision = (changes: Partial<RecordedDecision> = {}): RecordedDecision => ({
  do: "wait",
  request_id: "r-1",
  reason: "not_ready",
  detail: "turn.phase=active",
  request_admission: "open",
  admission_block: null,
  managed_agent_instance_epoch: 1,
  execution_slot: null,
  typing: false,
  heads: [],
  ...changes,
});

/** A pane that a test writes to. */
function createPane() {
  const readers = new Set<(frame: PaneFrame) => void>();
  let size = { width: 80, height: 24 };
  return {
    readers,
    resize: (next: typeof size) => {
      size = next;
    },
    write(text: string) {
      for (const take of readers) take({ kind: "bytes", bytes: Buffer.from(text) });
    },
    async *follow(signal: AbortSignal): AsyncGenerator<PaneFrame> {
      const waiting: PaneFrame[] = [{ kind: "picture", why: "first", ...size }];
      waiting.push({ kind: "bytes", bytes: Buffer.from("\x1bcscreen of then ") });
      let wake = () => {};
      const take = (frame: PaneFrame) => {
        waiting.push(frame);
        wake();
      };
      readers.add(take);
      signal.addEventListener("abort", () => wake(), { once: true });
      try {
        while (!signal.aborted) {
          const frame = waiting.shift();
          if (frame) yield frame;
          else {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        }
      } finally {
        readers.delete(take);
      }
    },
  };
}

export function createRecorderFixture(
  changes: Partial<RecorderDeps> = {},
  files?: (files: Files) => Partial<Files>,
) {
  const scratch = createScratch();
  const clock = createFakeClock();
  const pane = createPane();
  const tell = {
    event: (_: Omit<GatewayEvent, "seq" | "at_utc"> & Record<string, unknown>) => {},
    terminal: (_: RecordedTerminal) => {},
    decision: (_: RecordedDecision) => {},
  };
  const problems: string[] = [];
  let seq = 0;
  const gatewayRoot = scratch.path("gateway");
  mkdirSync(gatewayRoot, { recursive: true, mode: 0o700 });
  const open = (own: Partial<RecorderDeps> = {}) =>
    createRecorder({
      files: { ...scratch.files, ...files?.(scratch.files) },
      clock,
      gatewayRoot,
      title: "worker",
      limits: { maxBytes: 256 * 1024 * 1024, maxAgeMs: 7 * 86_400_000 },
      sources: {
        events(listener) {
          tell.event = (event) => {
            seq += 1;
            listener({ seq, at_utc: new Date(clock.nowMs()).toISOString(), ...event } as GatewayEvent);
          };
          return () => {};
        },
        terminal(listener) {
          tell.terminal = listener;
          return () => {};
        },
        decisions(listener) {
          tell.decision = listener;
          return () => {};
        },
        pane: pane.follow,
        queue: () => ({ queue_depth: 0, requests: [] }),
      },
      onProblem: (problem) => problems.push(problem),
      reserveBytes: 0,
      ...changes,
      ...own,
    });
  const folder = join(gatewayRoot, "recordings");
  const names = (ending: string) =>
    existsSync(folder)
      ? readdirSync(folder)
          .filter((name) => name.endsWith(ending))
          .sort()
      : [];
  const text = (ending: string) => names(ending).map((name) => readFileSync(join(folder, name), "utf8"));
  const why = (atMs = clock.nowMs()) =>
    readMoment(scratch.files, gatewayRoot, { atMs, nowMs: clock.nowMs(), agentName: "worker" });
  /** Time passes; then what the recorder does in it is done, and what it could write is on disk. */
  const pass = async (ms: number) => {
    await clock.advance(ms);
    await clock.atRest();
  };
  /** What is given to the recorder in `act`, on disk. */
  const written = async (act: () => void) => {
    act();
    await pass(250);
  };
  return { scratch, clock, pane, tell, problems, gatewayRoot, folder, open, names, text, why, pass, written };
}

export const castOf = (
  fixture: ReturnType<typeof createRecorderFixture>,
  fromMs: number,
  untilMs: number,
) => {
  const cast = readCast(fixture.scratch.files, fixture.gatewayRoot, { fromMs, untilMs, agentName: "worker" });
  return [...renderCast(cast, "worker")].map(({ line }) => JSON.parse(line) as unknown);
};
