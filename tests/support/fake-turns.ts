import type { Evidence } from "../../src/protocol/gateway.ts";
import type { HeadlessChatSession, TurnEvent, TurnStatusRecord } from "../../src/protocol/turns.ts";
import type { AgentTurns, ArtifactReader, RunningTurn, TurnEnd } from "../../src/services/agent/agent.ts";
import type { FakeAgent } from "./fake-agent.ts";

/** The turns of a fake agent, begun by `onSubmit` and ended by the test. */
export interface FakeTurns extends AgentTurns {
  /** Begins a turn, as a bridge would. */
  begin(turnId?: string): RunningTurn;
  end(end: TurnEnd): void;
  chat: HeadlessChatSession;
  /** Why an execution is refused, or null. */
  problem: string | null;
  /** Turns of an earlier process, by the request they were begun for. */
  left: Map<string, RunningTurn>;
  resumed: { requestId: string; onEvidence: (evidence: Evidence) => void }[];
}

const record: TurnStatusRecord = {
  tracked_agent_id: "session-1",
  turn_id: "turn-1",
  turn_index: 1,
  status: "completed",
  started_at_utc: "2026-01-01T00:00:00.000+00:00",
  completed_at_utc: "2026-01-01T00:00:01.000+00:00",
  returncode: 0,
  completion_source: "process_exit",
  decided_by: "terminal_event",
  stdout_path: "/turns/turn-1/stdout.jsonl",
  stderr_path: null,
  status_path: "/turns/turn-1/exitcode",
  history_summary: "done",
  error: null,
};

const event: TurnEvent = {
  kind: "assistant",
  message: "done",
  turn_index: 1,
  timestamp_utc: record.started_at_utc,
  payload: null,
};

function partOf(bytes: Uint8Array, offset: number, maxBytes: number | null): ArtifactReader {
  const end = offset + (maxBytes ?? bytes.length);
  return { pieces: [bytes.slice(offset, end)], next: end < bytes.length ? end : null };
}

/** Gives a fake agent turns, of which one is stored, `turn-1`; it keeps its terminal. */
export function giveTurns(agent: FakeAgent): FakeTurns {
  let active: { turnId: string; turnIndex: number } | null = null;
  let ended = Promise.withResolvers<TurnEnd>();
  const known = (turnId: string) => turnId === record.turn_id;
  const turns: FakeTurns = {
    chat: { current: null, startup_default: { mode: "new" }, next_prompt_override: null },
    problem: null,
    left: new Map(),
    resumed: [],
    begin(turnId = "turn-2") {
      active = { turnId, turnIndex: 2 };
      ended = Promise.withResolvers();
      agent.setReadiness({ ready: false, code: "not_ready", detail: `turn ${turnId} is running` });
      return { ...active, ended: ended.promise };
    },
    end(end) {
      active = null;
      ended.resolve(end);
      agent.setReadiness({ ready: true });
    },
    active: () => active,
    resume(requestId, onEvidence) {
      turns.resumed.push({ requestId, onEvidence });
      return turns.left.get(requestId) ?? null;
    },
    refuseExecution: (execution) => (execution ? turns.problem : null),
    chatSession: () => turns.chat,
    overrideNextPrompt() {
      turns.chat = { ...turns.chat, next_prompt_override: { mode: "new" } };
    },
    exists: known,
    list: () => [record],
    read: (turnId) => (known(turnId) ? record : null),
    events: (turnId, after) => (known(turnId) ? [event].slice(after).values() : null),
    artifact: (turnId, name, { offset, maxBytes }) =>
      known(turnId) ? partOf(new TextEncoder().encode(`${name} ✓\n`), offset, maxBytes) : null,
  };
  Object.assign(agent, { turns });
  return turns;
}
