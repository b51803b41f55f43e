import type { ParsedSurface, Surface } from "../../../protocol/terminal.ts";
import type { CompiledProfile } from "../profiles/profile.ts";
import type { Composer } from "./composer.ts";
import type { ScreenFacts } from "./facts.ts";
import type { Signals, TitleVerdict } from "./signals.ts";

/** The value table for a frame whose composer is visible. Source: spec/terminal.md 5.4; ruling 25. */
export function surfaceOf(
  facts: ScreenFacts,
  composer: Composer,
  title: TitleVerdict,
  profile: CompiledProfile,
): { values: Surface; reasons: Record<keyof Surface, string> } {
  const mode = composerModeOf(facts, composer);
  if (mode !== "prompt") {
    const why = `the composer is in ${mode.replaceAll("_", " ")} mode`;
    return {
      values: { accepting_input: "no", editing_input: "yes", ready_posture: "no", pending_input: "unknown" },
      reasons: { accepting_input: why, editing_input: why, ready_posture: why, pending_input: why },
    };
  }
  const draft = composer.content === "draft";
  const ready = readyPosture(facts, composer, title, profile);
  return {
    values: {
      accepting_input: "yes",
      editing_input: draft ? "yes" : "no",
      ready_posture: ready.value,
      pending_input: facts.pendingRule ? "yes" : facts.queueHidden ? "unknown" : "no",
    },
    reasons: {
      accepting_input: "the composer is visible",
      editing_input: `the composer shows ${composer.content === "empty" ? "nothing" : `a ${composer.content}`}`,
      ready_posture: ready.why,
      pending_input: facts.pendingRule
        ? `queued input: ${facts.pendingRule}`
        : facts.queueHidden
          ? "a popup may hide queued input"
          : "no queued input is shown",
    },
  };
}

/**
 * `prompt`, or the mode in which the composer's text would not be one: `shell`, or a rule of the profile.
 * Pure.
 */
export function composerModeOf(facts: Pick<ScreenFacts, "modeRule">, composer: Composer): string {
  return composer.mode === "shell" ? "shell" : (facts.modeRule ?? "prompt");
}

function readyPosture(
  facts: ScreenFacts,
  composer: Composer,
  title: TitleVerdict,
  profile: CompiledProfile,
): { value: Surface["ready_posture"]; why: string } {
  const { activeReasons } = facts.shared;
  if (activeReasons.length > 0) return { value: "no", why: `busy: ${activeReasons.join(", ")}` };
  if (facts.notReadyRule) return { value: "no", why: `still starting: ${facts.notReadyRule}` };
  if (composer.popupOpen) return { value: "unknown", why: "a popup is open" };
  if (facts.panelRule) return { value: "unknown", why: `a panel is open: ${facts.panelRule}` };
  if (facts.nothingAbove) return { value: "unknown", why: "nothing is to be seen above the composer" };
  if (facts.headless) return { value: "unknown", why: "no cell of the transcript begins in sight" };
  if (composer.content === "draft") return { value: "no", why: "a draft is in the composer" };
  // Held input waits for a turn that must be running, seen or not; only some tools leave it after an
  // interrupt.
  if (facts.pendingRule && !profile.data.interrupt.leaves.includes("unanswered_queue")) {
    return { value: "unknown", why: `input is held for a turn that is not shown: ${facts.pendingRule}` };
  }
  if (title === "decision") return { value: "unknown", why: "the pane title asks for a decision" };
  return { value: "yes", why: "an empty composer and no busy fact" };
}

const excerptLength = 400;

type ForParsing = Pick<
  Signals,
  | "surface"
  | "awaitingDecision"
  | "activeReasons"
  | "promptVisible"
  | "composerMode"
  | "popupOpen"
  | "currentError"
  | "projection"
  | "screenText"
>;

export function parsedSurfaceOf(
  signals: ForParsing,
  profile: CompiledProfile,
  anomalies: readonly string[],
): ParsedSurface {
  const { awaitingDecision, projection, screenText } = signals;
  const known = signals.promptVisible || awaitingDecision !== null;
  return {
    parser_family: "tool_profile",
    parser_preset_id: profile.data.tool,
    parser_preset_version: profile.data.profile_version,
    availability: known ? "supported" : "unknown",
    ...modeOf(signals),
    normalized_projection_text: projection,
    dialog_text: projection,
    dialog_head: projection.slice(0, excerptLength),
    dialog_tail: projection.slice(-excerptLength),
    anomaly_codes: [...anomalies],
    baseline_invalidated: false,
    operator_blocked_excerpt: awaitingDecision ? screenText.slice(-excerptLength) : null,
  };
}

function modeOf(signals: ForParsing): Pick<ParsedSurface, "business_state" | "input_mode" | "ui_context"> {
  if (signals.awaitingDecision) {
    return {
      business_state: "awaiting_operator",
      input_mode: "modal",
      ui_context: signals.awaitingDecision.kind,
    };
  }
  const working = signals.activeReasons.length > 0;
  if (!signals.promptVisible) {
    return { business_state: working ? "working" : "unknown", input_mode: "unknown", ui_context: "unknown" };
  }
  return {
    business_state: working ? "working" : "idle",
    input_mode: signals.composerMode === "prompt" ? "freeform" : "closed",
    ui_context:
      signals.composerMode !== "prompt"
        ? `${signals.composerMode}_mode`
        : signals.popupOpen
          ? "slash_command"
          : signals.currentError
            ? "error_banner"
            : "normal_prompt",
  };
}
