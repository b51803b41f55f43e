import type { Evidence, Execution } from "../../protocol/gateway.ts";
import type { HeadlessChatSession, TurnEvent, TurnStatusRecord } from "../../protocol/turns.ts";

/** A turn that was begun; it ends whether or not anyone waits, and outlives this process. */
export interface RunningTurn {
  turnId: string;
  turnIndex: number;
  /** Its one final state. Never rejects; never resolves once the agent was let go. */
  ended: Promise<TurnEnd>;
}

export interface TurnEnd {
  status: "completed" | "failed" | "interrupted";
  /** Why it is not completed, else what it said, on one line. */
  detail: string | null;
}

/** The turns of an agent without a terminal, and the conversation they belong to. */
export interface AgentTurns {
  active(): { turnId: string; turnIndex: number } | null;
  /** The turn that was begun for a request of the queue by an earlier process, running or ended; null: none was. */
  resume(requestId: string, onEvidence: (evidence: Evidence) => void): RunningTurn | null;
  /** Why the tool cannot run a turn like that, as a clause for people, or null. */
  refuseExecution(execution: Execution | undefined): string | null;
  chatSession(): HeadlessChatSession;
  /** The next direct prompt that leaves the conversation open begins a new one. */
  overrideNextPrompt(): void;
  exists(turnId: string): boolean;
  /** Newest first. */
  list(limit: number): TurnStatusRecord[];
  read(turnId: string): TurnStatusRecord | null;
  /** Read from disk as they are taken. `after`: how many to pass over. Null when there is no such turn. */
  events(turnId: string, after: number): TurnEventReader | null;
  /** Bytes as the tool wrote them, also while it writes. Null when there is no such turn. */
  artifact(turnId: string, name: "stdout" | "stderr", part: ArtifactPart): ArtifactReader | null;
}

export type TurnEventReader = IteratorObject<TurnEvent, undefined>;

export interface ArtifactPart {
  offset: number;
  /** Null: to the end. */
  maxBytes: number | null;
}

export interface ArtifactReader {
  /** Read from disk as they are taken. */
  pieces: Iterable<Uint8Array>;
  /** Where the next part begins; null when nothing follows the asked one at present. */
  next: number | null;
}
