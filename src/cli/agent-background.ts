import type { TranscriptTurn } from "../protocol/transcript.ts";
import type { GatewayCalls } from "../services/fleet/gateway-client.ts";
import { type Clock, sleep } from "../system/clock.ts";
import { readTranscript, withWholeAnswer } from "./agent-transcript.ts";

const pollIntervalMs = 200;
/** Claude Code 2.1.332 begins its own turn 40 to 250 ms after its background work has ended. */
const restMs = 2000;

/** How the work that an agent left running beside a turn came to its end. */
export interface BackgroundEnd {
  /** It was there. */
  wasSeen: boolean;
  /** What still runs when nobody waits any longer; empty when all has ended. */
  left: string[];
}

/**
 * Waits until the agent has no work in the background and rests: when such work ends, a tool begins a turn by
 * itself. `onWork` hears once what runs. Returns at once where nothing does, and with the list of it when
 * `timeoutMs` have passed, `signal` aborts, or the terminal cannot be read.
 */
export async function awaitBackground(
  {
    clock,
    client,
    timeoutMs,
    signal,
  }: {
    clock: Clock;
    client: GatewayCalls;
    timeoutMs: number;
    signal?: AbortSignal | undefined;
  },
  onWork: (work: string[]) => Promise<void>,
): Promise<BackgroundEnd> {
  const untilMs = clock.monotonicMs() + timeoutMs;
  let wasSeen = false;
  let work: string[] = [];
  let restsSinceMs: number | null = null;
  for (;;) {
    const response = await client.call("terminalState", {});
    if (response.kind !== "ok") return { wasSeen, left: work };
    const { background = [], turn } = response.body;
    if (background.length > 0 && !wasSeen) {
      wasSeen = true;
      await onWork(background);
    }
    work = background.length > 0 ? background : turn.phase === "active" ? ["a turn that the tool began"] : [];
    if (!wasSeen) return { wasSeen, left: [] };
    const nowMs = clock.monotonicMs();
    restsSinceMs = work.length > 0 ? null : (restsSinceMs ?? nowMs);
    if (restsSinceMs !== null && nowMs - restsSinceMs >= restMs) return { wasSeen, left: [] };
    if (nowMs >= untilMs || signal?.aborted) return { wasSeen, left: work };
    await sleep(clock, pollIntervalMs, signal);
  }
}

/** Turns after the asked one that are looked at. */
const maxOwnTurns = 20;
/** A tool writes its record a moment after the end. */
const maxWritingMs = 7000;

/** The turns that the tool began by itself right after `turn`, oldest first, each with its whole answer. */
export async function ownTurnsAfter(
  clock: Clock,
  client: GatewayCalls,
  turn: TranscriptTurn,
): Promise<TranscriptTurn[]> {
  const untilMs = clock.monotonicMs() + maxWritingMs;
  for (;;) {
    const { turns } = await readTranscript(client, { limit: maxOwnTurns });
    const at = turns.findIndex(({ turn_id }) => turn_id === turn.turn_id);
    const later = turns.slice(0, Math.max(0, at)).reverse();
    const other = later.findIndex(({ own }) => own !== true);
    const own = other < 0 ? later : later.slice(0, other);
    if (!own.some(({ status }) => status === "running") || clock.monotonicMs() >= untilMs) {
      return Promise.all(own.map((one) => withWholeAnswer(client, one)));
    }
    await sleep(clock, pollIntervalMs);
  }
}
