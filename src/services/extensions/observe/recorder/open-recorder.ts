import type { RecordedDecision, RecordedTerminal } from "../../../../protocol/recorder.ts";
import type { TerminalState } from "../../../../protocol/terminal.ts";
import { maxPage } from "../../../../protocol/wire.ts";
import type { Clock } from "../../../../system/clock.ts";
import type { Files } from "../../../../system/files.ts";
import type { EventLog } from "../../../diagnostics/event-log.ts";
import type { Log } from "../../../diagnostics/gateway-log.ts";
import type { Queue } from "../../../queue/queue.ts";
import type { ExecutionSlot } from "../../../queue/slot.ts";
import type { PaneFrame } from "../../../terminal/tmux/pane-stream.ts";
import { toRecordedDecision, toRecordedQueue, toRecordedTerminal } from "./recorded-facts.ts";
import { createRecorder, type Recorder, type RecorderSources } from "./recorder.ts";
import type { RecorderLimits } from "./segments.ts";

/** What is recorded, and where. */
export interface RecordedAgent {
  files: Files;
  clock: Clock;
  log: Log;
  sessionRoot: string;
  agentName: string;
  /** Whether a profile describes the agent's tool. */
  tracked: boolean;
  events: Pick<EventLog, "subscribe">;
  slot: Pick<ExecutionSlot, "onDecision">;
  /** The agent's terminal; null for an agent without one. */
  terminal: {
    state(): TerminalState;
    subscribe(listener: (state: TerminalState) => void): () => void;
    pane(signal: AbortSignal): AsyncGenerator<PaneFrame>;
  } | null;
  queue: Pick<Queue, "depth" | "list">;
}

/** The recorder of a gateway's agent, not started. */
export function openRecorder(
  agent: RecordedAgent,
  { gatewayRoot, limits }: { gatewayRoot: string; limits: RecorderLimits },
): Recorder {
  const { files, clock, log, queue } = agent;
  return createRecorder({
    files,
    clock,
    gatewayRoot,
    limits,
    title: agent.agentName,
    sources: {
      ...sourcesOf(agent),
      queue: () => toRecordedQueue(queue.depth(), queue.list({ limit: maxPage })),
    },
    onProblem: (problem) => log.line("not recorded", { error: problem }),
  });
}

function sourcesOf({ events, slot, terminal, tracked }: RecordedAgent): Omit<RecorderSources, "queue"> {
  return {
    events: (listener) => events.subscribe(listener),
    terminal(listener) {
      if (terminal === null) return () => {};
      const tell = whenDiffers<RecordedTerminal>(listener);
      const end = terminal.subscribe((state) => tell(toRecordedTerminal(state, tracked)));
      tell(toRecordedTerminal(terminal.state(), tracked));
      return end;
    },
    decisions(listener) {
      const tell = whenDiffers<RecordedDecision>(listener);
      return slot.onDecision((facts, decision) => tell(toRecordedDecision(facts, decision)));
    },
    pane: terminal && ((signal) => terminal.pane(signal)),
  };
}

/** Of values that are the same the first one is reported. */
function whenDiffers<T>(listener: (value: T) => void): (value: T) => void {
  let last = "";
  return (value) => {
    const text = JSON.stringify(value);
    if (text !== last) listener(value);
    last = text;
  };
}
