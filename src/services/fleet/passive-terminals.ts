import type { TerminalState } from "../../protocol/terminal.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Locks } from "../../system/locks.ts";
import type { Agent } from "../agent/agent.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { sessionPaths } from "../sessions/roots.ts";

type Session = Pick<FoundAgent, "manifest" | "sessionRoot">;

/** Terminals of agents that no gateway serves, watched by ourselves and only while somebody asks. */
export interface PassiveTerminals {
  /** What the agent's terminal shows now; null when it cannot be watched. Never rejects. */
  state(agent: Session): Promise<TerminalState | null>;
  /**
   * Runs `work` with the agent to be driven directly, while no gateway can begin to serve it. Throws
   * `unavailable` when one does or its terminal cannot be reached.
   */
  drive<T>(agent: Session, work: (driven: Agent) => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

/** A connection to the terminal of an agent. */
interface WatchedTerminal {
  /** What it shows; null for an agent without a terminal that can be read. */
  state(): TerminalState | null;
  /** The agent in it, to be driven. */
  drive(): Agent;
  start(): void;
  /** Resolves when something is known of the terminal, or after `timeoutMs`. */
  firstLook(timeoutMs: number): Promise<void>;
  stop(): Promise<void>;
}

interface Watched {
  terminal: WatchedTerminal;
  /** Made by the first that drives it. */
  agent: Agent | null;
  known: Promise<void>;
  /** How many use it at this moment. */
  uses: number;
  cancelEnd: () => void;
}

const firstLookMs = 3000;

/**
 * One connection for each watched terminal, made by the first look and ended when nobody looked for `idleMs`.
 * At most `max` at once: the one that was not looked at for the longest time makes room.
 */
export function createPassiveTerminals(deps: {
  open: (agent: Session) => WatchedTerminal;
  files: Pick<Files, "ensureDirectory">;
  locks: Pick<Locks, "tryTake">;
  clock: Clock;
  idleMs?: number;
  max?: number;
}): PassiveTerminals {
  const { clock, idleMs = 60_000, max = 16 } = deps;
  /** The last used one last. */
  const watched = new Map<string, Watched>();

  /** A relaunched agent gets a new watch. */
  const keyOf = ({ manifest, sessionRoot }: Session) => `${sessionRoot} ${manifest.registry_generation_id}`;

  async function end(key: string): Promise<void> {
    const one = watched.get(key);
    watched.delete(key);
    one?.cancelEnd();
    await one?.terminal.stop();
  }

  /** False when all that are watched are in use. */
  function makeRoom(): boolean {
    if (watched.size < max) return true;
    const idle = [...watched].find(([, { uses }]) => uses === 0);
    if (!idle) return false;
    void end(idle[0]);
    return true;
  }

  function watch(agent: Session): Watched | null {
    const key = keyOf(agent);
    const before = watched.get(key);
    if (before) {
      watched.delete(key);
      watched.set(key, before);
      return before;
    }
    if (!makeRoom()) return null;
    const terminal = deps.open(agent);
    terminal.start();
    const one: Watched = {
      terminal,
      agent: null,
      known: terminal.firstLook(firstLookMs),
      uses: 0,
      cancelEnd: () => {},
    };
    watched.set(key, one);
    return one;
  }

  async function using<T>(agent: Session, work: (watched: Watched) => T | Promise<T>): Promise<T | null> {
    const one = watch(agent);
    if (!one) return null;
    one.cancelEnd();
    one.uses += 1;
    try {
      await one.known;
      return await work(one);
    } finally {
      one.uses -= 1;
      if (one.uses === 0) one.cancelEnd = clock.after(idleMs, () => void end(keyOf(agent)));
    }
  }

  return {
    async state(agent) {
      try {
        return await using(agent, ({ terminal }) => terminal.state());
      } catch {
        return null;
      }
    },
    async drive(agent, work) {
      const unreachable = (why: string) =>
        new ServiceError("unavailable", `"${agent.manifest.agent_name}" cannot be driven directly: ${why}`);
      // Every gateway of the session takes this lock first.
      const { runRoot, gatewayLock } = sessionPaths(agent.sessionRoot);
      deps.files.ensureDirectory("file:gateway-folder", runRoot);
      const lock = deps.locks.tryTake(gatewayLock);
      if (!lock) throw unreachable("a gateway serves it");
      try {
        const done = await using(agent, async (watched) => {
          watched.agent ??= watched.terminal.drive();
          return { result: await work(watched.agent) };
        });
        if (!done) throw unreachable("too many terminals are in use");
        return done.result;
      } catch (error) {
        if (error instanceof ServiceError) throw error;
        throw unreachable(messageOf(error));
      } finally {
        lock.release();
      }
    },
    async stop() {
      await Promise.all([...watched.keys()].map(end));
    },
  };
}
