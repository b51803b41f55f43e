/** The ends of a string that a terminal is sent: ST, and for OSC also BEL. */
const ends = { osc: /\x07|\x1b\\/g, other: /\x1b\\/g } as const;
/** Begins of strings that are dropped: DCS, SOS, PM and APC, and OSC 52, which sets the clipboard. */
const begin = /\x1b(?:[PX^_]|\]52;)/;
/** A begin that is not there as a whole. */
const partOfBegin = /\x1b(?:\](?:5(?:2)?)?)?$/;

/**
 * Drops from a terminal's output the strings that no screen shows and that may hold anything: what is copied
 * to the clipboard, pictures, and what tmux passes through. It keeps nothing of a string, however long.
 */
export function createControlStringFilter(): (text: string) => string {
  let waiting = "";
  let inside: keyof typeof ends | null = null;

  return (text) => {
    let rest = waiting + text;
    let given = "";
    waiting = "";
    while (rest !== "") {
      if (inside !== null) {
        const end: RegExp = ends[inside];
        end.lastIndex = 0;
        if (end.exec(rest) === null) {
          waiting = rest.endsWith("\x1b") ? "\x1b" : "";
          return given;
        }
        rest = rest.slice(end.lastIndex);
        inside = null;
        continue;
      }
      const found = begin.exec(rest);
      if (found === null) {
        const cut = partOfBegin.exec(rest)?.index ?? rest.length;
        waiting = rest.slice(cut);
        return given + rest.slice(0, cut);
      }
      given += rest.slice(0, found.index);
      rest = rest.slice(found.index + found[0].length);
      inside = found[0].startsWith("\x1b]") ? "osc" : "other";
    }
    return given;
  };
}
