/** Ed25519 of the runtime. `node:crypto` takes 4 ms to load, so it is loaded by the first use. */

/** A private key, and the public one that belongs to it. */
export interface SigningKey {
  /** The 32 bytes of the public key, base64url. */
  readonly publicKey: string;
  /** Signs the text's UTF-8 bytes. Returns 64 bytes, base64url. */
  sign(text: string): string;
}

const crypto = () => process.getBuiltinModule("node:crypto");

/** A new private key, as PKCS#8 in PEM. */
export function createSigningKey(): string {
  const { privateKey } = crypto().generateKeyPairSync("ed25519");
  return String(privateKey.export({ format: "pem", type: "pkcs8" }));
}

/** The key in a PEM text; null for a text that holds no private Ed25519 key. */
export function openSigningKey(pem: string): SigningKey | null {
  try {
    const { createPrivateKey, createPublicKey, sign } = crypto();
    const key = createPrivateKey(pem);
    const { crv, x } = createPublicKey(key).export({ format: "jwk" });
    if (crv !== "Ed25519" || x === undefined) return null;
    return { publicKey: x, sign: (text) => sign(null, Buffer.from(text), key).toString("base64url") };
  } catch {
    return null;
  }
}

/**
 * Whether `signature` is a signature of the text's UTF-8 bytes by `publicKey`; false for an invalid key.
 */
export function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  try {
    const { createPublicKey, verify } = crypto();
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
    return verify(null, Buffer.from(text), key, Buffer.from(signature, "base64url"));
  } catch {
    return false;
  }
}
