import type {
  AwaitingDecision,
  ChatContextDiagnostic,
  ParsedSurface,
  ProbeError,
  Surface,
  TerminalDiagnostics,
} from "../../../protocol/terminal.ts";

/** A rule that held, and the row (from 0) where it was seen; null when it is not about a row. */
export interface FiredRule {
  rule: string;
  row: number | null;
  seen: string;
}

export type TitleVerdict = "idle" | "busy" | "decision" | "unknown";

/** Everything that one observation says. Nothing here knows of another moment. */
export interface Signals {
  processState: TerminalDiagnostics["process_state"];
  parseStatus: TerminalDiagnostics["parse_status"];
  probeError: ProbeError | null;
  /** Names of the processes of the pane that are the tool. */
  matchedProcesses: string[];
  surface: Surface;
  /** Why each surface value is what it is. */
  surfaceReasons: Record<keyof Surface, string>;
  firedRules: FiredRule[];
  title: TitleVerdict;
  /** The composer was found whole. */
  promptVisible: boolean;
  /** The draft; empty for an empty composer or a placeholder. A paste may be shown as its chip. */
  promptText: string;
  /** `prompt`, or the mode in which the composer's text is not one. */
  composerMode: string;
  popupOpen: boolean;
  /** The first entry of the open completion list; null without a list. */
  offered: string | null;
  /**
   * The newest prompt in the transcript, as far as it is one cell, without its glyph; null when none is in
   * sight.
   */
  newestPrompt: string | null;
  /** The cursor is known to be where the first character of a prompt goes. */
  cursorAtStart: boolean;
  /** The cursor is known to be behind the last character of the draft. */
  cursorAtEnd: boolean;
  footerInterruptable: boolean;
  /** Facts that say that a turn runs; empty when none does. */
  activeReasons: string[];
  interrupted: boolean;
  knownFailure: boolean;
  /** The newest error at the live edge as one line, or null. */
  currentError: string | null;
  successCandidate: boolean;
  /** Every turn of this tool leaves a closing row. */
  endsAreMarked: boolean;
  /** The transcript holds the banner and no turn yet. */
  untouched: boolean;
  /** Nothing follows the newest prompt, of a tool that closes its turns without a row. */
  unanswered: boolean;
  successBlocked: boolean;
  /** The row that closed the newest turn, or null. */
  completionMarker: string | null;
  latestStatusLine: string | null;
  /** Null when nothing waits for a person. `awaitingRule` is the profile's dialog that matched. */
  awaitingDecision: AwaitingDecision | null;
  awaitingRule: string | null;
  /** What goes on beside the turns, in the tool's words; empty when nothing does. */
  background: string[];
  /** Null when the tool shows no usage limit; `shownTime` in its words, null when it shows none. */
  parked: { notice: string; shownTime: string | null } | null;
  parsedSurface: ParsedSurface | null;
  chatContext: "current" | "degraded" | "unknown";
  chatContextDiagnostic: ChatContextDiagnostic | null;
  /** As the tool's banner shows it, or null. */
  toolVersion: string | null;
  /** Whether the profile was proved on that version; null while no banner is in sight. */
  versionProved: boolean | null;
  /** The tool's transcript may be the only thing that moves while a turn runs. */
  growthCounts: boolean;
  /** The visible screen without styling and trailing blanks. */
  screenText: string;
  /** The transcript alone: no composer, status rows, queue or footer. */
  projection: string;
}

export const unknownSurface: Surface = {
  accepting_input: "unknown",
  editing_input: "unknown",
  ready_posture: "unknown",
  pending_input: "unknown",
};
