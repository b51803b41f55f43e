import type { Observation, Row, Span } from "../../../src/services/terminal/screen.ts";
import type { Dice } from "../../simulation/dice.ts";

/**
 * Changes that another version, theme, language or pane makes to a screen. None makes an agent ready that was
 * not: a change that could is told in its line.
 */
export const screenMutations: Readonly<Record<string, (seen: Observation, dice: Dice) => Observation>> = {
  /** Each word, or each word of some rows, is another of the same length: columns stay. */
  reworded: (seen, dice) => withWords(seen, dice, (word) => sameLength(word, dice)),
  /** Words of another language, of other lengths. */
  translated: (seen, dice) => {
    const language = dice.pick(languages);
    return withWords(seen, dice, () => dice.pick(language));
  },
  /** Only the rows that are not the tool's transcript change: what a new version rewords. */
  status_reworded: (seen, dice) => {
    const from = lastTextRows(seen.rows, 6);
    return mapRows(seen, (row, at) => (at < from ? row : reword(row, (word) => sameLength(word, dice))));
  },
  /** A theme: each colour is another one, consistently. */
  recoloured: (seen, dice) => {
    const colours = new Map<string, string | null>();
    const other = (colour: string | null): string | null => {
      if (colour === null) return null;
      if (!colours.has(colour)) colours.set(colour, anyColour(dice));
      return colours.get(colour) ?? null;
    };
    return mapSpans(seen, (span) => ({
      ...span,
      foreground: other(span.foreground),
      background: other(span.background),
    }));
  },
  /** A terminal without colours. */
  monochrome: (seen) => mapSpans(seen, (span) => ({ ...span, foreground: null, background: null })),
  /** Weight and slant of all text. */
  restyled: (seen, dice) => {
    const [bold, italic] = [dice.chance(0.5), dice.chance(0.5)];
    return mapSpans(seen, (span) => ({ ...span, bold, italic }));
  },
  /** The screen stands lower or higher in the pane. */
  rows_shifted: (seen, dice) => {
    const count = dice.whole(1, 8);
    if (dice.chance(0.5)) return resized(seen, [...blanks(count), ...seen.rows], count);
    const free = seen.rows.findIndex((row) => row.text.trim() !== "");
    const away = Math.min(count, Math.max(0, free));
    return resized(seen, seen.rows.slice(away), -away);
  },
  columns_shifted: (seen, dice) => {
    const indent = plainSpan(" ".repeat(dice.whole(1, 12)));
    return mapRows(seen, (row) => rowOf([indent, ...row.spans]));
  },
  /** A blank row more between two rows, or one blank row less. */
  row_inserted: (seen, dice) => {
    const at = dice.whole(0, seen.rows.length - 1);
    return inserted(seen, at, rowOf([]));
  },
  /** A hint that nobody knows yet, anywhere. */
  hint_inserted: (seen, dice) => {
    const at = dice.whole(0, seen.rows.length - 1);
    const words = Array.from({ length: dice.whole(2, 9) }, () => dice.pick(languages[0])).join(" ");
    return inserted(seen, at, rowOf([plainSpan(`${" ".repeat(dice.whole(0, 40))}${words}`)]));
  },
  /** The capture lost rows at an edge; the pane kept its height. */
  rows_lost: (seen, dice) => {
    const count = dice.whole(1, Math.max(1, seen.rows.length - 2));
    return dice.chance(0.5)
      ? withCursor({ ...seen, rows: seen.rows.slice(count) }, -count)
      : { ...seen, rows: seen.rows.slice(0, -count) };
  },
  /** A pane with fewer rows: the upper ones are out of sight, the facts near the composer may be too. */
  scrolled_up: (seen, dice) => {
    const away = dice.whole(1, Math.max(1, seen.cursor?.row ?? seen.rows.length - 2));
    return resized(seen, seen.rows.slice(away), -away);
  },
  /** A pane that just became shorter: the tool has not redrawn. */
  bottom_cut: (seen, dice) => {
    const away = dice.whole(1, Math.max(1, seen.rows.length - 2));
    return resized(seen, seen.rows.slice(0, -away), 0);
  },
  /** A narrower pane: rules end earlier, text is cut. */
  narrowed: (seen, dice) => {
    const width = dice.whole(12, Math.max(13, seen.pane.width - 1));
    return withWidth(
      mapRows(seen, (row) => cut(row, width)),
      width,
    );
  },
  /** A wider pane: rules reach its edge, and what stood at the edge still does. */
  widened: (seen, dice) => {
    const more = dice.whole(1, 80);
    return withWidth(
      mapRows(seen, (row) => stretch(row, more)),
      seen.pane.width + more,
    );
  },
  /** Text too long for a narrower pane goes on in the next row. */
  wrapped: (seen, dice) => wrap(seen, Math.min(seen.pane.width, dice.whole(30, 120))),
  borders_removed: (seen) => withText(seen, (text) => text.replace(/[─-╿▔▁]/gu, " ")),
  borders_in_ascii: (seen) =>
    withText(seen, (text) =>
      text
        .replace(/[─━▔▁═]/gu, "-")
        .replace(/[│┃║]/gu, "|")
        .replace(/[╭╮╰╯┌┐└┘├┤]/gu, "+"),
    ),
  /** Marks that a terminal without the glyphs shows. */
  glyphs_changed: (seen, dice) => {
    const mark = dice.pick([">", "*", "•", "→", "▸"]);
    const marks = dice.pick([/[✻✢✳✶✽·∗]/gu, /[⏺●•◦✦]/gu, /[⎿└↳]/gu, /[■▣△]/gu]);
    return withText(seen, (text) => text.replace(marks, mark));
  },
  /** The title that the tool sets is another, or none. */
  title_changed: (seen, dice) => ({
    ...seen,
    pane: { ...seen.pane, title: dice.pick([null, "bash", "~/work", "tmux"]) },
  }),
};

