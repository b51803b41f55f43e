import type { CompiledProfile } from "../profiles/profile.ts";
import { firstVisible, isBlank, type Row } from "../screen.ts";
import type { Composer } from "./composer.ts";
import type { FiredRule, Signals, TitleVerdict } from "./signals.ts";
import {
  closesTurn,
  cutRegions,
  findMarkers,
  hasStyle,
  type MarkerHit,
  newestCell,
  type Regions,
} from "./transcript.ts";

/** What the rows around a visible composer say. */
export interface ScreenFacts {
  pendingRule: string | null;
  notReadyRule: string | null;
  /** A mode of the composer in which its text is not a prompt. */
  modeRule: string | null;
  /** A popup is where held input would be, and the newest turn has no end in sight. */
  queueHidden: boolean;
  /** No row of the transcript or the tool's banner is in sight, nor what would say that it works. */
  nothingAbove: boolean;
  /** All that is in sight above goes on from rows that are not. */
  headless: boolean;
  /** Something that a person opened beside the composer, by its shape. */
  panelRule: string | null;
  interrupted: boolean;
  failure: boolean;
  currentError: string | null;
  completionMarker: string | null;
  anomalies: string[];
  /** Goes into the signals as it is. */
  shared: Pick<
    Signals,
    | "activeReasons"
    | "firedRules"
    | "footerInterruptable"
    | "latestStatusLine"
    | "parked"
    | "background"
    | "projection"
    | "chatContext"
    | "chatContextDiagnostic"
    | "newestPrompt"
    | "untouched"
    | "unanswered"
  >;
}

const previewLength = 240;
/** Further rows that a notice may take. */
const noticeRows = 4;

export function readFacts(
  rows: readonly Row[],
  composer: Composer,
  title: TitleVerdict,
  profile: CompiledProfile,
): ScreenFacts {
  const whole = cutRegions(rows, composer, profile);
  // A popup under the composer replaces the footer; its words are not the tool's status.
  const regions = composer.popupOpen ? { ...whole, below: [] } : whole;
  const busy = findMarkers(rows, regions, profile.busy, "sinceBoundary");
  const pending = findMarkers(rows, regions, profile.pending, "sinceBoundary");
  const notReady = findMarkers(rows, regions, profile.notReady, "sinceBoundary");
  const modes = findMarkers(rows, whole, profile.modes, "sinceBoundary");
  const panel = composer.popupOpen ? null : findPanel(rows, composer, profile);
  const unfinished =
    turnUnfinished(rows, regions, profile) ||
    (busy.length === 0 && answerUnfinished(rows, regions, { title, profile }));
  const activeReasons = [
    ...new Set([
      ...busy.map((hit) => hit.id),
      ...(unfinished ? ["turn_unfinished"] : []),
      ...(title === "busy" ? ["title_busy"] : []),
    ]),
  ];
  const settled = withoutRows(regions, [...busy, ...pending, ...notReady]);
  const quiet = activeReasons.length === 0;
  const after = (markers: typeof profile.interrupted) =>
    quiet ? findMarkers(rows, settled, markers, "sinceUser") : [];
  const interrupted = after(profile.interrupted);
  const failures = after(profile.failures);
  const errors = after(profile.errors);
  const parked = after(profile.parked);
  const background = findMarkers(rows, regions, profile.background, "sinceUser");
  const error = failures[0] ?? errors[0] ?? null;
  const errorText = error ? cellText(rows, settled, error) : null;
  const degraded = errorText ? degradedContext(errorText, profile) : null;
  const closing = newestCell(rows, settled.transcript).find((at) => closesTurn(rows[at], profile));
  const spoiled = interrupted.length > 0 || error !== null;
  const turnOpen = regions.userCell !== null && (regions.turnEnd ?? -1) < regions.userCell && !spoiled;
  const named = (area: string, hits: readonly MarkerHit[]): FiredRule[] =>
    hits.map((hit) => ({ rule: `${area}.${hit.id}`, row: hit.row, seen: hit.text }));
  return {
    pendingRule: pending[0]?.id ?? null,
    notReadyRule: notReady[0]?.id ?? null,
    modeRule: modes[0]?.id ?? null,
    queueHidden:
      composer.popupOpen &&
      profile.data.turn.ends_are_marked &&
      turnOpen &&
      profile.pending.some((marker) => marker.where !== "transcript"),
    nothingAbove: whole.transcript.length === 0,
    headless: onlyContinues(rows, whole, { title, profile }),
    panelRule: panel?.rule ?? null,
    interrupted: interrupted.length > 0,
    failure: failures.length > 0 && degraded === null,
    currentError: errorText,
    completionMarker:
      closing !== undefined && !spoiled && quiet ? (rows[closing]?.text.trim() ?? null) : null,
    anomalies: title === "busy" && busy.length === 0 ? ["busy_by_title_only"] : [],
    shared: {
      untouched: isUntouched(rows, regions, profile),
      newestPrompt: newestPrompt(rows, regions),
      unanswered: isUnanswered(rows, settled, profile),
      activeReasons,
      footerInterruptable: busy.some((hit) => regions.below.includes(hit.row)),
      latestStatusLine: busy[0]?.text ?? null,
      parked: parked[0] ? parkedNotice(rows, settled, parked[0], profile) : null,
      background: [...new Set(background.map((hit) => (hit.detail ?? hit.text).replace(/ {2,}/g, ": ")))],
      projection: projectionOf(rows, settled, composer.transcriptEnd),
      chatContext: degraded ? "degraded" : "current",
      chatContextDiagnostic: degraded,
      firedRules: [
        { rule: `composer.${profile.data.composer.strategy}`, row: composer.top, seen: composer.content },
        ...(title === "unknown" ? [] : [{ rule: `title.${title}`, row: null, seen: title }]),
        ...named("busy", busy),
        ...(unfinished ? [{ rule: "turn.unfinished", row: regions.userCell, seen: "no closing row" }] : []),
        ...named("not_ready", notReady),
        ...named("mode", modes),
        ...(panel
          ? [{ rule: `panel.${panel.rule}`, row: panel.row, seen: rows[panel.row]?.text.trim() ?? "" }]
          : []),
        ...named("pending", pending),
        ...named("interrupted", interrupted),
        ...named("failure", failures),
        ...named("error", errors),
        ...named("parked", parked),
        ...named("background", background),
      ],
    },
  };
}

