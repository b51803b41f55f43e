import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Signals } from "../../../src/services/terminal/detect/signals.ts";
import { type CompiledProfile, profileFor } from "../../../src/services/terminal/profiles/profile.ts";
import {
  observeRecording,
  type RecordedFacts,
  readLabels,
  type ScreenLabels,
} from "../../../src/services/terminal/recorded/recorded-screen.ts";
import type { Observation } from "../../../src/services/terminal/screen.ts";

export type Labels = ScreenLabels;

interface Meta extends RecordedFacts {
  category: string;
  recorded_as: string;
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
 * Every recorded screen. Throws when a tool whose profile says `tested` lacks a required category, so that no
 * tool counts as supported by accident.
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

/**
 * The version with the most recordings first: a test that wants a screen of a tool by its name finds that
 * one's.
 */
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

export const observe = (recording: Recording, options: { cursor?: boolean } = {}): Observation =>
  observeRecording(recording.raw, recording, compiled(recording.tool), options);

/** What our code says of one observation, in the words of the labels. */
export const read = (observation: Observation, tool: string): { labels: Labels; signals: Signals } =>
  readLabels(observation, compiled(tool));

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
