import type { AwaitingDecision } from "../../../protocol/terminal.ts";
import { type CompiledProfile, isProvedVersion, matchProcesses } from "../profiles/profile.ts";
import { type Observation, plainText, type Row } from "../screen.ts";
import { type Composer, findComposer } from "./composer.ts";
import { type FoundDialog, findDialog, findFloating } from "./dialog.ts";
import { readFacts, type ScreenFacts } from "./facts.ts";
import { type Signals, type TitleVerdict, unknownSurface } from "./signals.ts";
import { composerModeOf, parsedSurfaceOf, surfaceOf } from "./surface.ts";

/**
 * Reads one observation by the rules of one profile. `profile` null (a tool that nothing describes) and a
 * pane without the tool's process read unknown. When unsure a value is `unknown`, never a guess. Pure, never
 * throws. Source: spec/terminal.md 2.1, 5.
 */
export function detect(observation: Observation, profile: CompiledProfile | null): Signals {
  const screenText = plainText(observation.rows);
  const nothing = { ...noSignals, screenText, projection: screenText };
  if (!profile) {
    return unknownBecause("no profile describes this tool", {
      ...nothing,
      processState: "unsupported_tool",
      parseStatus: "unsupported_tool",
    });
  }
  if (observation.processes === null) {
    const probeError = { kind: "process_tree", message: "the process tree could not be read", details: {} };
    return unknownBecause("the process tree could not be read", {
      ...nothing,
      processState: "probe_error",
      parseStatus: "probe_error",
      probeError,
    });
  }
  const matchedProcesses = matchProcesses(observation.processes, profile);
  if (observation.pane.dead || matchedProcesses.length === 0) {
    return unknownBecause(
      observation.pane.dead ? "the pane is dead" : "the tool's process is not in the pane",
      {
        ...nothing,
        processState: "tui_down",
        parseStatus: "skipped_tui_down",
      },
    );
  }
  const base = { ...nothing, matchedProcesses };
  const tool = observation.processes.find((one) => matchProcesses([one], profile).length > 0);
  if (tool?.isStopped) return unreadable("the tool is suspended", [`suspended:${tool.pid}`], base, profile);
  return parseFrame(observation, profile, base);
}

const noSignals: Omit<Signals, "surfaceReasons"> = {
  processState: "tui_up",
  parseStatus: "parsed",
  probeError: null,
  matchedProcesses: [],
  surface: unknownSurface,
  firedRules: [],
  title: "unknown",
  promptVisible: false,
  promptText: "",
  composerMode: "prompt",
  popupOpen: false,
  offered: null,
  newestPrompt: null,
  cursorAtStart: false,
  cursorAtEnd: false,
  footerInterruptable: false,
  activeReasons: [],
  interrupted: false,
  knownFailure: false,
  currentError: null,
  successCandidate: false,
  untouched: false,
  unanswered: false,
  successBlocked: true,
  completionMarker: null,
  latestStatusLine: null,
  awaitingDecision: null,
  awaitingRule: null,
  parked: null,
  background: [],
  parsedSurface: null,
  chatContext: "unknown",
  chatContextDiagnostic: null,
  toolVersion: null,
  versionProved: null,
  growthCounts: false,
  endsAreMarked: false,
  screenText: "",
  projection: "",
};

type PaneSize = Pick<Observation["pane"], "width" | "height">;

function unknownBecause(why: string, signals: Omit<Signals, "surfaceReasons">): Signals {
  return {
    ...signals,
    surfaceReasons: { accepting_input: why, editing_input: why, ready_posture: why, pending_input: why },
  };
}

function titleVerdict(title: string | null, profile: CompiledProfile): TitleVerdict {
  if (title === null) return "unknown";
  for (const verdict of ["decision", "busy", "idle"] as const) {
    if (profile.title[verdict].some((pattern) => pattern.test(title))) return verdict;
  }
  return "unknown";
}

function versionOf(rows: readonly Row[], profile: CompiledProfile): string | null {
  if (!profile.banner) return null;
  for (const row of rows) {
    const version = profile.banner.exec(row.text)?.[1];
    if (version) return version;
  }
  return null;
}

/**
 * In fewer columns the tools cut the rows that say that they work, in fewer rows they draw no whole composer.
 */
const smallestPane = { width: 30, height: 8 };
/** In a smaller pane a screen that cannot be read is cut short by its size. */
const usualPane = { width: 80, height: 24 };

const isSmaller = (pane: PaneSize, than: PaneSize) => pane.width < than.width || pane.height < than.height;

/** As `smallPane` of the readiness reads it. */
const sizeAnomaly = ({ width, height }: PaneSize) => `pane_size:${width}x${height}`;

