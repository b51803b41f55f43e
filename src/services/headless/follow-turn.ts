import { parseJson } from "../../protocol/json.ts";
import type { TurnProcess, TurnResult } from "../../protocol/turns.ts";
import { CanonicalEvent } from "../../protocol/turns.ts";
import { sleep } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import { createLoop } from "../../system/lifecycle.ts";
import type { FolderWatch } from "../../system/watch.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { createLineSplitter } from "./line-splitter.ts";
import { isRunnerAlive, type SettleDeps, settleTurn } from "./settle-turn.ts";
import type { TurnDirectory } from "./turn-directory.ts";

export interface FollowDeps extends SettleDeps {
  watch: FolderWatch;
  log: Log;
}

export interface TurnNews {
  /** The tool was started. */
  onStarted: (process: TurnProcess) => void;
  /** In order, each once. `old`: it was there before we began to follow. */
  onEvent: (event: CanonicalEvent, facts: { old: boolean }) => void;
  /** Once, after all events. */
  onEnd: (result: TurnResult) => void;
}

export interface FollowedTurn {
  /** Looks no more; the turn goes on. */
  stop(): Promise<void>;
}

/** Notices may be lost on some file systems; nothing waits longer than this to be seen. */
const pollIntervalMs = 500;
const partBytes = 256 * 1024;

/**
 * Follows a turn through its directory until its final state, which it gives it itself when the runner is gone.
 * `claimWithinMs`: a turn that no runner has claimed by then never will be run.
 */
export function followTurn(
  deps: FollowDeps,
  turn: TurnDirectory,
  options: { claimWithinMs: number; news: TurnNews },
): FollowedTurn {
  const { files, clock, processes, news } = { ...deps, ...options };
  const deadlineMs = clock.monotonicMs() + options.claimWithinMs;
  const splitter = createLineSplitter();
  const oldBytes = files.stat(turn.paths.events)?.size ?? 0;
  let offset = 0;
  let reportedStart = false;
  let ended = false;
  /** The last look failed: what it wrote in the folder must not make it look again at once. */
  let troubled = false;

  async function readEvents(): Promise<void> {
    for (;;) {
      const part = files.readPart(turn.paths.events, offset, offset + partBytes);
      if (part.length === 0) return;
      // A turn that said very much must not keep this process from everything else.
      if (offset > 0 && part.length === partBytes) await sleep(clock, 0);
      offset += part.length;
      for (const line of splitter.push(part)) {
        const event = line.truncated ? null : toEvent(line.text);
        if (event) news.onEvent(event, { old: offset <= oldBytes });
      }
    }
  }

  function tellStarted(): void {
    const process = reportedStart ? null : turn.process();
    if (process?.child_pid == null) return;
    reportedStart = true;
    news.onStarted(process);
  }

  async function look(): Promise<number | null> {
    if (ended) return null;
    tellStarted();
    // The final state is written after the last event: in this order none is missed.
    const result = await settleIfGone();
    tellStarted();
    await readEvents();
    if (!result) return pollIntervalMs;
    ended = true;
    unwatch();
    news.onEnd(result);
    return null;
  }

  async function settleIfGone(): Promise<TurnResult | null> {
    if (turn.result()) return settleTurn(deps, turn);
    if (isRunnerAlive(processes, turn)) return null;
    if (turn.process()) return settleTurn(deps, turn);
    if (clock.monotonicMs() < deadlineMs) return null;
    return settleTurn(deps, turn, { unbegun: "its runner was never started" });
  }

  const loop = createLoop({
    clock,
    async turn() {
      try {
        const delayMs = await look();
        troubled = false;
        return delayMs;
      } catch (error) {
        troubled = true;
        throw error;
      }
    },
    onError: (error) => deps.log.line("following a turn failed", { error: messageOf(error) }),
  });
  const unwatch = deps.watch.watchFolder(turn.paths.folder, () => {
    if (!troubled) loop.wake();
  });
  loop.start();
  return {
    async stop() {
      unwatch();
      await loop.stop();
    },
  };
}

/** Null for a line that is no event of ours. */
export const toEvent = (text: string) => parseJson(CanonicalEvent, text);