/** What a program draws over a screen: nobody can give the agent a prompt below it, whatever it says. */
export const screenOverlays: Readonly<Record<string, (seen: Observation, dice: Dice) => Observation>> = {
  /** A box with a list in it, over the composer. */
  box_over_composer: (seen, dice) => {
    const box = boxed(list(dice, dice.whole(3, 9)), seen.pane.width, dice);
    const at = Math.max(0, composerRow(seen) - dice.whole(1, box.length - 2));
    return painted(seen, box, at, dice.chance(0.5));
  },
  /** The whole pane: a list, a text, a form. */
  full_screen: (seen, dice) => {
    const lines = list(dice, seen.rows.length);
    const rows = lines.map((line, at) => (dice.chance(0.3) && at % 3 === 1 ? rowOf([]) : line));
    return { ...seen, rows, cursor: seen.cursor && { row: dice.whole(0, rows.length - 1), column: 2 } };
  },
  /** The whole pane, as a pager shows the conversation: its rows without the composer. */
  pager: (seen, dice) => {
    const top = composerRow(seen) - 2;
    const words = languages[0].slice(0, 6).join(" ");
    const rows = seen.rows.map((row, at) => (at < top ? row : rowOf([plainSpan(at % 2 ? "" : words)])));
    return { ...seen, rows, cursor: seen.cursor && { row: rows.length - 1, column: dice.whole(0, 3) } };
  },
  /** A list in the composer's place down to the last row. */
  list_at_end: (seen, dice) => {
    const count = dice.whole(3, 12);
    const at = Math.max(0, Math.min(composerRow(seen) - 1, seen.rows.length - count));
    const rows = [...seen.rows.slice(0, at), ...list(dice, seen.rows.length - at)];
    return { ...seen, rows, cursor: seen.cursor && { row: dice.whole(at, rows.length - 1), column: 2 } };
  },
};

