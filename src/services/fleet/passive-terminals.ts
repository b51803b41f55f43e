import type { TerminalState } from "../../protocol/terminal.ts";
import type { Agent } from "../agent/agent.ts";
import type { FoundAgent } from "../sessions/find.ts";

type Session = Pick<FoundAgent, "manifest" | "sessionRoot">;

/** Terminals of agents that no gateway serves, watched by ourselves and only while somebody asks. */
export interface PassiveTerminals {
  /** What the agent's terminal shows now; null when it cannot be watched. Never rejects. */
  state(agent: Session): Promise<TerminalState | null>;
  /**
   * Runs `work` with the agent to be driven directly, while no gateway can begin to serve it. Throws `unavailable`
   * when one does or its terminal cannot be reached.
   */
  drive<T>(agent: Session, work: (terminal: Agent) => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}
