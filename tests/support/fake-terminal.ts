import type { TerminalState, TrackedSession, WaitFor } from "../../src/protocol/terminal.ts";
import type { AgentTerminal } from "../../src/services/agent/agent.ts";
import { explainState } from "../../src/services/terminal/detect/explain.ts";
import { toTerminalHistory, toTerminalState } from "../../src/services/terminal/state/record.ts";
import { initialTrack } from "../../src/services/terminal/state/reduce-state.ts";
import type { FakeAgent } from "./fake-agent.ts";

const session: TrackedSession = {
  tracked_session_id: "session-1",
  session_name: "SVC-fake-1",
  tool: "fake",
  observed_tool_version: null,
  tmux_session_name: "SVC-fake-1",
  tmux_window_name: null,
  terminal_aliases: [],
  agent_name: "fake",
  agent_id: "fake-1",
  manifest_path: null,
  session_root: null,
};

export interface FakeTerminal {
  /** Limits that the history was asked with. */
  limits: number[];
  /** Prompts that were told of. */
  noted: string[];
  waited: { wanted: string; timeoutMs: number }[];
  state: TerminalState;
}

/** Gives a fake agent a terminal of which nothing was seen yet. */
export function giveTerminal(agent: FakeAgent): FakeTerminal {
  const track = initialTrack({ wallMs: Date.UTC(2026, 0, 1), monotonicMs: 0 });
  const state = toTerminalState(track, session);
  const terminal: FakeTerminal = { limits: [], noted: [], waited: [], state };
  Object.assign(agent.terminal, {
    state: () => state,
    history(limit: number) {
      terminal.limits.push(limit);
      return toTerminalHistory(track, session, limit);
    },
    notePrompt(prompt: string) {
      terminal.noted.push(prompt);
      return state;
    },
    explain: () => explainState(track, { tool: "fake", profile: null, absence: null }),
    async waitFor(wanted: WaitFor, { timeoutMs }: { timeoutMs: number }) {
      terminal.waited.push({ wanted, timeoutMs });
      return { satisfied: false, waitedMs: 12.3456, state };
    },
  } satisfies Partial<AgentTerminal>);
  return terminal;
}