const languages = [
  "alpha brook candle drift ember fallow garnet harbor island juniper kettle lantern meadow nectar".split(
    " ",
  ),
  "река камень поле ждать дождь считать дни лист почва снова открыть выше тёмный".split(" "),
  "川 石 平原 雨 待つ 日 葉 土 開く 上 暗い 再び".split(" "),
  "fließt Steine Ebene wartet Regen zählt Tage Blätter öffnen dunkel wieder Abbrechen Bestätigen".split(" "),
] as unknown as readonly [[string, ...string[]], ...[string, ...string[]][]];

const plainSpan = (text: string): Span => ({
  text,
  foreground: null,
  background: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  inverse: false,
});

const rowOf = (spans: readonly Span[]): Row => ({ text: spans.map((span) => span.text).join(""), spans });
const blanks = (count: number): Row[] => Array.from({ length: count }, () => rowOf([]));
const mapRows = (seen: Observation, change: (row: Row, at: number) => Row): Observation => ({
  ...seen,
  rows: seen.rows.map(change),
});
const mapSpans = (seen: Observation, change: (span: Span) => Span): Observation =>
  mapRows(seen, (row) => rowOf(row.spans.map(change)));
const withText = (seen: Observation, change: (text: string) => string): Observation =>
  mapSpans(seen, (span) => ({ ...span, text: change(span.text) }));
const withWidth = (seen: Observation, width: number): Observation => ({
  ...seen,
  pane: { ...seen.pane, width },
});

function withCursor(seen: Observation, down: number): Observation {
  const { cursor, rows } = seen;
  if (!cursor) return seen;
  const row = cursor.row + down;
  return { ...seen, cursor: row < 0 || row >= rows.length ? null : { ...cursor, row } };
}

const resized = (seen: Observation, rows: readonly Row[], down: number): Observation =>
  withCursor(
    { ...seen, rows, pane: { ...seen.pane, height: seen.pane.height + rows.length - seen.rows.length } },
    down,
  );

function inserted(seen: Observation, at: number, row: Row): Observation {
  const rows = [...seen.rows.slice(0, at), row, ...seen.rows.slice(at)];
  const below = seen.cursor !== null && seen.cursor.row >= at;
  return resized(seen, rows, below ? 1 : 0);
}

const word = /\p{L}{2,}/gu;

function reword(row: Row, other: (word: string) => string): Row {
  return rowOf(row.spans.map((span) => ({ ...span, text: span.text.replace(word, other) })));
}

function withWords(seen: Observation, dice: Dice, other: (word: string) => string): Observation {
  const share = dice.pick([1, 1, 0.5]);
  return mapRows(seen, (row) => (dice.chance(share) ? reword(row, other) : row));
}

function sameLength(old: string, dice: Dice): string {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const made = [...old].map(() => letters[dice.whole(0, 25)] ?? "x").join("");
  return /^\p{Lu}/u.test(old) ? made[0]?.toUpperCase() + made.slice(1) : made;
}

const anyColour = (dice: Dice): string | null =>
  dice.chance(0.1)
    ? null
    : dice.chance(0.5)
      ? `palette:${dice.whole(0, 255)}`
      : `#${dice.whole(0, 0xffffff).toString(16).padStart(6, "0")}`;

function lastTextRows(rows: readonly Row[], count: number): number {
  const texts = [...rows.keys()].filter((at) => rows[at]?.text.trim() !== "");
  return texts.at(-count) ?? 0;
}

function cut(row: Row, width: number): Row {
  let left = width;
  const spans: Span[] = [];
  for (const span of row.spans) {
    if (left <= 0) break;
    spans.push({ ...span, text: span.text.slice(0, left) });
    left -= span.text.length;
  }
  return rowOf(spans);
}

