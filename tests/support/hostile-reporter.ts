import type { ToolReport } from "../../src/protocol/tool-report.ts";
import { fingerprint } from "../../src/services/demo/log.ts";
import type { Dice } from "../simulation/dice.ts";

/** What a tool reports when nothing goes wrong: see tests/signals for the real ones. */
export interface ReportShape {
  /** The begin of a turn is reported, with its text. */
  begins: boolean;
  /** Turns have ids. */
  ids: boolean;
  /** An end names the text. */
  endsNameText: boolean;
}

type Parts = Partial<ToolReport> & Pick<ToolReport, "kind">;

/** Tells what the tool does: late, twice, never, out of order, and things that are not so. */
export function createHostileReporter(deps: {
  nowMs: () => number;
  dice: Dice;
  shape: ReportShape;
  /** Hands a report over so much later. */
  deliver: (report: ToolReport, delayMs: number) => void;
}) {
  const { nowMs, dice, shape, deliver } = deps;
  const main = "session-main";
  let minted = 0;
  let turn = 0;

  function make(parts: Parts): ToolReport {
    const { prompt = null } = parts;
    return {
      schema_version: 1,
      id: `r${++minted}`,
      tool: "demo",
      at_ms: nowMs(),
      session_id: main,
      turn_id: null,
      message: null,
      action: null,
      transcript_path: null,
      prompt,
      prompt_sha256: prompt === null ? null : fingerprint(prompt).sha256,
      ...parts,
    };
  }

  /** Hands one report over as a tool under load does. */
  function tell(parts: Parts): void {
    if (dice.chance(0.08)) return;
    const report = make(parts);
    const delayMs = dice.chance(0.12) ? dice.skewed(200, 8000) : dice.skewed(1, 150);
    deliver(report, delayMs);
    if (dice.chance(0.12)) deliver(report, dice.skewed(1, 6000));
    // The tool itself runs its hook twice.
    if (dice.chance(0.12)) deliver({ ...report, id: `r${++minted}` }, dice.skewed(1, 6000));
  }

  const idOf = (number: number) => (shape.ids ? `turn-${number}` : null);

  function disturb(): void {
    const nested = { session_id: `nested-${minted}`, turn_id: dice.chance(0.5) ? `n-${minted}` : null };
    const at = () => dice.skewed(1, 1200);
    if (dice.chance(0.15)) {
      // An agent that the agent started, with a prompt of its own.
      deliver(make({ kind: "session_started", ...nested }), at());
      deliver(make({ kind: "prompt_submitted", prompt: "a part of the work", ...nested }), at());
      deliver(make({ kind: "turn_ended", ...nested }), at());
      deliver(make({ kind: "session_ended", ...nested }), at());
    }
    if (dice.chance(0.1)) {
      const title = { session_id: `title-${minted}`, turn_id: `title-${minted}` };
      deliver(make({ kind: "turn_ended", prompt: "Write a title", ...title }), at());
    }
    // A text that nobody typed, in the agent's own session.
    if (shape.ids && dice.chance(0.1)) {
      const other = { turn_id: `other-${minted}` };
      deliver(make({ kind: "prompt_submitted", prompt: "of somebody else", ...other }), at());
      if (dice.chance(0.5)) deliver(make({ kind: "turn_ended", ...other }), at() + 1200);
    }
    if (dice.chance(0.1)) deliver(make({ kind: "question_asked", message: "May I?", action: "Bash" }), at());
    if (dice.chance(0.1)) deliver(make({ kind: "tool_started", turn_id: idOf(turn), action: "Bash" }), at());
  }

  return {
    submitted(text: string) {
      turn += 1;
      if (shape.begins) tell({ kind: "prompt_submitted", prompt: text, turn_id: idOf(turn) });
      disturb();
    },
    ended(text: string, kind: "turn_ended" | "turn_failed") {
      tell({ kind, turn_id: idOf(turn), prompt: shape.endsNameText ? text : null });
    },
  };
}
