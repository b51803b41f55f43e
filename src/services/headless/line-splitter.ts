/** One line without its end; `truncated` when it was longer than the bound. */
export interface SplitLine {
  /** The line, or its first part: invalid UTF-8 stands as U+FFFD. */
  text: string;
  /** Bytes of the whole line without its end. */
  bytes: number;
  truncated: boolean;
}

/** Bytes in, lines out, in order, whatever the chunks. Holds at most one line up to the bound. */
export interface LineSplitter {
  push(chunk: Uint8Array): SplitLine[];
  /** The last line, if it had no end. Call once, after the last chunk. */
  end(): SplitLine[];
}

export interface SplitBounds {
  /** A longer line is delivered as truncated. */
  maxLineBytes: number;
  /** How much of a line beyond the bound is kept. */
  keptBytes: number;
}

const defaultBounds: SplitBounds = { maxLineBytes: 4 * 1024 * 1024, keptBytes: 4096 };

const lineFeed = 10;
const carriageReturn = 13;

/** A splitter of one stream. LF ends a line, a CR before it belongs to the end. */
export function createLineSplitter(bounds: SplitBounds = defaultBounds): LineSplitter {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let lineBytes = 0;
  let lastByte = 0;

  function take(piece: Uint8Array): void {
    if (piece.length === 0) return;
    lineBytes += piece.length;
    lastByte = piece[piece.length - 1] ?? 0;
    if (lineBytes <= bounds.maxLineBytes + 1) hold(piece);
    else keepFirstPart(piece);
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
    const truncated = bytes > bounds.maxLineBytes;
    const whole = joined().subarray(0, truncated ? bounds.keptBytes : bytes);
    held = [];
    heldBytes = 0;
    lineBytes = 0;
    lastByte = 0;
    return { text: decoder.decode(whole), bytes, truncated };
  }

  return {
    push(chunk) {
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
    end: () => (lineBytes === 0 ? [] : [finish()]),
  };
}
