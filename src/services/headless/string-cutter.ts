const quote = 0x22;
const backslash = 0x5c;
const unicodeEscape = 0x75;

/** Takes the pieces of one JSON text in order, gives back what is kept of each. */
export type StringCutter = (piece: Uint8Array) => Uint8Array;

/**
 * Cuts every string of a JSON text to about `maxStringBytes`, so that what is left of valid JSON is valid JSON. Holds
 * nothing of the text. Characters and escapes stay whole, two escapes that form one character may not.
 */
export function createStringCutter(maxStringBytes: number): StringCutter {
  let inString = false;
  let stringBytes = 0;
  let cutting = false;
  /** Bytes that still belong to an escape; -1: the byte after the backslash tells. */
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