/**
 * Nothing closed the turn of the last user cell. Without any user cell, closing row or banner in sight the
 * screen is all transcript of a turn that began above it.
 */
function turnUnfinished(rows: readonly Row[], regions: Regions, profile: CompiledProfile): boolean {
  if (!profile.data.turn.unfinished_is_busy) return false;
  if (regions.userCell !== null) return (regions.turnEnd ?? -1) < regions.userCell;
  if (regions.turnEnd !== null) return false;
  return !regions.transcript.some((at) => profile.banner?.test(rows[at]?.text ?? "") === true);
}

/**
 * An answer began after the newest boundary and nothing closed it. A tool whose title says idle may have been
 * asked to leave closing rows out; an interruption or an error closes a turn in other words.
 */
function answerUnfinished(
  rows: readonly Row[],
  regions: Regions,
  { title, profile }: { title: TitleVerdict; profile: CompiledProfile },
): boolean {
  if (profile.answer === null || title === "idle") return false;
  const { answer } = profile;
  const text = (at: number) => rows[at]?.text ?? "";
  // Below the banner an answer without a prompt is a notice; elsewhere its prompt is out of sight.
  if (regions.userCell === null && regions.transcript.some((at) => profile.banner?.test(text(at))))
    return false;
  if (regions.turnEnd !== null && regions.turnEnd > (regions.userCell ?? -1)) return false;
  const began = regions.sinceUser.some((at) => answer.test(text(at)));
  const otherEnds = [...profile.interrupted, ...profile.failures, ...profile.errors, ...profile.parked];
  return began && findMarkers(rows, regions, otherEnds, "sinceUser").length === 0;
}

/** The upper and lower edge of a cell. */
const edgeOnly = /^[\s▀-▟─-╿▁-▇]*$/u;

