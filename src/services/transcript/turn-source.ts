import type { TranscriptSource } from "../../protocol/transcript.ts";
import type { PromptKey } from "../terminal/prompt-key.ts";
import type { WholeTurn } from "./turn-items.ts";

/** Where a turn begins, as far as a page must know to choose it. */
export interface TurnHead {
  turnId: string;
  startedMs: number | null;
  /** Null for a turn whose prompt is not known. */
  promptKey: PromptKey | null;
}

/** A turn with where it was read. */
export interface ReadTurn extends WholeTurn {
  turnId: string;
  source: TranscriptSource;
  /** Where, as a clause for people, without a path of the machine. */
  evidence: string;
  conversationId: string | null;
  /** Not all of the answer could be read. */
  cut: boolean;
}

/** One conversation, or all headless turns of a session: whatever keeps its turns in one order. */
export interface TurnSource {
  /** Oldest first, as of now. Never rejects for a file that is missing or damaged: `gap` says so. */
  heads(): Promise<readonly TurnHead[]>;
  /** Null when the turn is there no more. `last`: no source has a later turn, so it may still run. */
  read(turnId: string, options: { last: boolean }): Promise<ReadTurn | null>;
  /** Why some of it could not be read at the last look, as a sentence; null when all could. */
  gap(): string | null;
  /** Lines that were skipped at the last look. */
  damagedLines(): number;
}
