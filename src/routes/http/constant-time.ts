/**
 * Whether `shown` is `token`, in a time that tells the length of what was shown and nothing of the token: each byte of it
 * is looked at once, in order, whatever was found before. Written here because the Web's own API has no such comparison.
 */
export function equalInConstantTime(shown: Uint8Array, token: Uint8Array): boolean {
  let difference = shown.length ^ token.length;
  for (let at = 0; at < shown.length; at++) {
    difference |= (shown[at] ?? 0) ^ (token[at % token.length] ?? 0);
  }
  return difference === 0;
}
