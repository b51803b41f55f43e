import type { TranscriptTurn } from "../../protocol/transcript.ts";
import type { GatewayCalls } from "../../services/fleet/gateway-client.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import { readTranscript, withWholeAnswer } from "./agent-transcript.ts";

const pollIntervalMs = 200;
const backgroundPollMs = 1000;
/** Claude Code 2.1.332 begins its own turn 40 to 250 ms after its background work has ended. */
const restMs = 2000;

/** How the work that an agent left running beside a turn came to its end. */
interface BackgroundEnd {
  hadWork: boolean;
  /** What still runs when nobody waits any longer; empty when all has ended. */
  remaining: string[];
}

/**
 * Waits until the agent has no work in the background of `turn` and rests: when such work ends, a tool begins
 * a turn by itself. `onWork` hears once what runs. Returns at once where nothing does, and with the list of it
 * when `timeoutMs` have passed, `signal` aborts, the terminal cannot be read, or a prompt of another caller has
 * a turn: what runs from then on may be that caller's. `turn`: null where no record of the tool has it.
 */
export async function awaitBackground(
  {
    clock,
    client,
    turn,
    timeoutMs,
    signal,
  }: {
    clock: Clock;
    client: GatewayCalls;
    turn: TranscriptTurn | null;
    timeoutMs: number;
    signal?: AbortSignal | undefined;
  },
  onWork: (work: string[]) => Promise<void>,
): Promise<BackgroundEnd> {
  const untilMs = clock.monotonicMs() + timeoutMs;
  let hadWork = false;
  let listed: string[] = [];
  let remaining: string[] = [];
  let restsSinceMs: number | null = null;
  for (;;) {
    const response = await client.call("terminalState", {});
    if (response.kind !== "ok") return { hadWork, remaining };
    const { background = [], turn: now } = response.body;
    if (background.length > 0 && !hadWork) {
      hadWork = true;
      await onWork(background);
    }
    if (!hadWork) return { hadWork, remaining: [] };
    const isActive = now.phase === "active";
    if (isActive && turn !== null && (await hasOtherTurn(client, turn)))
      return { hadWork, remaining: listed };
    listed = background;
    remaining = background.length > 0 ? background : isActive ? ["a turn that the tool began"] : [];
    const nowMs = clock.monotonicMs();
    restsSinceMs = remaining.length > 0 ? null : (restsSinceMs ?? nowMs);
    if (restsSinceMs !== null && nowMs - restsSinceMs >= restMs) return { hadWork, remaining: [] };
    if (nowMs >= untilMs || signal?.aborted) return { hadWork, remaining };
    await sleep(clock, backgroundPollMs, signal);
  }
}

/** Whether a turn that the tool did not begin by itself came after `turn`. */
async function hasOtherTurn(client: GatewayCalls, turn: TranscriptTurn): Promise<boolean> {
  const response = await client.call("transcript", { query: { limit: maxOwnTurns } });
  return response.kind === "ok" && turnsAfter(response.body.turns, turn).some(({ own }) => own !== true);
}

/** The turns after `turn`, newest first, of a page that has the newest ones. Pure. */
function turnsAfter(turns: readonly TranscriptTurn[], turn: TranscriptTurn): readonly TranscriptTurn[] {
  const at = turns.findIndex(({ turn_id }) => turn_id === turn.turn_id);
  return at < 0 ? turns : turns.slice(0, at);
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
    const later = turnsAfter(turns, turn).toReversed();
    const other = later.findIndex(({ own }) => own !== true);
    const own = other < 0 ? later : later.slice(0, other);
    if (!own.some(({ status }) => status === "running") || clock.monotonicMs() >= untilMs) {
      return Promise.all(own.map((one) => withWholeAnswer(client, one)));
    }
    await sleep(clock, pollIntervalMs);
  }
}
