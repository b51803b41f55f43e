import {
  closeSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import type { Rng, Targets } from "./values.ts";

interface Place {
  /** What is to be replaced, absolute. Nothing is there any more. */
  path: string;
  /** What was there, or one byte. */
  before: Buffer;
  /** A precious folder of the user. */
  folder: string;
  targets: Targets;
  rng: Rng;
}

/** Much more than any file of ours is, and nothing on the disk. */
const sparseBytes = 600 * 2 ** 20;

/**
 * What can be at a path instead of the file or folder that belongs there. What this user cannot make becomes
 * another kind: a device a pipe, a pipe a link to a device.
 */
const makers = {
  "link-to-precious-folder": ({ path, folder }) => symlinkSync(folder, path),
  "link-to-precious-file": ({ path, folder }) => symlinkSync(join(folder, "letter.txt"), path),
  "link-to-empty-file": ({ path, folder }) => symlinkSync(join(folder, "empty"), path),
  "link-to-database": ({ path, folder }) => symlinkSync(join(folder, "data.sqlite"), path),
  "dangling-link": ({ path, folder }) => symlinkSync(join(folder, "made-by-svc"), path),
  "link-to-itself": ({ path }) => symlinkSync(basename(path), path),
  "link-to-device": ({ path }) => symlinkSync("/dev/zero", path),
  fifo: ({ path }) => makePipe(path),
  // A second name of a socket that listens.
  socket: ({ path, targets }) => linkSync(targets.socket, path),
  device({ path }) {
    if (!run(["mknod", path, "c", "1", "5"])) makePipe(path);
  },
  folder({ path }) {
    mkdirSync(path);
    writeFileSync(join(path, "inside"), "x");
  },
  empty: ({ path }) => writeFileSync(path, ""),
  truncated: ({ path, before, rng }) => writeFileSync(path, before.subarray(0, rng.int(before.length + 1))),
  damaged({ path, before, rng }) {
    const content = Buffer.from(before);
    for (let count = 0; count < 20 && content.length > 0; count++)
      content[rng.int(content.length)] = rng.int(256);
    writeFileSync(path, content);
  },
  "nul-bytes": ({ path }) => writeFileSync(path, new Uint8Array(4096)),
  sparse({ path, before }) {
    writeFileSync(path, before);
    const handle = openSync(path, "r+");
    ftruncateSync(handle, sparseBytes);
    closeSync(handle);
  },
  "not-text": ({ path, rng }) =>
    writeFileSync(
      path,
      Uint8Array.from({ length: 4096 }, () => 128 + rng.int(128)),
    ),
  missing() {},
} satisfies Record<string, (place: Place) => void>;

export type SpecialKind = keyof typeof makers;
export const specialKinds = Object.keys(makers) as SpecialKind[];

/** Replaces what is at `path`. */
export function plantSpecial(path: string, kind: SpecialKind, targets: Targets, rng: Rng): void {
  const folder = rng.pick(targets.precious);
  const before = contentOf(path);
  rmSync(path, { recursive: true, force: true });
  makers[kind]({ path, before, folder, targets, rng });
}

/** What lies there may have been planted before: a device has no end. */
function contentOf(path: string): Buffer {
  try {
    return lstatSync(path).isFile() ? readFileSync(path) : Buffer.from("x");
  } catch {
    return Buffer.from("x");
  }
}

function makePipe(path: string): void {
  if (!run(["mkfifo", path])) symlinkSync("/dev/zero", path);
}

function run(command: string[]): boolean {
  return Bun.spawnSync(command, { stdout: "ignore", stderr: "ignore" }).exitCode === 0;
}
