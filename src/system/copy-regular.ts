import { closeSync, fchmodSync, fsyncSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { startSha256 } from "./digest.ts";
import { openToRead, type ReadLimits, type WhyNotRead } from "./open-to-read.ts";

export type CopyResult = { ok: true; size: number; sha256: string } | { ok: false; why: WhyNotRead };

const chunkBytes = 256 * 1024;

export interface CopyOptions extends ReadLimits {
  /** Default true: the content is on disk at the end. */
  durable?: boolean;
}

/**
 * Copies a regular file, a piece at a time, into a new one (0600). The last part of `from` may not be a symbolic
 * link. A refusal makes nothing.
 */
export function copyRegular(from: string, to: string, options: CopyOptions): CopyResult {
  const source = openToRead(from, options);
  if (!source.ok) return source;
  try {
    return copyInto(source.handle, to, options);
  } finally {
    closeSync(source.handle);
  }
}

function copyInto(source: number, to: string, { maxBytes, durable = true }: CopyOptions): CopyResult {
  const target = openSync(to, "wx", 0o600);
  let size = 0;
  let whole = false;
  try {
    const hash = startSha256();
    const chunk = new Uint8Array(chunkBytes);
    for (;;) {
      const read = readSync(source, chunk, 0, chunk.length, size);
      if (read === 0) break;
      size += read;
      // It may grow while it is read.
      if (size > maxBytes) return { ok: false, why: "too_large" };
      hash.update(chunk.subarray(0, read));
      for (let written = 0; written < read; ) written += writeSync(target, chunk, written, read - written);
    }
    // The umask may have taken bits away.
    fchmodSync(target, 0o600);
    if (durable) fsyncSync(target);
    whole = true;
    return { ok: true, size, sha256: hash.hex() };
  } finally {
    closeSync(target);
    if (!whole) rmSync(to, { force: true });
  }
}
