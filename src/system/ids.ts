/** The only source of random identifiers; tests substitute a counter. */
export interface Ids {
  /** `2 * bytes` lower-case hexadecimal characters, from the system's secure generator. */
  hex(bytes: number): string;
  /** A version 4 UUID. */
  uuid(): string;
}

export function createIds(): Ids {
  return {
    hex: (bytes) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex"),
    uuid: () => crypto.randomUUID(),
  };
}

/** `20261121-044700Z`, the stamp inside request and session ids. */
export function idStamp(epochMs: number): string {
  const iso = new Date(epochMs).toISOString();
  return `${iso.slice(0, 10).replaceAll("-", "")}-${iso.slice(11, 19).replaceAll(":", "")}Z`;
}
