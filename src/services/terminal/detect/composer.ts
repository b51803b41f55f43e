import type { CompiledProfile } from "../profiles/profile.ts";
import type { Pattern } from "../profiles/profile-pattern.ts";
import {
  firstVisible,
  isBlank,
  isMuted,
  type Observation,
  type Row,
  type Span,
  spansFrom,
} from "../screen.ts";

/** The tool's input field, found whole. Row numbers count from 0. */
export interface Composer {
  /** First and last row, edges included. */
  top: number;
  bottom: number;
  mode: "prompt" | "shell";
  content: "empty" | "placeholder" | "draft";
  /** The draft without glyph and indent, as far as it is in sight; empty unless `content` is `draft`. */
  text: string;
  popupOpen: boolean;
  /** The first entry of the open completion list, as its row shows it; null without a list. */
  offered: string | null;
  /** The cursor is known to be where the first character of a prompt goes. */
  cursorAtStart: boolean;
  /** The cursor is known to be behind the last character, so that the draft was typed and is no hint. */
  cursorAtEnd: boolean;
  /** First row of the popup or the composer, whichever is higher: the transcript ends before it. */
  transcriptEnd: number;
}

interface Area {
  top: number;
  bottom: number;
  firstInput: number;
  lastInput: number;
  /** The first rows of the draft are out of sight, the glyph with them. */
  scrolled?: boolean;
}

const reachAbove = 4;
const maximumDraftRows = 60;

/**
 * Finds the composer at the cursor's row; without a known cursor the lowest whole one. Null when there is
 * none or when a part of it or its surroundings is cut off.
 */
export function findComposer(
  { rows, cursor }: Pick<Observation, "rows" | "cursor">,
  profile: CompiledProfile,
): Composer | null {
  const area = findArea(rows, cursor?.row ?? null, profile);
  if (!area || area.top === 0 || area.bottom + 1 >= rows.length) return null;
  return readComposer(rows, area, cursor, profile);
}

function findArea(rows: readonly Row[], cursorRow: number | null, profile: CompiledProfile): Area | null {
  const { composer } = profile.data;
  if (composer.strategy === "open") return findOpen(rows, cursorRow, profile);
  const candidates =
    composer.strategy === "framed" ? framedAreas(rows, profile) : blockAreas(rows, profile, composer.bar);
  const fits = candidates.filter(
    (area) => cursorRow === null || (cursorRow >= area.firstInput && cursorRow <= area.lastInput),
  );
  return fits.at(-1) ?? null;
}

function framedAreas(rows: readonly Row[], profile: CompiledProfile): Area[] {
  const { upper, scrolled: scrolledEdge, lower, above } = profile.composer;
  const areas: Area[] = [];
  for (const [top, row] of rows.entries()) {
    const scrolled = scrolledEdge?.test(row.text) === true;
    if (!scrolled && !(upper?.test(row.text) && startsInput(rows[top + 1], profile))) continue;
    const bottom = rows.findIndex((candidate, at) => at > top + 1 && lower?.test(candidate.text));
    if (bottom < 0) continue;
    const standsUnder = above === null ? top : lastIndexWhere(rows, top - reachAbove, top, above);
    // The row above the mark must be visible too: the status row is there.
    if (standsUnder < 1) continue;
    areas.push({ top, bottom, firstInput: top + 1, lastInput: bottom - 1, scrolled });
  }
  return areas;
}

function lastIndexWhere(rows: readonly Row[], from: number, before: number, pattern: Pattern): number {
  for (let at = before - 1; at >= Math.max(0, from); at--) if (pattern.test(rows[at]?.text ?? "")) return at;
  return -1;
}

function inner(row: Row, profile: CompiledProfile): { text: string; from: number } {
  const { composer } = profile.data;
  const side = composer.strategy === "framed" ? composer.side : null;
  if (side === null) return { text: row.text, from: 0 };
  const open = row.text.indexOf(side);
  return open < 0 ? { text: row.text, from: 0 } : { text: row.text.slice(open + 1), from: open + 1 };
}

function startsInput(row: Row | undefined, profile: CompiledProfile): boolean {
  if (!row) return false;
  const { text } = inner(row, profile);
  return profile.composer.glyph.test(text) || profile.composer.shellGlyph?.test(text) === true;
}

