/**
 * One line without its end; `truncated` when it was longer than the bound and only its first part is here.
 */
export interface SplitLine {
  /** The line, or its first part: invalid UTF-8 becomes U+FFFD. */
  text: string;
  /** Bytes of the whole line without its end. */
  bytes: number;
  truncated: boolean;
  /** It was longer than the bound, and all of it is here but the ends of its long strings. */
  shortened?: true;
}

export interface SplitBounds {
  /** A longer line is delivered as truncated. */
  maxLineBytes: number;
  /** How much of a line beyond the bound is kept. */
  keptBytes: number;
  /**
   * Of a JSON object beyond the bound each string is kept up to this length, and so the object may be whole.
   */
  maxStringBytes?: number;
}

const defaultBounds: SplitBounds = { maxLineBytes: 4 * 1024 * 1024, keptBytes: 4096 };
/** For what a tool writes: a verdict with an answer of any length in it is still a verdict. */
export const boundsOfRecords: SplitBounds = { ...defaultBounds, maxStringBytes: 300_000 };

const lineFeed = 10;
const carriageReturn = 13;
const openingBrace = 0x7b;

/** A splitter of one stream. LF ends a line, a CR before it belongs to the end. */
export function createLineSplitter(bounds: SplitBounds = defaultBounds) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let lineBytes = 0;
  let lastByte = 0;
  let cutter: StringCutter | null = null;
  let lost = false;

  function take(piece: Uint8Array): void {
    if (piece.length === 0) return;
    lineBytes += piece.length;
    lastByte = piece[piece.length - 1] ?? 0;
    if (lineBytes <= bounds.maxLineBytes + 1) {
      hold(piece);
      return;
    }
    if (!lost && cutter === null) beginCutting(piece);
    if (!lost && cutter) hold(cutter(piece));
    if (heldBytes > bounds.maxLineBytes + 1) lost = true;
    if (lost) keepFirstPart(piece);
  }

  /** Nothing but an object is worth it: its strings are what makes it long. */
  function beginCutting(piece: Uint8Array): void {
    const before = joined();
    const first = before.length > 0 ? before[0] : piece[0];
    if (bounds.maxStringBytes === undefined || first !== openingBrace) {
      lost = true;
      return;
    }
    cutter = createStringCutter(bounds.maxStringBytes);
    release();
    hold(cutter(before));
  }

  function release(): void {
    held = [];
    heldBytes = 0;
  }

  function hold(piece: Uint8Array): void {
    held.push(piece.slice());
    heldBytes += piece.length;
  }

  function keepFirstPart(piece: Uint8Array): void {
    if (heldBytes < bounds.keptBytes) hold(piece.subarray(0, bounds.keptBytes - heldBytes));
    if (heldBytes > bounds.keptBytes) {
      held = [joined().slice(0, bounds.keptBytes)];
      heldBytes = bounds.keptBytes;
    }
  }

  function joined(): Uint8Array {
    if (held.length === 1 && held[0]) return held[0];
    const all = new Uint8Array(heldBytes);
    let at = 0;
    for (const piece of held) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }

  function finish(): SplitLine {
    const bytes = lastByte === carriageReturn ? lineBytes - 1 : lineBytes;
    if (bytes > bounds.maxLineBytes && !lost && cutter === null) beginCutting(new Uint8Array());
    const shortened = cutter !== null && !lost;
    const truncated = bytes > bounds.maxLineBytes && !shortened;
    const whole = joined().subarray(0, truncated ? bounds.keptBytes : bytes);
    release();
    lineBytes = 0;
    lastByte = 0;
    cutter = null;
    lost = false;
    return { text: decoder.decode(whole), bytes, truncated, ...(shortened ? { shortened } : {}) };
  }

  return {
    push(chunk: Uint8Array): SplitLine[] {
      const lines: SplitLine[] = [];
      let from = 0;
      for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, from)) {
        take(chunk.subarray(from, at));
        lines.push(finish());
        from = at + 1;
      }
      take(chunk.subarray(from));
      return lines;
    },
    /** The last line, if it had no end. Call once, after the last chunk. */
    end: (): SplitLine[] => (lineBytes === 0 ? [] : [finish()]),
  };
}

const quote = 0x22;
const backslash = 0x5c;
const unicodeEscape = 0x75;

/** Takes the pieces of one JSON text in order, gives back what is kept of each. */
type StringCutter = (piece: Uint8Array) => Uint8Array;

/**
 * Cuts every string of a JSON text to about `maxStringBytes`, so that valid JSON stays valid. Holds
 * nothing of the text. Characters and escapes stay whole, two escapes that form one character may not.
 */
function createStringCutter(maxStringBytes: number): StringCutter {
  let inString = false;
  let stringBytes = 0;
  let cutting = false;
  /** Bytes that still belong to an escape; -1: the byte after the backslash decides. */
  let escapeLeft = 0;

  function keepsInString(byte: number): boolean {
    if (escapeLeft !== 0) {
      escapeLeft = escapeLeft === -1 ? (byte === unicodeEscape ? 4 : 0) : escapeLeft - 1;
      return !cutting;
    }
    if (byte === quote) {
      inString = false;
      return true;
    }
    const beginsCharacter = (byte & 0xc0) !== 0x80;
    if (beginsCharacter && stringBytes > maxStringBytes) cutting = true;
    if (byte === backslash) escapeLeft = -1;
    return !cutting;
  }

  return (piece) => {
    const kept = new Uint8Array(piece.length);
    let length = 0;
    for (const byte of piece) {
      if (!inString) {
        inString = byte === quote;
        stringBytes = 0;
        cutting = false;
        kept[length++] = byte;
        continue;
      }
      stringBytes += 1;
      if (keepsInString(byte)) kept[length++] = byte;
    }
    return kept.subarray(0, length);
  };
}
