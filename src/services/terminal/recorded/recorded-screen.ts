import { defaultTimings, type Surface, type TerminalState } from "../../../protocol/terminal.ts";
import { detect } from "../detect/detect.ts";
import { observationOf } from "../detect/explain.ts";
import type { Signals } from "../detect/signals.ts";
import type { CompiledProfile } from "../profiles/profile.ts";
import type { Observation } from "../screen.ts";
import { observedFields } from "../state/record.ts";
import { reduce } from "../state/reduce.ts";
import { initialTrack } from "../state/reduce-state.ts";

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

/** The whole of `meta.json`, in the order in which it is written. */
export interface RecordedMeta extends RecordedFacts {
  /** What the agent did, in one word. */
  category: string;
  recorded_as: string;
  labels: ScreenLabels;
}

/** A folder TOOL/VERSION/STATE of recordings. `meta`: the text of its `meta.json`. */
export interface StoredRecording {
  tool: string;
  version: string;
  state: string;
  screen: string;
  meta: string;
}

/** What `meta.json` says; null when it describes no recording. Pure. */
export function parseMeta(text: string): (RecordedFacts & { labels: Record<string, unknown> }) | null {
  try {
    const meta = JSON.parse(text) as RecordedFacts & { labels?: Record<string, unknown> | null };
    if (typeof meta.rows !== "number" || typeof meta.labels !== "object" || meta.labels === null) return null;
    return { ...meta, labels: meta.labels };
  } catch {
    return null;
  }
}

/** The word for what labels say. Pure. */
export function categoryOf(labels: ScreenLabels): string {
  if (labels.phase === "unknown" && labels.business_state === null) return "gone";
  if (labels.decision) return "decision";
  if (labels.accepting_input === "no") return "shell";
  if (labels.accepting_input === "unknown") return "unreadable";
  if (labels.pending_input === "yes") return "pending";
  if (labels.phase === "active") return "busy";
  if (labels.editing_input === "yes") return "draft";
  if (labels.last_turn === "none") return "ready";
  return labels.last_turn === "interrupted" ? "interrupted" : "error";
}

const atWork = { ready_posture: "no", phase: "active", business_state: "working" } as const;

/** What a person means who calls a state so: the fields that the word decides. */
const meanings: Readonly<Record<string, Partial<ScreenLabels>>> = {
  ready: {
    accepting_input: "yes",
    editing_input: "no",
    ready_posture: "yes",
    pending_input: "no",
    phase: "ready",
    business_state: "idle",
    draft: "",
    decision: null,
  },
  busy: { ...atWork, decision: null },
  pending: { ...atWork, pending_input: "yes", decision: null },
  draft: { editing_input: "yes", ready_posture: "no" },
  decision: { accepting_input: "no", business_state: "awaiting_operator" },
};

/**
 * The labels of a screen that a person names `state`: as they were read, but for what the first word of the
 * name (`busy` of `busy-tool`) says otherwise. Pure.
 */
export function labelsNamed(state: string, read: ScreenLabels): ScreenLabels {
  const [word = ""] = state.split("-");
  return { ...read, ...(Object.hasOwn(meanings, word) ? meanings[word] : {}) };
}

/** A field of a screen that is read otherwise than it is labelled; both values as JSON. */
export interface LabelDifference {
  field: string;
  recorded: string;
  read: string;
}

export function differingLabels(
  recorded: Readonly<Record<string, unknown>>,
  read: ScreenLabels,
): LabelDifference[] {
  return Object.entries(read).flatMap(([field, value]) =>
    Bun.deepEquals(recorded[field], value)
      ? []
      : [{ field, recorded: JSON.stringify(recorded[field] ?? null), read: JSON.stringify(value) }],
  );
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
