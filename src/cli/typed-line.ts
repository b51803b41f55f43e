/** A command line as a person has typed it so far, taken apart as a shell would, without expanding anything. */
export interface TypedLine {
  /** Finished words, the program first. */
  words: string[];
  /** What is being typed, without its quotes; "" after a blank. */
  current: string;
}

/** Quotes and backslashes as POSIX shells read them; an open quote runs to the end. Pure. */
export function splitTypedLine(line: string): TypedLine {
  const words: string[] = [];
  let current: string | null = null;
  let quote = "";
  for (let index = 0; index < line.length; index++) {
    const character = line.charAt(index);
    const next = line.charAt(index + 1);
    if (quote !== "") {
      if (character === quote) quote = "";
      else if (character === "\\" && quote === '"' && /["\\$`]/.test(next)) {
        current = `${current ?? ""}${next}`;
        index++;
      } else current = `${current ?? ""}${character}`;
    } else if (character === "'" || character === '"') {
      quote = character;
      current ??= "";
    } else if (character === "\\") {
      current = `${current ?? ""}${next}`;
      index++;
    } else if (/\s/.test(character)) {
      if (current !== null) words.push(current);
      current = null;
    } else current = `${current ?? ""}${character}`;
  }
  return { words, current: current ?? "" };
}
