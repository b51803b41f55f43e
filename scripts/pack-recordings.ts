import { join } from "node:path";
import { recordingsBelow } from "../src/cli/agent/shipped-recordings.ts";
import { createSystem } from "../src/system/system.ts";
import { repositoryRoot } from "./bootstrap.ts";

/** An argument of a process may be 128 KiB long. */
const maxCharacters = 120_000;

/**
 * All recorded screens as one text, for `tools check` of a program without its source. The same screens, the
 * same text.
 */
export function packRecordings(): string {
  const recordings = recordingsBelow(createSystem().files, join(repositoryRoot, "tests/screens"));
  const packed = Bun.zstdCompressSync(JSON.stringify(recordings), { level: 19 }).toString("base64");
  if (packed.length > maxCharacters) {
    throw new Error(`the recordings have ${packed.length} characters packed; at most ${maxCharacters} fit`);
  }
  return packed;
}