function stretch(row: Row, more: number): Row {
  const rule = /([─━▀▄▔])\1{19,}/u.exec(row.text)?.[1];
  let done = false;
  return rowOf(
    row.spans.map((span) => {
      if (done) return span;
      const place = rule ? span.text.indexOf(rule.repeat(3)) : span.text.search(/(?<=\S) {8,}(?=\S)/u);
      if (place < 0) return span;
      done = true;
      const filling = (rule ?? " ").repeat(more);
      return { ...span, text: span.text.slice(0, place) + filling + span.text.slice(place) };
    }),
  );
}

function wrap(seen: Observation, width: number): Observation {
  let moved = 0;
  const rows = seen.rows.flatMap((row, at): Row[] => {
    const rule = /[─━▀▄▔]{20,}/u.test(row.text);
    if (rule || row.text.trimEnd().length <= width) return [cut(row, width)];
    const span = row.spans.find((one) => one.text.trim() !== "") ?? plainSpan("");
    const indent = row.text.match(/^ */u)?.[0] ?? "";
    const rest = row.text.slice(width).trim();
    if (seen.cursor && at < seen.cursor.row) moved += 1;
    return [cut(row, width), rowOf([{ ...span, text: `${indent}  ${rest}`.slice(0, width) }])];
  });
  return withWidth(resized(seen, rows, moved), width);
}

/** Where the composer is likely: the cursor's row, else the last glyph that one begins with. */
function composerRow(seen: Observation): number {
  if (seen.cursor) return seen.cursor.row;
  const found = seen.rows.findLastIndex((row) => /^\s*[❯›>▶┃]/u.test(row.text));
  return found < 0 ? seen.rows.length - 1 : found;
}

function list(dice: Dice, count: number): Row[] {
  const mark = dice.pick(["❯ ", "› ", "> ", "● ", "▸ ", "* ", "→ ", "  "]);
  const chosen = dice.whole(0, count - 1);
  const indent = " ".repeat(dice.whole(0, 4));
  const numbered = dice.chance(0.4);
  return Array.from({ length: count }, (_, at) => {
    const words = Array.from({ length: dice.whole(1, 7) }, () => dice.pick(languages[0])).join(" ");
    const number = numbered ? `${at + 1}. ` : "";
    return rowOf([plainSpan(`${indent}${at === chosen ? mark : "  "}${number}${words}`)]);
  });
}

function boxed(lines: readonly Row[], width: number, dice: Dice): Row[] {
  const inside = Math.max(20, Math.min(width - 4, dice.whole(30, 100)));
  const indent = " ".repeat(Math.max(0, Math.floor((width - inside - 2) / 2)));
  const row = (text: string) => rowOf([plainSpan(indent + text)]);
  const [corner, side] = dice.pick([
    ["╭╮╰╯", "│"],
    ["┌┐└┘", "│"],
    ["    ", " "],
  ]) as [string, string];
  const edge = side === " " ? " " : "─";
  return [
    row(corner[0] + edge.repeat(inside) + corner[1]),
    ...lines.map((line) => row(side + line.text.slice(0, inside).padEnd(inside) + side)),
    row(corner[2] + edge.repeat(inside) + corner[3]),
  ];
}

/** `whole`: the painted rows take the whole width; else what stands beside them stays. */
function painted(seen: Observation, rows: readonly Row[], at: number, whole: boolean): Observation {
  const over = (below: Row, row: Row): Row => {
    if (whole) return row;
    const left = row.text.search(/\S/u);
    if (left < 0) return rowOf([plainSpan(below.text.slice(0, 10)), plainSpan(row.text.slice(10))]);
    const end = row.text.length;
    return rowOf([
      plainSpan(below.text.slice(0, left).padEnd(left)),
      plainSpan(row.text.slice(left)),
      plainSpan(below.text.slice(end)),
    ]);
  };
  return {
    ...seen,
    rows: seen.rows.map((below, index) => {
      const row = rows[index - at];
      return row ? over(below, row) : below;
    }),
    cursor: seen.cursor && { row: Math.min(seen.rows.length - 1, at + 1), column: 4 },
  };
}
