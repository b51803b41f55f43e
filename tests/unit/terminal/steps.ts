import { expect } from "bun:test";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import type { ToolReport } from "../../../src/protocol/tool-report.ts";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import { keyOfText } from "../../../src/services/terminal/keys.ts";
import { failingFacts } from "../../../src/services/terminal/readiness.ts";
import type { Observation } from "../../../src/services/terminal/screen.ts";
import { observedFields } from "../../../src/services/terminal/state/record.ts";
import { reduce } from "../../../src/services/terminal/state/reduce.ts";
import {
  initialTrack,
  type TrackEvent,
  type TrackState,
} from "../../../src/services/terminal/state/reduce-state.ts";
import { compiled } from "./corpus.ts";
import { demoScreen } from "./screens.ts";

export type Step = { at: number; expect?: Record<string, unknown> } & (
  | { screen: Observation }
  | { note: { baseline?: string | null; sawActivity?: boolean; command?: boolean; reported?: boolean } }
  | { typed: string }
  | { report: Partial<ToolReport> & Pick<ToolReport, "kind"> }
  | { event: "tick" | "turn_interrupted" | "tmux_missing" | "probe_failed" }
);

export const moment = (at: number) => ({ wallMs: 1_000_000 + at, monotonicMs: at });

function eventOf(step: Step): TrackEvent {
  const at = moment(step.at);
  if ("screen" in step) {
    const signals = detect(step.screen, compiled("demo"));
    return { kind: "observed", at, observation: step.screen, signals };
  }
  if ("note" in step) {
    return { kind: "prompt_noted", at, baseline: null, sawActivity: false, command: false, ...step.note };
  }
  if ("typed" in step) return { kind: "prompt_typed", at, key: keyOfText(step.typed), command: false };
  if ("report" in step) return { kind: "reported", at, report: toolReport(at.wallMs, step.report) };
  if (step.event === "probe_failed") {
    return { kind: "probe_failed", at, error: { kind: "tmux", message: "no answer", details: {} } };
  }
  return { kind: step.event, at };
}

const minted = { count: 0 };

/** A report of a hook that ran at `wallMs`, of session `main`, unless `parts` says otherwise. */
function toolReport(wallMs: number, parts: Partial<ToolReport> & Pick<ToolReport, "kind">): ToolReport {
  minted.count += 1;
  const { prompt = null } = parts;
  const digest = prompt === null ? null : new Bun.CryptoHasher("sha256").update(prompt).digest("hex");
  return {
    schema_version: 1,
    id: `report-${minted.count}`,
    tool: "demo",
    at_ms: wallMs,
    session_id: "main",
    turn_id: null,
    prompt,
    prompt_sha256: digest,
    message: null,
    action: null,
    transcript_path: null,
    ...parts,
  };
}

export function summary(state: TrackState) {
  const { diagnostics, surface, turn, last_turn, stability, active_reasons } = observedFields(state);
  return {
    phase: turn.phase,
    result: last_turn.result,
    source: last_turn.source,
    ready: surface.ready_posture,
    stable: stability.stable,
    witness: stability.witness ?? null,
    reasons: active_reasons,
    availability: diagnostics.availability,
    recovery: state.turn.recovery,
    promptReady: failingFacts(observedFields(state)).length === 0,
  };
}

/** Plays the steps in order; every `expect` names the fields that must hold after its step. */
export function play(steps: readonly Step[], from: TrackState = initialTrack(moment(0))): TrackState {
  let state = from;
  for (const step of steps) {
    state = reduce(state, eventOf(step), defaultTimings);
    if (step.expect)
      expect({ at: step.at, ...summary(state) }).toMatchObject({ at: step.at, ...step.expect });
  }
  return state;
}

export const asked = ["> hi"];
export const idle = demoScreen();
export const working = (seconds: number) => demoScreen({ transcript: asked, busySeconds: seconds });
export const done = demoScreen({ transcript: [...asked, "* ok", "— done in 2s —"] });
export const interrupted = demoScreen({ transcript: [...asked, "✗ interrupted"] });
export const failed = demoScreen({ transcript: [...asked, "✗ error: no model"] });
export const draft = demoScreen({ draft: ["half"] });
