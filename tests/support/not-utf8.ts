/** Bytes that are no UTF-8, by name: overlong, half of a surrogate pair, beyond Unicode, cut short, alone. */
export const malformedBytes: Record<string, readonly number[]> = {
  "an overlong slash": [0xc0, 0xaf],
  "an overlong null": [0xe0, 0x80, 0x80],
  "half of a surrogate pair": [0xed, 0xa0, 0x80],
  "a whole surrogate pair": [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80],
  "a character beyond Unicode": [0xf4, 0x90, 0x80, 0x80],
  "a character that is cut short": [0xe2, 0x82],
  "a continuation alone": [0x80],
  "a byte of no encoding": [0xff],
};

/** `body` as JSON in which the first text begins with `bytes`; a body without one gets a field. */
export function notUtf8(body: object, bytes: readonly number[] = [0xff]): Uint8Array<ArrayBuffer> {
  const text = JSON.stringify(body);
  const at = text.indexOf('":"');
  const [before, after] = at < 0 ? ['{"a":"', '"}'] : [text.slice(0, at + 3), text.slice(at + 3)];
  const encoder = new TextEncoder();
  return new Uint8Array([...encoder.encode(before), ...bytes, ...encoder.encode(after)]);
}
