import type { AgentLiveness } from "../../protocol/agents.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import type { Tmux } from "../terminal/tmux-command.ts";

/** Whether agents live, by the only proof there is: their tmux sessions. */
export interface Liveness {
  /**
   * `gone` also for an agent that was stopped. `unknown` when its tmux server is not there or did not answer within a
   * second: that says nothing about one agent. At most 500 ms old. Never rejects.
   */
  of(record: RegistryRecord): Promise<AgentLiveness>;
}

const freshMs = 500;
const answerMs = 1000;

/** One question for each tmux server, whatever the number of agents. */
export function createLiveness(deps: {
  clock: Clock;
  tmuxFor: (socket: string | undefined) => Pick<Tmux, "sessions">;
}): Liveness {
  const { clock } = deps;
  const asked = new Map<string | undefined, { atMs: number; names: Promise<ReadonlySet<string> | null> }>();

  async function ask(socket: string | undefined): Promise<ReadonlySet<string> | null> {
    try {
      const sessions = await deps.tmuxFor(socket).sessions();
      // A server without a session ends: an empty answer comes from none.
      return sessions.length === 0 ? null : new Set(sessions.map(({ name }) => name));
    } catch {
      return null;
    }
  }

  async function inTime<T>(answer: Promise<T>): Promise<T | null> {
    const nap = new AbortController();
    const first = await Promise.race([answer, sleep(clock, answerMs, nap.signal).then(() => null)]);
    nap.abort();
    return first;
  }

  function namesOn(socket: string | undefined): Promise<ReadonlySet<string> | null> {
    const nowMs = clock.monotonicMs();
    const before = asked.get(socket);
    if (before && nowMs - before.atMs < freshMs) return before.names;
    const names = inTime(ask(socket));
    asked.set(socket, { atMs: nowMs, names });
    return names;
  }

  return {
    async of({ terminal }) {
      const session = terminal.current_session_name;
      if (!session) return "gone";
      const names = await namesOn(terminal.socket);
      if (names === null) return "unknown";
      return names.has(session) ? "alive" : "gone";
    },
  };
}