function parseFrame(
  observation: Observation,
  profile: CompiledProfile,
  base: Omit<Signals, "surfaceReasons">,
): Signals {
  const { rows, pane } = observation;
  const title = titleVerdict(pane.title, profile);
  const toolVersion = versionOf(rows, profile);
  const known = {
    ...base,
    title,
    toolVersion,
    versionProved: toolVersion === null ? null : isProvedVersion(profile, toolVersion),
    growthCounts: profile.data.turn.growth_hint,
    endsAreMarked: profile.data.turn.ends_are_marked,
  };
  // tmux gives every visible row, also blank ones: fewer or more rows are a part of a screen.
  if (rows.length !== pane.height) return unreadable("the screen is cropped", ["cropped"], known, profile);
  if (isSmaller(pane, smallestPane)) {
    return unreadable("the pane is too small", [sizeAnomaly(pane)], known, profile);
  }
  const { composer, dialog } = findSurface(observation, profile);
  if (dialog) return awaiting(dialog.decision, dialog, known, profile);
  if (composer) return prompting(readFacts(rows, composer, title, profile), composer, known, profile);
  if (title === "decision") {
    const decision = { kind: "approval_dialog", question: pane.title ?? "", options: [] };
    return awaiting(decision, null, known, profile);
  }
  const anomalies = ["composer_not_found", ...(isSmaller(pane, usualPane) ? [sizeAnomaly(pane)] : [])];
  return unreadable("no whole composer and no known dialog", anomalies, known, profile);
}

/** A list's chosen row may look like an open composer's glyph row, so there the dialog is tried first. */
function findSurface(
  observation: Observation,
  profile: CompiledProfile,
): { composer: Composer | null; dialog: FoundDialog | null } {
  const floating = findFloating(observation.rows, profile);
  if (floating) return { composer: null, dialog: floating };
  if (profile.data.composer.strategy === "open") {
    const dialog = findDialog(observation.rows, profile);
    return { dialog, composer: dialog ? null : findComposer(observation, profile) };
  }
  const composer = findComposer(observation, profile);
  return { composer, dialog: composer ? null : findDialog(observation.rows, profile) };
}

function unreadable(
  why: string,
  anomalies: readonly string[],
  base: Omit<Signals, "surfaceReasons">,
  profile: CompiledProfile,
): Signals {
  const activeReasons = base.title === "busy" ? ["title_busy"] : [];
  const signals = unknownBecause(why, { ...base, activeReasons });
  return { ...signals, parsedSurface: parsedSurfaceOf(signals, profile, anomalies) };
}

function awaiting(
  decision: AwaitingDecision,
  dialog: FoundDialog | null,
  base: Omit<Signals, "surfaceReasons">,
  profile: CompiledProfile,
): Signals {
  const why = dialog ? `dialog ${dialog.rule}` : "the pane title asks for a decision";
  const signals: Signals = {
    ...base,
    surface: {
      accepting_input: "no",
      editing_input: "no",
      ready_posture: "unknown",
      pending_input: "unknown",
    },
    surfaceReasons: { accepting_input: why, editing_input: why, ready_posture: why, pending_input: why },
    awaitingDecision: decision,
    awaitingRule: dialog?.rule ?? null,
    chatContext: "current",
    firedRules: [
      dialog
        ? { rule: `dialog.${dialog.rule}`, row: dialog.firstRow, seen: decision.question }
        : { rule: "title.decision", row: null, seen: decision.question },
    ],
  };
  return { ...signals, parsedSurface: parsedSurfaceOf(signals, profile, []) };
}

function prompting(
  facts: ScreenFacts,
  composer: Composer,
  base: Omit<Signals, "surfaceReasons">,
  profile: CompiledProfile,
): Signals {
  const { values, reasons } = surfaceOf(facts, composer, base.title, profile);
  const ready = values.ready_posture === "yes";
  const { parked } = facts.shared;
  const successBlocked = facts.interrupted || facts.failure || facts.currentError !== null || parked !== null;
  const signals: Signals = {
    ...base,
    ...facts.shared,
    surface: values,
    surfaceReasons: reasons,
    promptVisible: true,
    promptText: composer.text,
    composerMode: composerModeOf(facts, composer),
    popupOpen: composer.popupOpen,
    offered: composer.offered,
    cursorAtStart: composer.cursorAtStart,
    cursorAtEnd: composer.cursorAtEnd,
    interrupted: facts.interrupted,
    knownFailure: facts.failure,
    currentError: facts.currentError,
    successBlocked,
    successCandidate:
      ready && !successBlocked && (!profile.data.turn.success_needs_end || facts.completionMarker !== null),
    completionMarker: facts.completionMarker,
  };
  return { ...signals, parsedSurface: parsedSurfaceOf(signals, profile, facts.anomalies) };
}