function blockAreas(rows: readonly Row[], profile: CompiledProfile, bar: string): Area[] {
  const areas: Area[] = [];
  for (const [bottom, row] of rows.entries()) {
    if (!profile.composer.lower?.test(row.text)) continue;
    const column = row.text.search(/\S/u);
    const edge = row.text.trimEnd().length - 1;
    let top = bottom;
    while (top > 0 && isBlockRow(rows[top - 1], { bar, column, edge })) top -= 1;
    let model = bottom - 1;
    while (model > top && rows[model]?.text.trim() === bar) model -= 1;
    // A padding row, at least one input row, and the row that names the model.
    const padded = rows[top]?.text.trim() === bar;
    const footed = !isBlank(rows[bottom + 1]) || !isBlank(rows[bottom + 2]);
    if (padded && footed && model - top >= 2) {
      areas.push({ top, bottom, firstInput: top + 1, lastInput: model - 1 });
    }
  }
  return areas;
}

/** A popup over the composer has the bar at its right edge too; a message above may reach down to it. */
function isBlockRow(row: Row | undefined, block: { bar: string; column: number; edge: number }): boolean {
  const { bar, column, edge } = block;
  return row?.text.search(/\S/u) === column && row.text[column] === bar && row.text[edge] !== bar;
}

/** A glyph row that is neither a history cell (background) nor a chosen row of a list (inverse). */
function isOpenGlyph(row: Row | undefined, profile: CompiledProfile): boolean {
  if (!row || !startsInput(row, profile)) return false;
  const glyph = firstVisible(row);
  return glyph !== null && glyph.background === null && !glyph.inverse;
}

function findOpen(rows: readonly Row[], cursorRow: number | null, profile: CompiledProfile): Area | null {
  let top = cursorRow ?? rows.length - 1;
  const lowest = cursorRow === null ? 0 : Math.max(0, cursorRow - maximumDraftRows);
  const continues = (row: Row | undefined) =>
    cursorRow === null || isBlank(row) || /^ {2}/u.test(row?.text ?? "");
  while (top >= lowest && !isOpenGlyph(rows[top], profile) && continues(rows[top])) top -= 1;
  if (top < lowest || !isOpenGlyph(rows[top], profile)) return null;
  let last = rows.length - 1;
  while (last > top && isBlank(rows[last])) last -= 1;
  let footer = last;
  while (footer > top && !isBlank(rows[footer - 1])) footer -= 1;
  if (footer <= top + 1) return null;
  const bottom = footer - 1;
  if (cursorRow !== null && cursorRow > bottom) return null;
  return { top, bottom, firstInput: top, lastInput: bottom };
}

function readComposer(
  rows: readonly Row[],
  area: Area,
  cursor: Observation["cursor"],
  profile: CompiledProfile,
): Composer | null {
  const input = rows.slice(area.firstInput, area.lastInput + 1);
  const first = input[0];
  if (!first) return null;
  const isBlock = profile.data.composer.strategy === "block";
  const lead = inner(first, profile);
  const shell = isBlock ? null : (profile.composer.shellGlyph?.exec(lead.text) ?? null);
  const glyph = shell ?? profile.composer.glyph.exec(lead.text);
  if (!glyph && area.scrolled !== true) return null;
  const popup = insidePopup(input, profile);
  const written = input.slice(0, popup?.from ?? input.length);
  const lines = written.map((row, index) => {
    const { text, from } = inner(row, profile);
    return spansFrom(row, from + leadLength(text, index === 0 ? (glyph?.[0] ?? null) : null, profile));
  });
  const payload = lines.map(withoutSide(profile));
  const text = payload
    .map((spans) =>
      spans
        .map((span) => span.text)
        .join("")
        .trimEnd(),
    )
    .join("\n")
    .trim();
  const start = lead.from + leadLength(lead.text, glyph?.[0] ?? null, profile);
  const atStart = cursorAtStart(payload, { row: area.firstInput, column: start }, cursor);
  const content = area.scrolled === true ? "draft" : classify(payload.flat(), { text, atStart }, profile);
  const draft = content === "draft" ? text : "";
  const outside = popup ? null : outsidePopup(rows, area, draft, profile);
  return {
    top: area.top,
    bottom: area.bottom,
    mode: shell || namesNoModel(rows[area.lastInput + 1], profile) ? "shell" : "prompt",
    content,
    text: draft,
    popupOpen: popup !== null || outside !== null,
    offered: popup?.offered ?? outside?.offered ?? null,
    cursorAtStart: atStart === true,
    cursorAtEnd: cursorAtEnd(rows, area, cursor),
    transcriptEnd: Math.min(area.top, outside?.firstRow ?? area.top),
  };
}

/** A composer whose last row names a model when its text is a prompt has another one there when it is not. */
function namesNoModel(row: Row | undefined, profile: CompiledProfile): boolean {
  return profile.composer.model?.test(row?.text ?? "") === false;
}