/**
 * The newest prompt is the last thing in sight: its rows have the background that they begin with, and edges.
 */
function isUnanswered(rows: readonly Row[], regions: Regions, profile: CompiledProfile): boolean {
  const { turn } = profile.data;
  if (turn.ends_are_marked || turn.user_cell?.style !== "background") return false;
  const rest = regions.userCell === null ? regions.transcript : regions.sinceUser;
  const ofCell = (at: number) => hasStyle(rows[at], "background");
  if (regions.userCell === null && !rest.some(ofCell)) return false;
  return rest.every((at) => ofCell(at) || edgeOnly.test(rows[at]?.text ?? ""));
}

/** A row that belongs to the one above it: claude's `⎿`. */
const markedContinuation = /^\s+\p{S}/u;

/**
 * Cells of the transcript begin at the edge; what is indented goes on with one. A title that says idle is
 * evidence for a long answer, not for a row that continues one that is out of sight: claude 2.1.330 shows
 * that title over held input, too.
 */
function onlyContinues(
  rows: readonly Row[],
  regions: Regions,
  { title, profile }: { title: TitleVerdict; profile: CompiledProfile },
): boolean {
  if (regions.userCell !== null || regions.turnEnd !== null) return false;
  const text = (at: number) => rows[at]?.text ?? "";
  if ([...regions.transcript, ...regions.below].some((at) => profile.banner?.test(text(at)))) return false;
  if (!regions.transcript.every((at) => /^\s/u.test(text(at)))) return false;
  return title !== "idle" || regions.transcript.some((at) => markedContinuation.test(text(at)));
}

/** Status and queue rows are between the transcript and the composer, with whatever follows them. */
function withoutRows(regions: Regions, hits: readonly MarkerHit[]): Regions {
  const inTranscript = hits.map((hit) => hit.row).filter((row) => regions.transcript.includes(row));
  if (inTranscript.length === 0) return regions;
  const first = Math.min(...inTranscript);
  const before = (list: readonly number[]) => list.filter((at) => at < first);
  return {
    ...regions,
    transcript: before(regions.transcript),
    sinceBoundary: before(regions.sinceBoundary),
    sinceUser: before(regions.sinceUser),
  };
}

/** The marker's row with the indented rows that continue it, as one line. */
function cellText(rows: readonly Row[], regions: Regions, hit: MarkerHit): string {
  const lines = [hit.text];
  for (const at of regions.transcript) {
    if (at !== hit.row + lines.length || at <= hit.row) continue;
    if (!/^[\s\w]/u.test(rows[at]?.text ?? "")) break;
    lines.push(rows[at]?.text.trim() ?? "");
  }
  return lines.join(" ");
}

/** The notice with the rows it runs on over: codex wraps one at the pane's width without an indent. */
function parkedNotice(
  rows: readonly Row[],
  regions: Regions,
  hit: MarkerHit,
  profile: CompiledProfile,
): NonNullable<Signals["parked"]> {
  const lines = [rows[hit.row]?.text.trimEnd() ?? ""];
  for (let at = hit.row + 1; lines.length <= noticeRows && regions.transcript.includes(at); at++) {
    const text = rows[at]?.text ?? "";
    // Another cell begins with its mark.
    if (!/^[\s\w]/u.test(text)) break;
    lines.push(text.trim());
  }
  const whole = lines.join(" ");
  const marker = profile.parked.find((one) => one.id === hit.id);
  return {
    notice: whole.replace(/\s+/gu, " ").trim().slice(0, previewLength),
    shownTime: marker?.pattern.exec(whole)?.[1]?.trim() || hit.detail,
  };
}

function degradedContext(errorText: string, profile: CompiledProfile): Signals["chatContextDiagnostic"] {
  const text = errorText.toLowerCase();
  const rule = profile.degraded.find((one) => one.pattern.test(text));
  if (!rule) return null;
  const { tool, profile_version } = profile.data;
  return {
    tool_name: tool,
    detector_name: `${tool}_context`,
    detector_version: profile_version,
    degraded_error_type: rule.type,
    message_preview: errorText.replace(/\s+/gu, " ").slice(0, previewLength),
  };
}

