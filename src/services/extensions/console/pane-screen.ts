import { toTimestamp } from "../../../system/clock.ts";
import type { Observation } from "../../terminal/screen.ts";
import { paint, runsOf, type Shown, showAbsent } from "./picture.ts";
import type { ScreenSource } from "./screens.ts";

/** What was read of a terminal last, and when more is. */
interface PaneReads {
  observation(): Observation | null;
  subscribe(listener: () => void): () => void;
}

/**
 * The screen of the gateway's agent, from what is read of the pane anyway. `reads`: null for an agent without
 * one.
 */
export function createPaneScreen(deps: {
  agentId: string;
  reads: PaneReads | null;
  epoch: () => number;
  nowMs: () => number;
}): ScreenSource {
  const { agentId, reads, epoch, nowMs } = deps;
  let shown: Shown | null = null;
  let painted: { of: Observation; epoch: number } | null = null;

  return {
    shown() {
      const seen = reads?.observation() ?? null;
      if (seen === null) {
        const why =
          reads === null ? "a headless agent has no terminal" : "the agent's terminal cannot be read";
        shown = showAbsent(agentId, shown, why, toTimestamp(nowMs()));
        painted = null;
      } else if (painted?.of !== seen || painted.epoch !== epoch()) {
        painted = { of: seen, epoch: epoch() };
        const { row, column } = seen.cursor ?? { row: 0, column: null };
        shown = paint(agentId, shown, {
          atUtc: toTimestamp(seen.atMs),
          epoch: epoch(),
          width: seen.pane.width,
          height: seen.pane.height,
          cursor: column === null ? null : { row, column },
          rows: runsOf(seen.rows),
        });
      }
      return shown;
    },
    subscribe: (wake) => reads?.subscribe(wake) ?? (() => {}),
  };
}