/** How much of a row is glyph, bar or indent: on the first row the glyph, on the others what is under it. */
function leadLength(text: string, glyph: string | null, profile: CompiledProfile): number {
  if (glyph !== null) return glyph.length;
  if (profile.data.composer.strategy === "block") return profile.composer.glyph.exec(text)?.[0].length ?? 0;
  return /^ {0,3}/u.exec(text)?.[0].length ?? 0;
}

function withoutSide(profile: CompiledProfile): (spans: Span[]) => Span[] {
  const { composer } = profile.data;
  const side = composer.strategy === "framed" ? composer.side : null;
  if (side === null) return (spans) => spans;
  return (spans) => {
    const last = spans.findLastIndex((span) => span.text.trim() !== "");
    const closing = spans[last];
    if (closing?.text.trimEnd().endsWith(side) !== true) return spans;
    const cut = closing.text.slice(0, closing.text.lastIndexOf(side));
    return spans.slice(0, last + 1).with(last, { ...closing, text: cut });
  };
}

/**
 * Whether the cursor is where the first character goes; null when neither tmux nor the program shows where it
 * is.
 */
function cursorAtStart(
  payload: readonly (readonly Span[])[],
  start: { row: number; column: number },
  cursor: Observation["cursor"],
): boolean | null {
  if (cursor !== null && cursor.column !== null) {
    return cursor.row === start.row && cursor.column === start.column;
  }
  const drawn = payload.map((spans) => spans.findIndex(isDrawnCursor));
  const line = drawn.findIndex((at) => at >= 0);
  if (line < 0) return null;
  return line === 0 && payload[0]?.slice(0, drawn[0]).every((span) => span.text === "") === true;
}

function cursorAtEnd(rows: readonly Row[], area: Area, cursor: Observation["cursor"]): boolean {
  if (cursor === null || cursor.column === null) return false;
  let last = area.lastInput;
  while (last > area.firstInput && isBlank(rows[last])) last -= 1;
  const width = Bun.stringWidth(rows[last]?.text.trimEnd() ?? "");
  return cursor.row === last && cursor.column === width;
}

/** The program draws its own cursor as one inverse cell. */
const isDrawnCursor = (span: Span | undefined): boolean => span?.inverse === true && span.text.length === 1;

/**
 * Text is a placeholder by two of three signs: its words, its style, the cursor in front of it. A cursor
 * elsewhere makes it a draft. A drawn cursor over the first letter says nothing of the style of the text.
 */
function classify(
  spans: readonly Span[],
  { text, atStart }: { text: string; atStart: boolean | null },
  profile: CompiledProfile,
): Composer["content"] {
  const visible = spans.filter((span) => span.text.trim() !== "");
  if (visible.length === 0) return "empty";
  if (atStart === false) return "draft";
  const styled = isDrawnCursor(visible[0]) ? visible.slice(1) : visible;
  const isPlaceholder = profile.composer.placeholders.some((rule) => {
    const words = rule.text?.test(text) === true;
    if (rule.style === "any") return words;
    const style =
      styled.length > 0 && styled.every((span) => (rule.style === "dim" ? span.dim : isMuted(span)));
    if (rule.text === null) return style;
    return [words, style, atStart === true].filter(Boolean).length >= 2;
  });
  return isPlaceholder ? "placeholder" : "draft";
}

function insidePopup(
  input: readonly Row[],
  profile: CompiledProfile,
): { from: number; offered: string } | null {
  const text = input[0]?.text ?? "";
  const glyph = profile.composer.glyph.exec(text);
  const draft = (
    glyph ? text.slice(0, glyph.index) + text.slice(glyph.index + glyph[0].length) : text
  ).trim();
  const rule = profile.popups.find((popup) => popup.where === "inside" && popup.draft.test(draft));
  if (!rule) return null;
  let from = input.length;
  while (from > 1 && rule.row.test(input[from - 1]?.text ?? "")) from -= 1;
  return from < input.length ? { from, offered: input[from]?.text.trim() ?? "" } : null;
}

function outsidePopup(
  rows: readonly Row[],
  area: Area,
  draft: string,
  profile: CompiledProfile,
): { firstRow: number; offered: string } | null {
  const text = (at: number) => rows[at]?.text.trim() ?? "";
  if (draft === "") return null;
  for (const popup of profile.popups) {
    if (!popup.draft.test(draft)) continue;
    const below = area.bottom + 1;
    if (popup.where === "below" && popup.row.test(rows[below]?.text ?? ""))
      return { firstRow: area.top, offered: text(below) };
    if (popup.where !== "above") continue;
    let at = area.top - 1;
    if (isBlank(rows[at])) at -= 1;
    const nearest = at;
    while (at >= 0 && popup.row.test(rows[at]?.text ?? "")) at -= 1;
    if (at < nearest) return { firstRow: at + 1, offered: text(at + 1) };
  }
  return null;
}
