import { createHash, createHmac } from "node:crypto";

/** `src/system/digest.ts` for Deno, which has no hash of its own that answers at once. */
export const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
export const md5 = (text: string) => createHash("md5").update(text).digest("hex");

export const hmacSha256 = (key: string, text: string) => createHmac("sha256", key).update(text).digest("hex");

export function startSha256() {
  const hash = createHash("sha256");
  return { update: (piece: Uint8Array) => void hash.update(piece), hex: () => hash.digest("hex") };
}