function projectionOf(rows: readonly Row[], regions: Regions, end: number): string {
  const kept = new Set(regions.transcript);
  const lines: string[] = [];
  for (let at = 0; at < end; at++) {
    const row = rows[at];
    if (row && kept.has(at)) lines.push(row.text.trimEnd());
    else if (isBlank(row) && lines.length > 0 && lines.at(-1) !== "") lines.push("");
  }
  return lines.join("\n").trimEnd();
}

/** Every tool we know writes a prompt behind one mark; the rows that go on with it have its background. */
function newestPrompt(rows: readonly Row[], { userCell, composerTop }: Regions): string | null {
  const first = userCell === null ? undefined : rows[userCell];
  if (userCell === null || !first) return null;
  const lines = [first.text.replace(/^\s*\S+\s+/u, "").trim()];
  const background = firstVisible(first)?.background ?? null;
  for (let at = userCell + 1; background !== null && at < composerTop; at++) {
    const row = rows[at];
    if (!row || isBlank(row) || firstVisible(row)?.background !== background) break;
    lines.push(row.text.trim());
  }
  return lines.join("\n");
}

/** Only the banner so far, which opencode writes under the composer: nothing was ever asked here. */
function isUntouched(rows: readonly Row[], regions: Regions, profile: CompiledProfile): boolean {
  const { banner, userCell } = profile;
  if (!banner || !userCell || regions.userCell !== null || regions.turnEnd !== null) return false;
  return [...regions.transcript, ...regions.below].some((at) => banner.test(rows[at]?.text ?? ""));
}

/** Something that a person opened beside a visible composer, found by its shape. */
interface Panel {
  rule: "columns_below" | "list_below" | "panel_above";
  row: number;
}

/** Rows of columns that make a help panel; a footer has fewer. */
const panelRows = 5;

/**
 * Columns of keys or a list with a chosen row under the composer, or a panel between two of the rules above
 * it. Null when there is none. No words are read, so that the panel of another version or language is found
 * too.
 */
function findPanel(rows: readonly Row[], composer: Composer, profile: CompiledProfile): Panel | null {
  const below: number[] = [];
  for (let at = composer.bottom + 1; at < rows.length; at++) if (!isBlank(rows[at])) below.push(at);
  const text = (at: number) => rows[at]?.text.trimEnd() ?? "";
  const list = below.find((at) => isChosenRow(text(at), [text(at - 1), text(at + 1)]));
  if (list !== undefined) return { rule: "list_below", row: list };
  if (below.filter((at) => twoColumns.test(text(at))).length >= panelRows)
    return { rule: "columns_below", row: composer.bottom + 1 };
  return panelAbove(rows, composer, profile);
}

const chosenRow = /^( *)[❯›▸►→●] +(\S)/u;

/** A marked row whose text begins in the column of a neighbour's text. */
function isChosenRow(text: string, neighbours: readonly string[]): boolean {
  const match = chosenRow.exec(text);
  if (!match) return false;
  const column = match[0].length - 1;
  return neighbours.some((neighbour) => neighbour.search(/\S/u) === column);
}

/** Two texts with a gap between them. */
const twoColumns = /\S {2,}\S|^ {8,}\S/u;

/** A tool that draws a rule above its composer draws another above a panel that it puts between. */
function panelAbove(rows: readonly Row[], composer: Composer, profile: CompiledProfile): Panel | null {
  const { above } = profile.composer;
  if (above === null) return null;
  const rules: number[] = [];
  for (let at = composer.top - 1; at >= 0 && rules.length < 2; at--) {
    const text = rows[at]?.text ?? "";
    if (profile.userCell?.pattern.test(text)) break;
    if (above.test(text)) rules.push(at);
  }
  const [lower, upper] = rules;
  if (lower === undefined || upper === undefined) return null;
  const sameRule = rows[lower]?.text.trimEnd() === rows[upper]?.text.trimEnd();
  const filled = rows.slice(upper + 1, lower).some((row) => !isBlank(row));
  return sameRule && filled ? { rule: "panel_above", row: upper } : null;
}
