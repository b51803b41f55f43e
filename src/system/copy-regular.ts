import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { startSha256 } from "./digest.ts";

export type CopyResult =
  | { ok: true; size: number; sha256: string }
  | { ok: false; why: "absent" | "unreadable" | "not_regular" | "too_large" };

const chunkBytes = 256 * 1024;

export interface CopyOptions {
  maxBytes: number;
  /** Default true: the content is on disk at the end. */
  durable?: boolean;
}

/**
 * Copies a regular file, a piece at a time, into a new one (0600). The last part of `from` may not be a symbolic
 * link. A refusal makes nothing.
 */
export function copyRegular(from: string, to: string, options: CopyOptions): CopyResult {
  const { maxBytes } = options;
  let source: number;
  try {
    // Without waiting: a pipe would hold the opener until someone writes.
    source = openSync(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return { ok: false, why: whyClosed(error) };
  }
  try {
    const facts = fstatSync(source);
    if (!facts.isFile()) return { ok: false, why: "not_regular" };
    if (facts.size > maxBytes) return { ok: false, why: "too_large" };
    return copyInto(source, to, options);
  } finally {
    closeSync(source);
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

export function whyClosed(error: unknown): "absent" | "unreadable" | "not_regular" {
  const code = (error as { code?: string }).code;
  if (code === "ENOENT" || code === "ENOTDIR") return "absent";
  if (code === "ELOOP" || code === "ENXIO") return "not_regular";
  if (code === "EACCES" || code === "EPERM") return "unreadable";
  throw error;
}
