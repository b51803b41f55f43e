import { defaultTimings, type Surface, type TerminalState } from "../../protocol/terminal.ts";
import type { Signals } from "./detect/signals.ts";
import { detect } from "./detect.ts";
import { observationOf } from "./explain.ts";
import type { Observation } from "./observation.ts";
import type { CompiledProfile } from "./profile.ts";
import { observedFields } from "./record.ts";
import { reduce } from "./reduce.ts";
import { initialTrack } from "./reduce-state.ts";

/** What a person who looks at a recorded screen says of it. */
export interface ScreenLabels extends Surface {
  phase: TerminalState["turn"]["phase"];
  /** Null when nothing is parsed. */
  business_state: string | null;
  draft: string;
  last_turn: string;
  decision: { kind: string; question: string; options: string[]; selected: number } | null;
}

/** `meta.json` of a recording, as far as the screen is read with it. */
export interface RecordedFacts {
  title: string | null;
  cursor_row: number | null;
  /** Older recordings lack it. */
  cursor_column?: number;
  /** Rows of the pane; more than the file has when rows were cut out. */
  rows: number;
  process: "up" | "gone";
}

/** The recording as a gateway would have seen it. Pure. */
export function observeRecording(
  raw: string,
  facts: RecordedFacts,
  profile: CompiledProfile,
  options: { cursor?: boolean } = {},
): Observation {
  const observation = observationOf({
    raw,
    tool: profile,
    title: facts.title,
    cursorRow: (options.cursor ?? true) ? facts.cursor_row : null,
    cursorColumn: facts.cursor_column ?? null,
    height: facts.rows,
  });
  const shell = [{ pid: 1, parentPid: 0, command: "bash", argv: ["bash"] }];
  return facts.process === "gone" ? { ...observation, processes: shell } : observation;
}

/** What a profile says of one observation, in the words of the labels. Pure. */
export function readLabels(
  observation: Observation,
  profile: CompiledProfile,
): { labels: ScreenLabels; signals: Signals } {
  const signals = detect(observation, profile);
  const at = { wallMs: 0, monotonicMs: 0 };
  const state = reduce(initialTrack(at), { kind: "observed", at, observation, signals }, defaultTimings);
  const fields = observedFields(state);
  const { awaitingDecision } = signals;
  const labels: ScreenLabels = {
    ...fields.surface,
    phase: fields.turn.phase,
    business_state: fields.parsed_surface?.business_state ?? null,
    draft: signals.promptText,
    last_turn: fields.last_turn.result,
    decision: awaitingDecision && {
      kind: awaitingDecision.kind,
      question: awaitingDecision.question,
      options: awaitingDecision.options.map((option) => option.text),
      selected: awaitingDecision.options.find((option) => option.selected)?.index ?? 0,
    },
  };
  return { labels, signals };
}
