/** One input event of a terminal. */
export type TerminalInput =
  | { kind: "text"; text: string }
  /**
   * `Enter`, `Escape`, `Tab`, `Backspace`, `Up`, `C-c`, `M-x` ..., or `unknown` for a sequence without a
   * name.
   */
  | { kind: "key"; name: string }
  | { kind: "paste_started" }
  /** The whole of a bracketed paste; CR, CR LF and LF are one `\n` each. */
  | { kind: "paste"; text: string };

/** State of the parser between two reads. */
export interface ParserState {
  /** Bytes of an incomplete character. */
  carry: Uint8Array;
  /** An incomplete escape sequence or paste, from its first character on. */
  open: string;
  pasting: boolean;
}

export const emptyParser: ParserState = { carry: new Uint8Array(), open: "", pasting: false };

const PASTE_END = "\x1b[201~";

/**
 * Parses bytes. The events do not depend on the boundaries of the reads, except that text comes in as many
 * pieces. Never throws; invalid UTF-8 becomes U+FFFD.
 */
export function parseInput(
  state: ParserState,
  bytes: Uint8Array,
): { state: ParserState; events: TerminalInput[] } {
  const all = Buffer.concat([state.carry, bytes]);
  const complete = all.length - incompleteTail(all);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const events: TerminalInput[] = [];
  let rest = state.open + decoder.decode(all.subarray(0, complete));
  let pasting = state.pasting;
  while (rest.length > 0) {
    if (pasting) {
      const end = rest.indexOf(PASTE_END);
      if (end < 0) break;
      events.push({ kind: "paste", text: rest.slice(0, end).replace(/\r\n?/g, "\n") });
      rest = rest.slice(end + PASTE_END.length);
      pasting = false;
      continue;
    }
    const step = rest.startsWith("\x1b") ? readEscape(rest) : readPlain(rest);
    if (!step) break;
    events.push(...step.events);
    rest = rest.slice(step.length);
    pasting = step.events[0]?.kind === "paste_started";
  }
  return { state: { carry: new Uint8Array(all.subarray(complete)), open: rest, pasting }, events };
}

/** Whether a lone ESC or an incomplete sequence is pending, which `flushInput` must end. */
export function awaitsSequence(state: ParserState): boolean {
  return state.open.length > 0 && !state.pasting;
}

/** Ends pending input after a pause: a lone ESC is the Escape key, an incomplete sequence is unknown. */
export function flushInput(state: ParserState): { state: ParserState; events: TerminalInput[] } {
  if (!awaitsSequence(state)) return { state, events: [] };
  const name = state.open === "\x1b" ? "Escape" : "unknown";
  return { state: { ...state, open: "" }, events: [{ kind: "key", name }] };
}

interface Step {
  events: TerminalInput[];
  /** Number of consumed characters. */
  length: number;
}

const CONTROL_KEYS: Readonly<Record<string, string>> = {
  "\r": "Enter",
  "\t": "Tab",
  "\x7f": "Backspace",
  "\b": "Backspace",
};

function readPlain(rest: string): Step {
  const text = /^[^\x00-\x1f\x7f]+/.exec(rest)?.[0];
  if (text) return { events: [{ kind: "text", text }], length: text.length };
  return { events: [{ kind: "key", name: keyName(rest[0] ?? "") }], length: 1 };
}

function keyName(char: string): string {
  const control = char.length === 1 && char < " ";
  return CONTROL_KEYS[char] ?? (control ? `C-${String.fromCharCode(char.charCodeAt(0) + 0x60)}` : char);
}

const FINAL_KEYS: Readonly<Record<string, string>> = {
  A: "Up",
  B: "Down",
  C: "Right",
  D: "Left",
  H: "Home",
  F: "End",
  Z: "BTab",
};

/** Reads a sequence that begins with ESC; null when it is incomplete. */
function readEscape(rest: string): Step | null {
  const second = rest[1];
  if (second === undefined) return null;
  if (second === "\x1b") return { events: [{ kind: "key", name: "Escape" }], length: 1 };
  if (second === "[" || second === "O") {
    const prefix = /^\x1b(?:\[[\x20-\x3f]*|O)/.exec(rest)?.[0] ?? "";
    const final = rest[prefix.length];
    if (final === undefined) return null;
    // Any byte but a final one ends the sequence and is read separately.
    if (!/[\x40-\x7e]/.test(final)) return unnamed(prefix.length);
    const whole = prefix + final;
    if (whole === "\x1b[200~") return { events: [{ kind: "paste_started" }], length: whole.length };
    const name = whole.length === 3 ? FINAL_KEYS[final] : undefined;
    return name ? { events: [{ kind: "key", name }], length: 3 } : unnamed(whole.length);
  }
  if (second === "]" || second === "P") {
    const [whole] = /^\x1b[\]P][^\x07\x1b]*(?:\x07|\x1b(?:\\|(?!$)))/.exec(rest) ?? [];
    return whole === undefined ? null : unnamed(whole.length);
  }
  const char = String.fromCodePoint(rest.codePointAt(1) ?? 0);
  return { events: [{ kind: "key", name: `M-${keyName(char)}` }], length: 1 + char.length };
}

function unnamed(length: number): Step {
  return { events: [{ kind: "key", name: "unknown" }], length };
}

/** Number of bytes at the end that belong to an incomplete character. */
function incompleteTail(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return needed > back && byte < 0xf5 ? back : 0;
  }
  return 0;
}
