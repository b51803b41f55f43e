/** A screen without what its owner would not hand out, each character in its place. */
interface ScrubbedScreen {
  raw: string;
  /** How many places were overwritten. */
  places: number;
}

/** Escape sequences; those of the operating system command (links, titles) hold text that no row shows. */
const escapes =
  /\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b\[[0-9:;<=>?]*[ -/]*[@-~]?|\x1b[()*+].?|\x1b.?|[\x0e\x0f]/gs;

/** The last group is what is overwritten; without a group the whole match. */
const secrets: readonly RegExp[] = [
  // Prefixes that keys of services have.
  /\b(?:sk|pk|rk|xox[abprs]|gh[pousr]|github_pat|glpat|AKIA|ASIA|AIza|ya29|hf|npm|pypi|SG|eyJ)[-_.]?[-\w.]{12,}/gu,
  /\b[\w.-]*(?:key|token|secret|passw(?:or)?d|passphrase|credential|cookie)s?["']?\s?[:=]\s?["']?([^\s"',;)}\]]{6,})/giu,
  /\b(?:bearer|basic)\s+([^\s"',;)}\]]{6,})/giu,
  /:\/\/([^\s/@:]+:[^\s/@]+)@/gu,
  /[\w.+-]+@[\w-][\w.-]*/gu,
  /(?<![\w/+=-])(?=[\w/+=-]*\d[\w/+=-]*\d[\w/+=-]*\d)(?=[\w/+=-]*\p{L}[\w/+=-]*\p{L})[\w+=-][\w/+=-]{31,}/gu,
];

const homes = /\/(?:home|Users)\/([^\s/"'`:;,)\]│]+)/gu;

/** What a tool that breaks a long word itself puts behind it and before its rest. */
const rowEnd = /^[\s│┃║]*$/u;
const restOfValue = /^[\s│┃║]*(?=\S*\d|[^\s│┃║]{16})([^\s│┃║]{4,})/u;

/**
 * Overwrites letters and digits with `x` where the screen shows what looks like a secret, an address of a
 * person, or the path of a home folder. A value that goes on in the next row is followed there. Styling,
 * columns and rows stay; links behind text are removed. `home`: this user's, in whatever place it is. Pure.
 */
export function scrubScreen(raw: string, { home, width }: { home: string; width: number }): ScrubbedScreen {
  const visible = raw.replace(escapes, (sequence) => (sequence.startsWith("\x1b]") ? "" : sequence));
  /** By place in `visible`: where its match begins. */
  const matchOf = new Map<number, number>();
  let goesOn = false;
  for (const row of wrappedRows(visible, width)) {
    const rest = goesOn ? restOfValue.exec(row.text)?.[1] : undefined;
    const ranges = rangesIn(row.text, home);
    if (rest !== undefined) ranges.push([row.text.indexOf(rest), row.text.indexOf(rest) + rest.length]);
    for (const [from, to] of ranges) {
      for (let at = from; at < to; at++) matchOf.set(row.at[at] ?? -1, row.at[from] ?? -1);
    }
    goesOn = ranges.some(([, to]) => rowEnd.test(row.text.slice(to)));
  }
  const overwritten = new Set<number>();
  const scrubbed = visible
    .split("")
    .map((character, at) => {
      const start = matchOf.get(at);
      if (start === undefined || !/[\p{L}\p{N}]/u.test(character)) return character;
      overwritten.add(start);
      return "x";
    })
    .join("");
  return { raw: scrubbed, places: overwritten.size };
}

/** The rows' text with each character's place in `raw`; a row that is full goes on in the next one. */
function wrappedRows(raw: string, width: number): { text: string; at: number[] }[] {
  const rows: { text: string; at: number[] }[] = [];
  let row = { text: "", at: [] as number[] };
  let column = 0;
  let from = 0;
  const take = (to: number) => {
    for (; from < to; from++) {
      if (raw[from] !== "\n") {
        row.text += raw[from];
        row.at.push(from);
        column += 1;
        continue;
      }
      if (column < width) {
        rows.push(row);
        row = { text: "", at: [] };
      }
      column = 0;
    }
  };
  for (const match of raw.matchAll(escapes)) {
    take(match.index);
    from = match.index + match[0].length;
  }
  take(raw.length);
  return [...rows, row];
}

function rangesIn(text: string, home: string): [from: number, to: number][] {
  const found: [number, number][] = [];
  for (const pattern of [...secrets, homes]) {
    for (const match of text.matchAll(pattern)) {
      const value = match[1] ?? match[0];
      const from = match.index + match[0].lastIndexOf(value);
      found.push([from, from + value.length]);
    }
  }
  // The second form is how claude names the folder of a project.
  for (const path of home.length > 1 ? [home, home.replaceAll("/", "-")] : []) {
    for (let at = text.indexOf(path); at >= 0; at = text.indexOf(path, at + 1)) {
      found.push([at, at + path.length]);
    }
  }
  return found;
}
