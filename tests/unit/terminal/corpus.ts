import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Surface, TerminalState } from "../../../src/protocol/terminal.ts";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import type { Signals } from "../../../src/services/terminal/detect/signals.ts";
import { detect } from "../../../src/services/terminal/detect.ts";
import { observationOf } from "../../../src/services/terminal/explain.ts";
import type { Observation } from "../../../src/services/terminal/observation.ts";
import { type CompiledProfile, profileFor } from "../../../src/services/terminal/profile.ts";
import { observedFields } from "../../../src/services/terminal/record.ts";
import { reduce } from "../../../src/services/terminal/reduce.ts";
import { initialTrack } from "../../../src/services/terminal/reduce-state.ts";

/** What a person who looks at the recorded screen says of it. */
export interface Labels extends Surface {
  phase: TerminalState["turn"]["phase"];
  /** Null when nothing is parsed. */
  business_state: string | null;
  draft: string;
  last_turn: string;
  decision: { kind: string; question: string; options: string[]; selected: number } | null;
}

interface Meta {
  category: string;
  recorded_as: string;
  title: string | null;
  cursor_row: number | null;
  /** Older recordings lack it. */
  cursor_column?: number;
  /** Rows of the pane; more than the file has when rows were cut out. */
  rows: number;
  process: "up" | "gone";
  labels: Labels;
}

export interface Recording extends Meta {
  tool: string;
  version: string;
  name: string;
  raw: string;
}

const root = join(import.meta.dir, "../../screens");
const requiredCategories = ["ready", "busy", "draft", "pending", "decision", "cropped"];

const folders = (path: string) =>
  readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();

/**
 * Every recorded screen. Throws when a tool whose profile says `tested` lacks a required category, so that no tool
 * counts as supported by accident.
 */
export function loadCorpus(): Recording[] {
  const recordings = folders(root).flatMap((tool) =>
    versionsOf(tool).flatMap((version) =>
      folders(join(root, tool, version)).map((name): Recording => {
        const folder = join(root, tool, version, name);
        const meta = JSON.parse(readFileSync(join(folder, "meta.json"), "utf8")) as Meta;
        const raw = readFileSync(join(folder, "screen.ansi.txt"), "utf8");
        return { ...meta, tool, version, name, raw };
      }),
    ),
  );
  requireCategories(recordings);
  return recordings;
}

/** The version with the most recordings first: a test that wants a screen of a tool by its name finds that one's. */
function versionsOf(tool: string): string[] {
  const count = (version: string) => folders(join(root, tool, version)).length;
  return folders(join(root, tool)).sort((one, other) => count(other) - count(one));
}

export function requireCategories(recordings: readonly Pick<Recording, "tool" | "category">[]): void {
  for (const tool of new Set(recordings.map((recording) => recording.tool))) {
    if (profileFor(tool)?.data.tested !== true) continue;
    const present = recordings.filter((recording) => recording.tool === tool).map((one) => one.category);
    const missing = requiredCategories.filter((category) => !present.includes(category));
    if (missing.length > 0) throw new Error(`the corpus of ${tool} lacks: ${missing.join(", ")}`);
  }
}

export function compiled(tool: string): CompiledProfile {
  const profile = profileFor(tool);
  if (!profile) throw new Error(`no profile of ${tool}`);
  return profile;
}

export function observe(recording: Recording, options: { cursor?: boolean } = {}): Observation {
  const observation = observationOf({
    raw: recording.raw,
    tool: compiled(recording.tool),
    title: recording.title,
    cursorRow: (options.cursor ?? true) ? recording.cursor_row : null,
    cursorColumn: recording.cursor_column ?? null,
    height: recording.rows,
  });
  const shell = [{ pid: 1, parentPid: 0, command: "bash", argv: ["bash"] }];
  return recording.process === "gone" ? { ...observation, processes: shell } : observation;
}

/** What our code says of one observation, in the words of the labels. */
export function read(observation: Observation, tool: string): { labels: Labels; signals: Signals } {
  const signals = detect(observation, compiled(tool));
  const at = { wallMs: 0, monotonicMs: 0 };
  const state = reduce(initialTrack(at), { kind: "observed", at, observation, signals }, defaultTimings);
  const fields = observedFields(state);
  const { awaitingDecision } = signals;
  const labels: Labels = {
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

/** The recorded frames of a session, one every half second; titles and cursors were not recorded. */
export interface TimelineFrame {
  n: number;
  t: number;
  event: { kind: string; [detail: string]: unknown } | null;
  screen: string;
}

export function loadTimeline(tool: string, version: string): TimelineFrame[] {
  const path = join(root, tool, version, "timeline.ndjson");
  if (!existsSync(path)) throw new Error(`no timeline of ${tool} ${version}`);
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as TimelineFrame);
}
